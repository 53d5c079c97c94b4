"""A proposal how to write a step whose element has changed, and what became of the run that checks it."""

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from mobiletest_automation.flows.positions import SourcePosition
from mobiletest_automation.flows.step_places import StepPlace
from mobiletest_automation.model.results import BoundElement, StepResult
from services.executor.model.runs import Run

# So many runs may check a proposal, because a run may end without a verdict.
CHECKS_LIMIT = 3


class HealingState(StrEnum):
    """`none`: there is no proposal. Only `verified` ones are offered: a run with it has passed."""

    NONE = "none"
    UNVERIFIED = "unverified"
    VERIFYING = "verifying"
    VERIFIED = "verified"
    REFUTED = "refuted"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepProposal:
    """Another way to write the step at `path` of the test's steps, as a value and as a line of a flow.

    `element` is what it is about, and `why` says how that is known. The old step has bound it on `past_screens`, on
    `held_screens` of which the new one does so, too.
    """

    path: str
    old_step: Any
    old_line: str
    step: Any
    line: str
    why: str
    element: BoundElement
    past_screens: int
    held_screens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HealingRequest:
    """The steps of a test, the path of the one that failed, and stored trees: of the failed screen, and of passes.

    `past` are the elements of passes, the newest first, with the indexes of their trees.
    """

    steps: tuple[Any, ...]
    path: str
    platform: str
    past: tuple[tuple[BoundElement, int], ...]
    trees: tuple[bytes, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Healing:
    """What is proposed for a failed run; `reason` says why nothing is, or why the proposal is refuted.

    `position` is where the step is written, None if that is not known. `check` is the latest run that checks it.
    """

    run: Run
    state: HealingState
    reason: str = ""
    proposal: StepProposal | None = None
    position: SourcePosition | None = None
    check: Run | None = None


def check_id(run: Run, proposal: StepProposal, number: int) -> str:
    """The id of the execution that checks the proposal, for the nth time: the same whoever asks for it."""
    said = json.dumps((proposal.path, proposal.step), sort_keys=True)
    return str(uuid5(NAMESPACE_URL, f"mobiletest:healing:{run.id}:{said}:{number}"))


def failed_step(run: Run) -> tuple[StepResult, StepPlace] | None:
    """The step because of which the last attempt failed, and its place in the test; None if that is not certain."""
    attempt = run.attempts[-1] if run.attempts else None
    if attempt is None or run.failure is None or attempt.failure is None or attempt.failure.step_index is None:
        return None
    for step in attempt.steps:
        if step.index == attempt.failure.step_index and step.place is not None:
            return step, step.place
    return None
