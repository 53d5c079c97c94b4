"""Finds the last pass before a run, and what its screens have that the run's have not."""

from dataclasses import replace
from typing import Protocol

from mobiletest.executor.v1 import screens_pb2 as pb

from mobiletest_automation.model.results import TREE, StepResult
from services.chassis.context import current
from services.chassis.errors import NotFound
from services.chassis.fair_turns import FairTurns
from services.chassis.proto_values import to_timestamp
from services.executor.messages import step_screen_proto, variant_proto
from services.executor.model.build_screens import SeenRuns
from services.executor.model.runs import Run
from services.executor.ports.executions import ScreensFilter
from services.executor.ports.screens import Screens
from services.executor.screen_pool import ScreensJob
from services.executor.usecases.build_screens import ScreenJobs
from services.executor.usecases.past_screens import passes_like
from services.executor.usecases.screens import read_screen

NOT_KEPT = "The elements were not kept in both runs."
NOT_COMPARED = "The elements were not compared: they are deleted, damaged or too many."


class PassingRuns(Protocol):
    """Runs of the caller's organisation; a part of the port `Executions`."""

    async def run(self, execution_id: str, run_id: str) -> Run:
        """One run with its steps.

        Raises:
            NotFound: there is no such run.
        """

    async def runs_with_screens(self, wanted: ScreensFilter, limit: int) -> list[Run]: ...


class LastPasses:
    """Compares runs of the caller's organisation with their last passes."""

    def __init__(self, runs: PassingRuns, screens: Screens, jobs: ScreenJobs) -> None:
        self._runs = runs
        self._screens = screens
        self._jobs = jobs
        self._turns = FairTurns(2, per_org=1, waiting_per_org=16, waiting=64)

    async def find(self, execution_id: str, run_id: str, step_index: int | None = None) -> pb.LastPass:
        """The newest run before this one that passed with the same test, app, platform and variant, of those with kept
        screens; else the newest such run of another variant.

        Its steps are those that are the same step in both; with `step_index` only this one, with its differences.

        Raises:
            NotFound: there is no such run, or no such pass.
            ResourceExhausted: too many such requests of the organisation wait.
            Unavailable: the storage does not answer, or too many requests wait.
        """
        run = await self._runs.run(execution_id, run_id)
        passed = await self._last_pass(run)
        pairs = pair_steps(run, passed)
        if step_index is not None:
            pairs = [pair for pair in pairs if pair[0].index == step_index]
        steps = [
            pb.PairedStep(step_index=one.index, passing_step_index=other.index, screen=step_screen_proto(other.screen))
            for one, other in pairs
        ]
        if step_index is not None and pairs:
            steps[0].difference.CopyFrom(await self._difference(run, passed, *pairs[0]))
        return pb.LastPass(
            execution_id=passed.execution_id,
            run_id=passed.id,
            resolved_build_version=passed.target.resolved_build_version,
            completed_at=to_timestamp(passed.completed_at),
            steps=steps,
            variant=variant_proto(passed.variant),
            other_variant=passed.variant.id != run.variant.id,
            simulated=bool(passed.attempts[-1].simulated),
        )

    async def _last_pass(self, run: Run) -> Run:
        wanted = replace(passes_like(run), before=run.end)
        for passes in (wanted, replace(wanted, variant_id=None)):
            for passed in await self._runs.runs_with_screens(passes, 1) if run.target.platform is not None else ():
                return passed
        message = "No earlier run of this test passed on this app and platform, of those whose screens are kept"
        raise NotFound(message, reason="NO_EARLIER_PASS")

    async def _difference(self, run: Run, passed: Run, one: StepResult, other: StepResult) -> pb.ScreenDifference:
        trees = [step.screen.tree if step.screen is not None else "" for step in (other, one)]
        if not all(trees):
            return pb.ScreenDifference(notice=NOT_KEPT)
        if trees[0] == trees[1]:
            return pb.ScreenDifference()
        async with self._turns.take(current().org_id):
            blobs = {tree: content for tree in trees if (content := await read_screen(self._screens, tree, TREE))}
            sides = [_side(passed, other), _side(run, one)]
            job = ScreensJob(sides, ("before", "after"), blobs)
            done = await self._jobs.run(current().org_id, job) if len(blobs) == len(trees) else None
        comparison = pb.ScreenComparison.FromString(done[1]) if done is not None else None
        if comparison is None or comparison.notice:
            return pb.ScreenDifference(notice=NOT_COMPARED)
        if any(screen.kind != pb.SCREEN_CHANGE_KIND_CHANGED for screen in comparison.screens):
            return pb.ScreenDifference(other_screen=True)
        return pb.ScreenDifference(elements=[change for screen in comparison.screens for change in screen.elements])


def pair_steps(run: Run, passed: Run) -> list[tuple[StepResult, StepResult]]:
    """The steps of the last attempts that are the same step in the same round of its loops; nothing is guessed."""
    same_version = run.target.test_version_number == passed.target.test_version_number
    ones, others = (_steps_by_name(each, same_version=same_version) for each in (run, passed))
    return [(step, others[name]) for name, step in ones.items() if name in others]


def _steps_by_name(run: Run, *, same_version: bool) -> dict[tuple[str, tuple[int, ...]], StepResult]:
    steps = run.attempts[-1].steps if run.attempts else ()
    return {
        (name, step.place.rounds): step
        for step in steps
        if step.place is not None and (name := step.place.name(same_version=same_version))
    }


def _side(run: Run, step: StepResult) -> SeenRuns:
    """What the run saw at this step, as if it were the only step of its test."""
    seen = SeenRuns()
    seen.add(run)
    seen.steps = [replace(each, test="", step_key="") for each in seen.steps if each.step_index == step.index]
    return seen
