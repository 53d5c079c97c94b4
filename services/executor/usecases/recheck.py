"""Says whether a step would have held on the screens that past runs of its test have left."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from mobiletest_automation.model.devices import Platform
from mobiletest_automation.model.results import Resolution, StepStatus
from mobiletest_automation.stored_screens.verdict import Verdict
from services.chassis.context import current
from services.chassis.errors import InvalidArgument, Violation
from services.chassis.fair_turns import FairTurns
from services.executor.model.workers import Fleet
from services.executor.ports.executions import ScreensFilter, Workers
from services.executor.ports.rechecks import (
    CheckAnswer,
    CheckFailed,
    CheckRequest,
    ScreenToCheck,
    ScreenVerdict,
    StepChecks,
    StepsOfTest,
    StepToRead,
    StoredTests,
    WrittenStep,
)
from services.executor.usecases.past_screens import PastScreens, PastStep

# The newest screens of the step that are checked, and the different ones of other steps.
OWN_LIMIT = 200
OTHERS_LIMIT = 100
# Of all elements that are checked, as they are stored.
TREES_BYTES = 16 * 1024 * 1024
TREES_AT_ONCE = 4
# Rechecks at the same time, each of another organisation.
RECHECKS = 4
# What an answer lists.
EXAMPLES, REASONS, OTHER_STEPS = 10, 20, 50

CACHED = "its action came from the step cache"
BY_MODEL = "a model carried it out"
HELPED = "a person helped in that run"
NOT_THE_SCREEN = "it failed there for another reason than what the screen shows"
GONE = "the elements of its screen are not stored any more"
TOO_LARGE = "the screens together are too large"


class ScreenGroup(StrEnum):
    """Where a screen comes from: a step that passed or failed in its run, or another step of the test."""

    PASSED = "passed"
    FAILED = "failed"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class CheckedScreen:
    """What the step does on the screen that a step of a run has left."""

    past: PastStep
    group: ScreenGroup
    answer: ScreenVerdict


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRecheck:
    """How often a step holds. `screens` are those that it was checked on, the newest first.

    `runs` is how many runs were read, and `asserts_nothing` as in `RecheckReport`.
    """

    step: WrittenStep
    runs: int
    screens: Sequence[CheckedScreen]
    asserts_nothing: bool | None

    def counts(self, group: ScreenGroup) -> Mapping[Verdict, int]:
        """The verdicts on the screens of a group."""
        return Counter(each.answer.verdict for each in self.screens if each.group is group)

    def reasons(self) -> Sequence[tuple[ScreenGroup, Verdict, str, int]]:
        """Why it does not hold, or why that is not known, the most frequent first."""
        counted = Counter(
            (each.group, each.answer.verdict, each.answer.reason) for each in self.screens if each.answer.reason
        )
        return [(*key, count) for key, count in counted.most_common(REASONS)]

    def other_steps(self) -> Sequence[tuple[str, str, Mapping[Verdict, int]]]:
        """The kinds and texts of other steps on whose screens it holds, with the verdicts there."""
        counted: dict[tuple[str, str], Counter[Verdict]] = {}
        for each in self.screens:
            if each.group is ScreenGroup.OTHER:
                counted.setdefault((each.past.step.kind, each.past.step.text), Counter())[each.answer.verdict] += 1
        held = [(*key, counts) for key, counts in counted.items() if counts[Verdict.HOLDS]]
        return sorted(held, key=lambda each: -each[2][Verdict.HOLDS])[:OTHER_STEPS]

    def examples(self) -> Sequence[CheckedScreen]:
        """The screens that are worth a look: first where it does not hold although it passed."""
        shown = [each for each in self.screens if (each.group, each.answer.verdict) in _SHOWN]
        return sorted(shown, key=lambda each: _SHOWN.index((each.group, each.answer.verdict)))[:EXAMPLES]


# Of examples, the first ones first.
_SHOWN = (
    (ScreenGroup.PASSED, Verdict.FAILS),
    (ScreenGroup.FAILED, Verdict.HOLDS),
    (ScreenGroup.FAILED, Verdict.FAILS),
    (ScreenGroup.PASSED, Verdict.UNKNOWN),
    (ScreenGroup.PASSED, Verdict.HOLDS),
    (ScreenGroup.OTHER, Verdict.HOLDS),
)


@dataclass(slots=True)
class _Collected:
    own: list[PastStep] = field(default_factory=list)
    others: list[PastStep] = field(default_factory=list)
    runs: set[str] = field(default_factory=set)
    # Runs of the test have asked a model.
    uses_model: bool = False


class RecheckUseCases:
    """Rechecks of the caller's organisation."""

    def __init__(self, tests: StoredTests, past: PastScreens, checks: StepChecks, workers: Workers) -> None:
        """`workers` say whether runs may ask a model where the rules have no answer."""
        self._tests = tests
        self._past = past
        self._checks = checks
        self._workers = workers
        self._turns = FairTurns(RECHECKS, per_org=1, waiting_per_org=8, waiting=64)

    async def recheck(
        self,
        test_id: str,
        *,
        step: object = None,
        flow: str | None = None,
        path: str | None = None,
        platform: Platform | None = None,
    ) -> StepRecheck:
        """Check the step as `StepToRead` says on the screens of the test's newest runs, of one platform if it is given.

        Raises:
            NotFound: there is no such test.
            InvalidArgument: the step is not valid, or the test has none at the path.
            ResourceExhausted: too many requests of the organisation wait.
            Unavailable: the catalog or the storage does not answer, or too many requests wait.
        """
        if (step is not None and flow is not None) or (step is None and flow is None and path is None):
            message = "give a step, or a flow with one step, or the step_path of a step of the test"
            raise InvalidArgument(f"step: {message}", violations=[Violation("step", message, "step.one_of")])
        test = await self._tests.steps_of(test_id)
        async with self._turns.take(current().org_id):
            wanted = StepToRead(test_steps=test.steps, path=path, step=step, flow=flow)
            written = await self._checks.read_step(current().org_id, wanted)
            return await self._recheck(test_id, test, written, platform)

    async def _recheck(
        self, test_id: str, test: StepsOfTest, written: WrittenStep, platform: Platform | None
    ) -> StepRecheck:
        collected = await self._collect(test_id, test, written, platform)
        trees, lost = await self._read_trees([*collected.own, *collected.others])
        unknown = {id(past): why for past in collected.own if (why := _why_unknown(past, written))}
        own, others = (
            [past for past in steps if past.screen.tree in trees and id(past) not in unknown]
            for steps in (collected.own, collected.others)
        )
        request = CheckRequest(
            own=list(map(_to_check, own)),
            others=list(map(_to_check, others)),
            trees=trees,
            may_ask_model=collected.uses_model or await self._may_ask_model(),
        )
        answer = await self._check(written, request)
        verdicts = dict(zip(map(id, (*own, *others)), (*answer.own, *answer.others), strict=True))

        def checked(past: PastStep, group: ScreenGroup) -> CheckedScreen:
            why = unknown.get(id(past)) or lost.get(past.screen.tree, "")
            verdict = ScreenVerdict(Verdict.UNKNOWN, why) if why else verdicts[id(past)]
            if verdict.verdict is Verdict.HOLDS and group is ScreenGroup.FAILED and _is_unchanged(past, written):
                verdict = ScreenVerdict(Verdict.UNKNOWN, NOT_THE_SCREEN)
            return CheckedScreen(past, group, verdict)

        screens = [
            *(checked(past, _group_of(past)) for past in collected.own),
            *(checked(past, ScreenGroup.OTHER) for past in collected.others),
        ]
        return StepRecheck(
            step=written, runs=len(collected.runs), screens=screens, asserts_nothing=answer.asserts_nothing
        )

    async def _may_ask_model(self) -> bool:
        """Whether runs may ask a model, as workers say it; also if none says so, because a verdict is no guess."""
        return Fleet(await self._workers.all()).has_models(current().org_id) is not False

    async def _collect(
        self, test_id: str, test: StepsOfTest, written: WrittenStep, platform: Platform | None
    ) -> _Collected:
        """The screens of the step, and different ones of other steps."""
        collected, seen = _Collected(), set[tuple[str, str, str]]()
        async for past in self._past.steps(ScreensFilter(test_id=test_id)):
            if platform is not None and past.run.target.platform is not platform:
                continue
            collected.runs.add(past.run.id)
            collected.uses_model |= bool(past.step.model_calls) or past.step.resolution is Resolution.MODEL
            kind = (past.step.kind, past.step.text, past.screen.tree)
            if _is_same(past, test, written):
                collected.own.append(past)
            elif len(collected.others) < OTHERS_LIMIT and kind not in seen and _is_other(past, test, written):
                seen.add(kind)
                collected.others.append(past)
            if len(collected.own) == OWN_LIMIT or (written.place is None and len(collected.others) == OTHERS_LIMIT):
                break
        own = {past.screen.tree for past in collected.own}
        collected.others = [past for past in collected.others if past.screen.tree not in own]
        return collected

    async def _read_trees(self, steps: Iterable[PastStep]) -> tuple[Mapping[str, bytes], Mapping[str, str]]:
        """The elements by their hashes, each once; and why some are not there."""
        trees: dict[str, bytes] = {}
        lost: dict[str, str] = {}
        hashes = list(dict.fromkeys(past.screen.tree for past in steps))
        for first in range(0, len(hashes), TREES_AT_ONCE):
            if sum(map(len, trees.values())) > TREES_BYTES:
                lost |= dict.fromkeys(hashes[first:], TOO_LARGE)
                break
            some = hashes[first : first + TREES_AT_ONCE]
            for hash, tree in zip(some, await asyncio.gather(*map(self._past.tree, some)), strict=True):
                if tree is None:
                    lost[hash] = GONE
                else:
                    trees[hash] = tree
        return trees, lost

    async def _check(self, written: WrittenStep, request: CheckRequest) -> CheckAnswer:
        if not request.trees:
            return CheckAnswer(own=(), others=())
        try:
            return await self._checks.check(current().org_id, written, request)
        except CheckFailed as failed:
            unknown = ScreenVerdict(Verdict.UNKNOWN, f"checking it failed: {failed}")
            return CheckAnswer(own=[unknown] * len(request.own), others=[unknown] * len(request.others))


