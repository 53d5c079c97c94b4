"""Events are applied once in effect, also when a transaction loses a race or a batch is delivered again."""

from services.reporting.model.batch import Batch
from services.reporting.model.recount import recount
from services.reporting.usecases import Folding
from tests.fakes.reporting_store import FakeFolds
from tests.fakes.reporting_story import Story


def told(story: Story) -> Batch:
    build = story.build("1.0")
    story.app(current="1.0")
    story.execution("e", 2)
    story.run("t", build, "failed", execution="e")
    story.run("u", build, "passed", execution="e")
    return Batch.of(story.told)


async def test_a_batch_delivered_again_changes_nothing(story: Story) -> None:
    folds, batch = FakeFolds(), told(story)
    folding = Folding(folds)
    for _ in range(3):
        await folding.apply_events(batch)
    assert dict(folds.tables.counters.rows()) == dict(recount(story.told).counters.rows())
    assert dict(folds.tables.cells.rows()) == dict(recount(story.told).cells.rows())


async def test_a_transaction_that_loses_a_race_starts_from_what_is_stored_then(story: Story) -> None:
    folds, batch = FakeFolds(), told(story)
    folds.lost_races = 2
    await Folding(folds).apply_events(batch)
    assert dict(folds.tables.counters.rows()) == dict(recount(story.told).counters.rows())


async def test_an_empty_batch_opens_no_transaction() -> None:
    folds = FakeFolds()
    await Folding(folds).apply_events(Batch())
    assert folds.saved == 0
