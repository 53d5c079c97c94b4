"""Proposes how to write a step whose element has changed, and checks a proposal by a run."""

from dataclasses import replace
from typing import Any, Protocol

from mobiletest_automation.flows.step_paths import replace_step
from mobiletest_automation.flows.step_places import StepPlace
from mobiletest_automation.model.failures import Category
from mobiletest_automation.model.results import BoundElement, StepResult, StepStatus
from mobiletest_automation.screen.identity import from_bound, is_same
from mobiletest_automation.stored_screens import HEALING_PASSES
from services.chassis.context import current
from services.chassis.errors import FailedPrecondition
from services.chassis.fair_turns import FairTurns
from services.executor.model.executions import Execution
from services.executor.model.runs import Run, RunPlan
from services.executor.model.step_proposals import (
    CHECKS_LIMIT,
    Healing,
    HealingRequest,
    HealingState,
    StepProposal,
    check_id,
    failed_step,
)
from services.executor.ports.executions import Executions, Page
from services.executor.usecases.past_screens import PastScreens, passes_like
from services.executor.usecases.starts import ExecutionStarter

# So many passing runs are searched for what the step has bound.
RUNS_SEARCHED = 30

NOT_FAILED = "the run has not failed, so nothing is to be healed"
OTHER_FAILURE = "it did not fail because a step did not find its element"
NO_SCREEN = "the elements of the screen on which it failed are not kept"
NO_PAST = "no passing run of this version of the test has kept the screen of this step"
OTHER_ELEMENT = "a run with this step passed, but the step acted on another element"
NO_VERDICT = "the runs that should check it ended without a verdict"


class Proposals(Protocol):
    """Makes proposals."""

    async def propose(self, org_id: str, request: HealingRequest) -> StepProposal | str:
        """The proposal, or a sentence on why there is none."""


