"""Baselines of deleted tests."""

from collections.abc import Sequence

import pytest

from services.chassis.errors import Unavailable
from services.executor.maintenance.deleted_tests import BATCH, DeletedTests
from services.executor.ports.baselines import TestKey
from tests.fakes.chassis import FakeLease
from tests.fakes.executor import FakeExistingTests


class FakeBaselinesOfTests:
    """The tests that have baselines."""

    def __init__(self, *test_ids: str) -> None:
        self.kept = [TestKey("org", test_id) for test_id in test_ids]

    async def tests(self, after: TestKey | None, limit: int) -> Sequence[TestKey]:
        return [test for test in self.kept if after is None or test > after][:limit]

    async def delete_of_test(self, test: TestKey) -> int:
        self.kept.remove(test)
        return 1


async def test_a_catalog_that_does_not_answer_deletes_nothing() -> None:
    baselines, catalog = FakeBaselinesOfTests("test"), FakeExistingTests()
    catalog.error = Unavailable("down")
    with pytest.raises(Unavailable):
        await DeletedTests(baselines, catalog, FakeLease()).sweep()
    assert len(baselines.kept) == 1


async def test_tests_are_asked_about_in_batches() -> None:
    """No batch is larger than what the catalog lists at once, and the last one ends the sweep."""
    baselines = FakeBaselinesOfTests(*(f"{number:04}" for number in range(BATCH + 1)))
    sweeper = DeletedTests(baselines, FakeExistingTests(), FakeLease())
    after = await sweeper.sweep()
    assert (after, len(baselines.kept)) == (TestKey("org", f"{BATCH - 1:04}"), 1)
    assert await sweeper.sweep(after) is None
    assert baselines.kept == []
