"""How often a step holds: on the screens of its own runs, and on those of other steps."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from time import monotonic

from mobiletest_automation.flows.assertion_commands import (
    AssertionCommand,
)
from mobiletest_automation.flows.selectors import ALWAYS
from mobiletest_automation.flows.steps import Command, Sentence, Step
from mobiletest_automation.screen.outline import Outline
from mobiletest_automation.screen.stored_trees import UnreadableTree, decode_tree
from mobiletest_automation.sentences.grammar import parse_sentence
from mobiletest_automation.sentences.intents import Action, Intent
from mobiletest_automation.steps.resolution_policy import ResolutionPolicy
from mobiletest_automation.stored_screens.limits import condition_of
from mobiletest_automation.stored_screens.recheck import RULES_ALONE, Recheck, recheck
from mobiletest_automation.stored_screens.verdict import Verdict

# Of each kind, the newest first, so many screens are checked.
SCREENS_LIMIT = 200
# How long a report may take; screens that were not reached are not known.
REPORT_SECONDS = 10.0

NOT_REACHED = "there was no time for this screen"
UNREADABLE = "its tree cannot be read"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredScreen:
    """The screen of a step that has run. `id` is the caller's name for it, `step` names the step, and `platform` is
    android, ios or web; `tree` is what `encode_tree` returned.
    """

    id: str
    step: str
    platform: str
    tree: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class RecheckReport:
    """How often a step holds: on the screens of its own runs, and on those of other steps.

    `verdicts` has one for each screen, by its id. `holds_at` counts the screens of each other step on which it holds.
    `asserts_nothing`: it holds on every screen of other steps; None if it is no check, or nothing is known of those.
    """

    own: Mapping[Verdict, int]
    others: Mapping[Verdict, int]
    holds_at: Mapping[str, int]
    asserts_nothing: bool | None
    verdicts: Mapping[str, Recheck]


def recheck_all(
    step: Step,
    own: Iterable[StoredScreen],
    others: Iterable[StoredScreen],
    *,
    policy: ResolutionPolicy = RULES_ALONE,
    seconds: float = REPORT_SECONDS,
    now: Callable[[], float] = monotonic,
) -> RecheckReport:
    """Check the step on the screens where it has run and on those of other steps, the newest first.

    At most SCREENS_LIMIT of each are checked, for at most `seconds` and the time that the last screen takes.
    """
    deadline = now() + seconds
    verdicts: dict[str, Recheck] = {}
    equal: dict[tuple[str, bytes], Recheck] = {}
    counts: list[Counter[Verdict]] = []
    holds_at: Counter[str] = Counter()
    for number, screens in enumerate((own, others)):
        counted: Counter[Verdict] = Counter(dict.fromkeys(Verdict, 0))
        for screen in list(screens)[:SCREENS_LIMIT]:
            key = (screen.platform, screen.tree)
            if key not in equal and now() >= deadline:
                answer = Recheck(Verdict.UNKNOWN, NOT_REACHED)
            else:
                answer = equal[key] = equal.get(key) or _recheck_stored(step, screen, policy)
            verdicts[screen.id] = answer
            counted[answer.verdict] += 1
            if number and answer.verdict is Verdict.HOLDS:
                holds_at[screen.step] += 1
        counts.append(counted)
    return RecheckReport(
        own=counts[0],
        others=counts[1],
        holds_at=holds_at,
        asserts_nothing=_asserts_nothing(step.command, counts[1]),
        verdicts=verdicts,
    )


def is_check(command: Command) -> bool:
    """Whether it only looks: an assertion, or a step with a condition."""
    if isinstance(command, Sentence):
        meaning = parse_sentence(command.text)
        return isinstance(meaning, Intent) and (
            meaning.action.startswith("assert_") or (meaning.action is Action.WAIT_FOR and meaning.target is not None)
        )
    return isinstance(command, AssertionCommand) or condition_of(command) not in (None, ALWAYS)


def _recheck_stored(step: Step, screen: StoredScreen, policy: ResolutionPolicy) -> Recheck:
    """Without the element, which would keep its tree in memory."""
    try:
        outline = Outline(decode_tree(screen.tree))
    except UnreadableTree:
        return Recheck(Verdict.UNKNOWN, UNREADABLE)
    return replace(recheck(step, outline, platform=screen.platform, policy=policy), element=None)


def _asserts_nothing(command: Command, others: Mapping[Verdict, int]) -> bool | None:
    decided = others[Verdict.HOLDS] + others[Verdict.FAILS]
    return others[Verdict.FAILS] == 0 if decided and is_check(command) else None
