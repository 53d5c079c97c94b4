"""Baselines of deleted tests."""

import pytest

from services.chassis.errors import Unavailable
from services.executor.maintenance import deleted_tests
from services.executor.maintenance.deleted_tests import BATCH, DeletedTests
from services.executor.ports.baselines import TestKey
from tests.fakes.executor_baselines import FakeBaselines, FakeExistingTests


class Always:
    """A lease that is always ours."""

    async def acquire(self) -> bool:
        return True

    async def release(self) -> None:
        return None


async def test_a_catalog_that_does_not_answer_deletes_nothing() -> None:
    baselines, catalog = FakeBaselines(), FakeExistingTests()
    await baselines.save(TestKey("org", "test"), "key", b"png", None)
    catalog.error = Unavailable("down")
    with pytest.raises(Unavailable):
        await DeletedTests(baselines, catalog, Always()).sweep()
    assert len(baselines.kept) == 1


async def test_tests_are_asked_about_in_batches() -> None:
    """No batch is larger than what the catalog lists at once, and the last one ends the sweep."""
    baselines = FakeBaselines()
    for number in range(BATCH + 1):
        await baselines.save(TestKey("org", f"{number:04}"), "key", b"png", None)
    sweeper = DeletedTests(baselines, FakeExistingTests(), Always())
    after = await sweeper.sweep()
    assert (after, len(baselines.kept)) == (TestKey("org", f"{deleted_tests.BATCH - 1:04}"), 1)
    assert await sweeper.sweep(after) is None
    assert baselines.kept == {}
