"""Ports of the rechecks: the steps of tests, and what checks a step on stored screens."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from mobiletest_automation.flows.step_places import StepPlace
from mobiletest_automation.stored_screens.verdict import Verdict


@dataclass(frozen=True, slots=True)
class StepsOfTest:
    """The steps of a test as free-form JSON, and the number of their version."""

    steps: Sequence[object]
    version_number: int


class StoredTests(Protocol):
    """The tests of the caller's organisation."""

    async def steps_of(self, test_id: str) -> StepsOfTest:
        """The steps of the newest version.

        Raises:
            NotFound: there is no such test.
            Unavailable: the catalog does not answer.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class StepToRead:
    """A step to be written into a test: as free-form JSON, or as a flow with one step. Without both it is the step of
    the test at `path`, else the one that replaces it; a new one without a path ("steps[3].repeat.commands[0]").
    """

    test_steps: Sequence[object]
    path: str | None = None
    step: object = None
    flow: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenStep:
    """A valid step: its value as free-form JSON, and its kind and title as a run reports them.

    `place` is that of the step of the test that it replaces, None for a new one, and `other_words` are what other steps
    of the test are known by in other versions.
    """

    value: object
    kind: str
    title: str
    place: StepPlace | None = None
    other_words: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class ScreenToCheck:
    """The hash of a screen's elements, and the platform: android or ios."""

    tree: str
    platform: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRequest:
    """The screens where the step has run, those of other steps, and the elements by their hashes.

    `may_ask_model`: a run may ask a model where the rules have no answer.
    """

    own: Sequence[ScreenToCheck]
    others: Sequence[ScreenToCheck]
    trees: Mapping[str, bytes]
    may_ask_model: bool = False


@dataclass(frozen=True, slots=True)
class ScreenVerdict:
    """What the step does on a screen, and why; `element` describes the one that it acts on or has found."""

    verdict: Verdict
    reason: str = ""
    element: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckAnswer:
    """A verdict for each screen in order; `asserts_nothing` is as in `RecheckReport`."""

    own: Sequence[ScreenVerdict]
    others: Sequence[ScreenVerdict]
    asserts_nothing: bool | None = None


class CheckFailed(Exception):
    """The screens could not be checked; the message says which limit that exceeded."""


class StepChecks(Protocol):
    """Reads steps and checks them on stored screens.

    Raises:
        ResourceExhausted: by both methods, if too many requests of the organisation wait.
        Unavailable: by both methods, if too many requests wait.
    """

    async def read_step(self, org_id: str, wanted: StepToRead) -> WrittenStep:
        """The step, if it is valid.

        Raises:
            InvalidArgument: it is not; the violation names the field.
        """

    async def check(self, org_id: str, step: WrittenStep, request: CheckRequest) -> CheckAnswer:
        """What the step does on the screens.

        Raises:
            CheckFailed: it takes more than the limits.
        """
