"""Finds the sentences of a flow that no rule parses: a run fails at them where there is no model to ask."""

from collections.abc import Callable, Iterator
from itertools import islice
from time import process_time

from mobiletest_automation.flows.nodes import Notice, quote
from mobiletest_automation.flows.steps import Flow, Sentence, Step
from mobiletest_automation.sentences.grammar import parse_sentence
from mobiletest_automation.sentences.intents import NotUnderstood

# Of one flow.
REMARKS_LIMIT = 20
# Of CPU time for all flows of a workspace. Sentences that look alike to many rules take 20 ms each.
SECONDS_LIMIT = 2.0


class SentenceCheck:
    """Checks the sentences of the flows of one workspace, until its time is over; what follows has no remark."""

    def __init__(self, clock: Callable[[], float] = process_time) -> None:
        self._clock = clock
        self._until = clock() + SECONDS_LIMIT

    def __call__(self, flow: Flow) -> tuple[Notice, ...]:
        """A remark for each place with a sentence that no rule parses, at most 20; it says what can be written instead.

        What a sentence with variables says is known only in a run.
        """
        return tuple(dict.fromkeys(islice(self._remarks(flow), REMARKS_LIMIT)))

    def _remarks(self, flow: Flow) -> Iterator[Notice]:
        for step in flow.every_step():
            if self._clock() >= self._until:
                return
            if (why := why_unparsed(step)) and step.location is not None:
                yield step.location.notice(why)


def why_unparsed(step: Step) -> str:
    """Why no rule parses the sentence of a step, with what can be written instead; "" if one does, or if it is open."""
    if not isinstance(step.command, Sentence) or step.pending is not None:
        return ""
    meaning = parse_sentence(step.command.text)
    return f"{quote(step.command.text)}: {meaning.why}" if isinstance(meaning, NotUnderstood) else ""
