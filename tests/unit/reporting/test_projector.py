"""Batches that the database refuses are bisected."""

import pytest

from services.chassis.errors import Aborted
from services.reporting.model.batch import Batch
from services.reporting.usecases.projector import Projector
from tests.fakes.reporting_projections import RecordingProjections
from tests.fakes.reporting_story import Story


def batch_of_runs(story: Story) -> Batch:
    build = story.build("1.0")
    for number in range(5):
        story.run("t", build, run_id=f"run-{number}")
    return Batch.of(story.told)


async def test_an_empty_batch_opens_no_transaction() -> None:
    projections = RecordingProjections()
    await Projector(projections).apply_events(Batch())
    assert projections.saved == []


async def test_a_batch_that_is_refused_is_bisected(story: Story) -> None:
    projections, batch = RecordingProjections(most=2), batch_of_runs(story)
    projector = Projector(projections)
    await projector.apply_events(batch)
    saved = [run_id for tables in projections.saved for run_id in tables.runs.changed]
    assert sorted(saved) == sorted(batch.runs)
    assert [build for tables in projections.saved for build in tables.builds.changed] == ["build-1.0"]
    assert projector.capacity() < len(batch)


async def test_a_single_snapshot_that_is_refused_raises(story: Story) -> None:
    with pytest.raises(Aborted):
        await Projector(RecordingProjections(most=0)).apply_events(batch_of_runs(story))
