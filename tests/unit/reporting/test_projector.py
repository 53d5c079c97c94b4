"""Events are applied once in effect, also when a transaction loses a race or a batch is delivered again."""

from collections.abc import Awaitable, Callable

import pytest

from services.chassis.errors import Aborted
from services.reporting.model.batch import Batch
from services.reporting.model.projection import RowKeys
from services.reporting.model.tables import Tables
from services.reporting.ports import ProjectionTransaction
from services.reporting.usecases.projector import Projector
from tests.fakes.reporting_read_models import FakeProjections, FakeTransaction
from tests.fakes.reporting_recount import recount
from tests.fakes.reporting_story import Story


def told(story: Story) -> Batch:
    build = story.build("1.0")
    story.app(current="1.0")
    story.execution("e", 2)
    story.run("t", build, "failed", execution="e")
    story.run("u", build, "passed", execution="e")
    return Batch.of(story.told)


async def test_a_batch_delivered_again_changes_nothing(story: Story) -> None:
    folds, batch = FakeProjections(), told(story)
    folding = Projector(folds)
    for _ in range(3):
        await folding.apply_events(batch)
    assert dict(folds.tables.counters.rows()) == dict(recount(story.told).counters.rows())
    assert dict(folds.tables.cells.rows()) == dict(recount(story.told).cells.rows())


async def test_a_transaction_that_loses_a_race_starts_over(story: Story) -> None:
    folds, batch = FakeProjections(), told(story)
    folds.lost_races = 2
    await Projector(folds).apply_events(batch)
    assert dict(folds.tables.counters.rows()) == dict(recount(story.told).counters.rows())


async def test_an_empty_batch_opens_no_transaction() -> None:
    folds = FakeProjections()
    await Projector(folds).apply_events(Batch())
    assert folds.saved == 0


async def test_a_batch_that_is_refused_is_bisected(story: Story) -> None:
    folds, batch = Small(most=2), told(story)
    folding = Projector(folds)
    await folding.apply_events(batch)
    assert dict(folds.tables.cells.rows()) == dict(recount(story.told).cells.rows())
    assert folding.capacity() < len(batch)


async def test_a_single_snapshot_that_is_refused_raises(story: Story) -> None:
    with pytest.raises(Aborted):
        await Projector(Small(most=0)).apply_events(told(story))


class Small(FakeProjections):
    """Takes so many rows of runs, executions and the catalog in one transaction."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most

    async def transaction(self, work: Callable[[ProjectionTransaction], Awaitable[None]]) -> None:
        tried = Tried(Tables())
        await work(tried)
        if tried.told > self.most:
            raise Aborted("too large")
        await super().transaction(work)


class Tried(FakeTransaction):
    """Counts what the batch tells about: what is asked for first."""

    told = 0

    async def load(self, tables: Tables, wanted: RowKeys) -> None:
        catalog = len(wanted.apps) + len(wanted.builds) + len(wanted.tests) + len(wanted.attachments)
        self.told = self.told or len(wanted.runs) + catalog
        await super().load(tables, wanted)