class HealingUseCases:
    """The failed runs of the caller's organisation."""

    def __init__(
        self, executions: Executions, past: PastScreens, proposals: Proposals, starter: ExecutionStarter
    ) -> None:
        self._executions = executions
        self._past = past
        self._proposals = proposals
        self._starter = starter
        # Taken before the plan and the trees are read, which have memory while they wait.
        self._turns = FairTurns(2, per_org=1, waiting_per_org=8, waiting=32)

    async def get(self, execution_id: str, run_id: str) -> Healing:
        """What is proposed for the run, and whether a run has confirmed it.

        Raises:
            NotFound: there is no such run.
            ResourceExhausted: too many requests wait.
            Unavailable: the storage does not answer, or too many requests wait.
        """
        return await self._healing(await self._executions.run(execution_id, run_id))

    async def verify(self, execution_id: str, run_id: str) -> Healing:
        """Check the proposal by a run on the same build, unless one has been started.

        Raises:
            NotFound: there is no such run.
            FailedPrecondition: there is no proposal.
            PermissionDenied: as for a start.
            ResourceExhausted: as for a start, or too many requests wait.
            Unavailable: the storage does not answer, or too many requests wait.
        """
        run = await self._executions.run(execution_id, run_id)
        healing = await self._healing(run)
        if healing.proposal is None:
            raise FailedPrecondition(f"There is no proposal: {healing.reason}", reason="NOTHING_PROPOSED")
        if healing.state is not HealingState.UNVERIFIED or healing.reason:
            return healing
        earlier = await self._executions.get(execution_id)
        number = 0
        while await self._ended_without_verdict(check_id(run, healing.proposal, number)):
            number += 1
        changed = _with_step(await self._executions.plan(run.id), healing.proposal)
        await self._starter.check(earlier, run, changed, check_id(run, healing.proposal, number))
        return await self._healing(run)

    async def _healing(self, run: Run) -> Healing:
        failed = failed_step(run)
        if run.success is not False or run.verifies is not None:
            return Healing(run=run, state=HealingState.NONE, reason=NOT_FAILED)
        if failed is None or failed[0].category is not Category.ELEMENT_NOT_FOUND:
            return Healing(run=run, state=HealingState.NONE, reason=OTHER_FAILURE)
        step, place = failed
        async with self._turns.take(current().org_id):
            proposal = await self._propose(run, step, place)
        if isinstance(proposal, str):
            return Healing(run=run, state=HealingState.NONE, reason=proposal)
        state, reason, check = await self._checked(run, proposal, place)
        return Healing(run=run, state=state, reason=reason, proposal=proposal, position=step.position, check=check)

    async def _propose(self, run: Run, step: StepResult, place: StepPlace) -> StepProposal | str:
        if step.screen is None or not step.screen.tree:
            return NO_SCREEN
        past = await self._bindings(run, place)
        if not past:
            return NO_PAST
        hashes = list(dict.fromkeys([step.screen.tree, *(tree for _, tree in past)]))
        read = [await self._past.tree(hash) for hash in hashes]
        trees = tuple(tree for tree in read if tree is not None)
        if len(trees) != len(hashes):
            return NO_SCREEN
        platform = run.target.platform
        request = HealingRequest(
            steps=(await self._executions.plan(run.id)).steps,
            path=place.path,
            platform=platform.lower() if platform is not None else "android",
            past=tuple((element, hashes.index(tree)) for element, tree in past),
            trees=trees,
        )
        return await self._proposals.propose(current().org_id, request)

    async def _bindings(self, run: Run, place: StepPlace) -> list[tuple[BoundElement, str]]:
        """What the step has bound in the last passes, and the hashes of the trees of its screens."""
        bindings: list[tuple[BoundElement, str]] = []
        async for past in self._past.steps(passes_like(run), runs=RUNS_SEARCHED):
            element, step_place = past.screen.element, past.step.place
            if past.step.status is not StepStatus.PASSED or element is None or step_place is None:
                continue
            is_same_version = past.run.target.test_version_number == run.target.test_version_number
            if is_same_version and place.is_same(step_place, same_version=True):
                bindings.append((element, past.screen.tree))
                if len(bindings) == HEALING_PASSES:
                    break
        return bindings

    async def _checked(
        self, run: Run, proposal: StepProposal, place: StepPlace
    ) -> tuple[HealingState, str, Run | None]:
        """What the runs that check the proposal say: the first one with a verdict counts."""
        check: Run | None = None
        for number in range(CHECKS_LIMIT):
            execution_id = check_id(run, proposal, number)
            execution = await self._find(execution_id)
            if execution is None:
                return HealingState.UNVERIFIED, "", check
            runs, _ = await self._executions.runs(execution_id, Page(1, 1))
            check = await self._executions.run(execution_id, runs[0].id)
            if not check.status.terminal:
                return HealingState.VERIFYING, "", check
            if check.success is not None:
                reason = _refutation(check, proposal, place)
                return HealingState.REFUTED if reason else HealingState.VERIFIED, reason, check
        return HealingState.UNVERIFIED, NO_VERDICT, check

    async def _ended_without_verdict(self, execution_id: str) -> bool:
        execution = await self._find(execution_id)
        return execution is not None and execution.status.terminal and execution.success is None

    async def _find(self, execution_id: str) -> Execution | None:
        return next(iter(await self._executions.batch([execution_id])), None)


def _with_step(plan: RunPlan, proposal: StepProposal) -> RunPlan:
    steps: Any = plan.steps
    return replace(plan, steps=tuple(replace_step(steps, proposal.path, proposal.old_step, proposal.step)))


def _refutation(check: Run, proposal: StepProposal, place: StepPlace) -> str:
    """Why the run does not confirm the proposal; empty if it does."""
    if not check.success:
        return check.failure.message if check.failure is not None else "the run did not pass"
    return "" if _binds_as_proposed(check, proposal, place) else OTHER_ELEMENT


def _binds_as_proposed(check: Run, proposal: StepProposal, place: StepPlace) -> bool:
    """Whether the step at this place, which now has another text, has bound the element of the proposal."""
    proposed = from_bound(proposal.element)
    return any(
        step.place is not None
        and step.place.is_same(place, same_version=True)
        and step.screen is not None
        and step.screen.element is not None
        and is_same(from_bound(step.screen.element), proposed)
        for step in check.attempts[-1].steps
    )
