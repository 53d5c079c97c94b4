"""Reads the steps of past runs whose screens are kept."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace

from mobiletest_automation.model.results import TREE, StepResult, StepScreen
from services.executor.model.runs import Run
from services.executor.ports.executions import Executions, ScreensFilter
from services.executor.ports.screens import Screens
from services.executor.usecases.screens import read_screen

# So many runs are read for one answer, and of longer tests fewer: about so many steps.
RUNS_LIMIT = 200
STEPS_LIMIT = 20_000
_RUNS_AT_ONCE = 10


def passes_like(run: Run) -> ScreensFilter:
    """The passes of its test on its app and platform in its variant: those that the binding alarm compares."""
    target = run.target
    return ScreensFilter(
        test_id=target.test_id,
        app_id=target.app_id,
        platform=target.platform,
        variant_id=run.variant.id,
        success=True,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PastStep:
    """A step of the last attempt of an ended run, and its screen, whose elements are kept."""

    run: Run
    step: StepResult
    screen: StepScreen


class PastScreens:
    """The steps and screens of the caller's organisation."""

    def __init__(self, executions: Executions, screens: Screens) -> None:
        self._executions = executions
        self._screens = screens

    async def steps(
        self, wanted: ScreensFilter, *, runs: int = RUNS_LIMIT, steps: int = STEPS_LIMIT
    ) -> AsyncIterator[PastStep]:
        """Those of at most `runs` runs, the newest first; no further run follows after so many `steps`.

        The steps of a run are in their order.
        """
        while runs > 0:
            page = await self._executions.runs_with_screens(wanted, min(_RUNS_AT_ONCE, runs))
            for run in page:
                for past in _steps_of(run):
                    yield past
                steps -= sum(len(attempt.steps) for attempt in run.attempts[-1:])
                if steps <= 0:
                    return
            if len(page) < min(_RUNS_AT_ONCE, runs):
                return
            runs -= len(page)
            wanted = replace(wanted, before=page[-1].end)

    async def tree(self, hash: str) -> bytes | None:
        """What `encode_tree` made of the elements; None if it is not stored any more, or too large.

        Raises:
            Unavailable: the storage does not answer.
        """
        return await read_screen(self._screens, hash, TREE)


def _steps_of(run: Run) -> Iterator[PastStep]:
    for attempt in run.attempts[-1:]:
        for step in attempt.steps:
            if step.screen is not None and step.screen.tree:
                yield PastStep(run=run, step=step, screen=step.screen)