def _is_same(past: PastStep, test: StepsOfTest, written: WrittenStep) -> bool:
    """Whether it is the step of the test that is replaced."""
    place = past.step.place
    if place is None or written.place is None:
        return False
    return written.place.is_same(place, same_version=_is_version(past, test))


def _is_other(past: PastStep, test: StepsOfTest, written: WrittenStep) -> bool:
    """Whether it is certain to be another step of the test than the one that is replaced."""
    place = past.step.place
    if place is None:
        return False
    if written.place is None:
        return True
    return _is_version(past, test) or place.words in written.other_words


def _is_version(past: PastStep, test: StepsOfTest) -> bool:
    """Whether it has run in the version of the test that is checked."""
    return past.run.target.test_version_number == test.version_number


def _group_of(past: PastStep) -> ScreenGroup:
    return ScreenGroup.PASSED if past.step.status is StepStatus.PASSED else ScreenGroup.FAILED


def _is_unchanged(past: PastStep, written: WrittenStep) -> bool:
    return (past.step.kind, past.step.text) == (written.kind, written.title)


def _why_unknown(past: PastStep, written: WrittenStep) -> str:
    """Why the run says nothing about what the step as it is written does by the rules; empty if it may."""
    if not _is_unchanged(past, written):
        return ""
    if past.step.resolution is Resolution.CACHE:
        return CACHED
    if past.step.resolution is Resolution.MODEL or past.step.model_calls:
        return BY_MODEL
    helped = any(attempt.human_helped for attempt in past.run.attempts[-1:])
    return HELPED if helped else ""


def _to_check(past: PastStep) -> ScreenToCheck:
    return ScreenToCheck(past.screen.tree, (past.run.target.platform or Platform.ANDROID).lower())
