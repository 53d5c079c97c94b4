"""What of a model's actions is remembered, and under which names."""

from services.executor.automation.guided import Guided
from services.executor.automation.lacking import Move
from services.executor.automation.ports import Planned
from services.executor.automation.sentences.intents import Action

_PASSING = frozenset({Action.WAIT_FOR})
"""What needs no repetition: remembered actions wait for their screen anyway."""

_NEVER_KEPT = frozenset({Action.ASSERT_NOT_VISIBLE, Action.NONE})


def recorded_as(sentence: str, count: int) -> tuple[str, ...]:
    """The names under which the actions of a sentence are remembered, when it took several."""
    return tuple(f"{sentence} (action {number} of {count})" for number in range(1, count + 1))


def is_recording(sentence: str, kept: Planned) -> bool:
    """Whether it is a list of actions that were done for this sentence, and no plan of a goal."""
    return kept.steps == recorded_as(sentence, len(kept.steps))


def worth_keeping(guided: Guided) -> tuple[Move, ...]:
    """The actions to remember; none when they would not repeat all of what was done and checked."""
    if not guided.smooth or any(move.answer.action in _NEVER_KEPT for move in guided.moves):
        return ()
    return tuple(move for move in guided.moves if move.answer.action not in _PASSING)
