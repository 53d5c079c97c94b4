"""What the runs of builds saw of screens."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain, zip_longest

from mobiletest_automation.model.results import StepResult
from services.executor.model.runs import Run

# Characters of a name or of a step that are kept.
TEXT_LIMIT = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenStep:
    """A screen that was kept before a step. `tree` and `picture` are hashes, the picture's empty if there is none.

    `test` says which runs see the same: those of one test on one platform in one variant. `step` is the step's text,
    and `step_key` what names it in all of them: `StepPlace.key`, or the text of one that is none of the test's.
    """

    execution_id: str
    run_id: str
    test: str
    test_id: str
    test_name: str
    step_index: int
    step: str
    step_key: str
    fingerprint: str
    tree: str
    picture: str
    seen_at: datetime
    simulated: bool


@dataclass(slots=True)
class SeenRuns:
    """What runs saw, those of the newest run first. `complete`: no older run is left out."""

    steps: list[SeenStep] = field(default_factory=list)
    runs: int = 0
    version: str | None = None
    complete: bool = True

    def add(self, run: Run) -> None:
        """Add what the last attempt of the run saw."""
        self.runs += 1
        self.version = self.version or run.target.resolved_build_version
        self.steps += _steps_of(run)


def test_key(run: Run) -> str:
    """What runs have in common that should see the same screens."""
    return f"{run.target.test_id} {run.target.platform} {run.variant.id}"


def trees_in_turn(sides: Iterable[SeenRuns]) -> list[str]:
    """The hashes of the trees, each once: those of the newest runs of each side first, in turn."""
    rows = zip_longest(*([step.tree for step in side.steps] for side in sides))
    return list(dict.fromkeys(filter(None, chain.from_iterable(rows))))


def _key(run: Run, step: StepResult) -> str:
    return step.place.key(run.target.test_version_number) if step.place is not None else step.text[:TEXT_LIMIT]


def _steps_of(run: Run) -> Iterator[SeenStep]:
    for attempt in run.attempts[-1:]:
        for step in attempt.steps:
            if step.screen is not None and step.screen.tree:
                yield SeenStep(
                    execution_id=run.execution_id,
                    run_id=run.id,
                    test=test_key(run),
                    test_id=run.target.test_id,
                    test_name=run.target.test_name[:TEXT_LIMIT],
                    step_index=step.index,
                    step=step.text[:TEXT_LIMIT],
                    step_key=_key(run, step),
                    fingerprint=step.screen.fingerprint,
                    tree=step.screen.tree,
                    picture=step.screen.picture,
                    seen_at=step.started_at,
                    simulated=bool(attempt.simulated),
                )
