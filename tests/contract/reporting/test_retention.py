"""Retention: what expires, what is left, and nothing else changes, also beside folds, rebuilds and another sweep."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.reporting.model.batch import Snapshot
from services.reporting.model.list_positions import RetentionLimits, expire_runs
from services.reporting.model.projection import RowKeys
from services.reporting.model.snapshots import RunSnapshot
from services.reporting.model.tables import Table, Tables
from services.reporting.ports import ListedTest, Projections, ProjectionTransaction, RowPage
from services.reporting.usecases.retention import RetentionSweeper
from tests.contract.reporting.store import MongoStore, StoredStory, expire
from tests.contract.reporting.tables import contents
from tests.contract.reporting.test_read_models import EXAMPLES, RULES
from tests.fakes.chassis import FakeClock, FakeLease
from tests.fakes.reporting_attempts import START
from tests.fakes.reporting_recount import recount
from tests.fakes.reporting_story import NOW, ORG
from tests.fakes.reporting_strategies import snapshot_lists

DAY = timedelta(days=1)


def sweeper(store: MongoStore, lease: FakeLease | None = None, clock: FakeClock | None = None, **limits: Any) -> Any:
    return RetentionSweeper(
        store.expirable,
        store.projections,
        lease or FakeLease(),
        limits=RetentionLimits(**limits),
        clock=clock or FakeClock(NOW),
        batch=3,
    )


async def listed(store: MongoStore) -> list[str]:
    return sorted(run_id for run_id, row in (await store.tables()).runs.rows() if not row.expired)


@pytest.fixture
async def aged(store: MongoStore) -> MongoStore:
    """A run of each of two tests on each of five days."""
    story = StoredStory(store)
    build = story.build("1.0")
    for day in range(5):
        story.run("t", build, at=NOW - day * DAY, run_id=f"t{day}")
        story.run("u", build, at=NOW - day * DAY, run_id=f"u{day}")
    await story.fold()
    return store


@pytest.mark.parametrize(
    ("limits", "days"),
    [({"age": 2.5 * DAY}, 3), ({"per_test": 2}, 2), ({"age": 3.5 * DAY, "per_test": 4}, 4), ({"per_test": 1}, 1)],
    ids=["age", "number", "both", "newest"],
)
async def test_runs_beyond_any_limit_expire_once(aged: MongoStore, limits: dict[str, Any], days: int) -> None:
    sweep = sweeper(aged, **limits)
    assert [await sweep.sweep(), await sweep.sweep()] == [10 - 2 * days, 0]
    assert await listed(aged) == [f"{test}{day}" for test in "tu" for day in range(days)]


async def test_active_runs_stay_and_do_not_block_others(story: StoredStory) -> None:
    build = story.build("1.0")
    for number in range(6):
        story.run("t", build, "queued" if number % 2 else "passed", at=NOW - number * DAY, run_id=f"t{number}")
    await story.fold()
    assert await sweeper(story.store, per_test=1).sweep() == 2
    assert await listed(story.store) == ["t0", "t1", "t3", "t5"]


async def test_nothing_expires_without_the_lease(aged: MongoStore) -> None:
    assert await sweeper(aged, FakeLease(times=0), per_test=1).sweep() == 0
    assert len(await listed(aged)) == 10


async def test_empty_days_are_removed(aged: MongoStore) -> None:
    await sweeper(aged, per_test=1).sweep()
    counters = {name: row for (_, name), row in (await aged.tables()).counters.rows() if name.startswith("test:t")}
    assert counters.keys() == {"test:t", f"test:t:{NOW:%Y-%m-%d}"}
    assert counters["test:t"] == {"runs": 5, "listed": 1, f"{NOW:%Y-%m-%d}": 1}


@dataclass
class Repeating:
    """Runs all work twice: a first attempt that loses a race, or one more for the generation that is being built."""

    inner: Projections
    lost: bool

    async def transaction(self, work: Callable[[ProjectionTransaction], Awaitable[None]]) -> None:
        async def repeated(transaction: ProjectionTransaction) -> None:
            await work(Discarding(transaction) if self.lost else Empty())
            await work(transaction)

        await self.inner.transaction(repeated)


class Empty:
    """A transaction on a generation that has nothing yet."""

    async def load(self, tables: Tables, wanted: RowKeys) -> None:
        """It finds no rows."""

    async def save(self, tables: Tables) -> None:
        """What it writes is not looked at."""

    save_runs = save


class Discarding(Empty):
    """A transaction whose writes are lost."""

    def __init__(self, transaction: ProjectionTransaction) -> None:
        self._transaction = transaction

    async def load(self, tables: Tables, wanted: RowKeys) -> None:
        await self._transaction.load(tables, wanted)


@pytest.mark.parametrize("lost", [True, False], ids=["lost-race", "rebuild"])
async def test_a_run_that_expires_in_several_attempts_counts_once(aged: MongoStore, *, lost: bool) -> None:
    aged.projections = Repeating(aged.projections, lost)
    assert await sweeper(aged, per_test=1).sweep() == 8
    assert await listed(aged) == ["t0", "u0"]


async def test_expired_runs_take_little_space(aged: MongoStore, read_models_database: str, mongo_client: Any) -> None:
    await sweeper(aged, per_test=1).sweep()
    rest = mongo_client[read_models_database]["runs"].find_one({"listed_at": {"$exists": False}})
    assert set(rest) == {"_id", "org_id", "revision", "status", "execution_id", "test_id", "app_id", "build_id"}


async def test_lists_of_all_organisations_are_visited_in_order(story: StoredStory) -> None:
    for number, (org, test) in enumerate([("b", "t"), (ORG, "u"), (ORG, "t"), (ORG, "t"), ("b", "a"), ("b", "gone")]):
        run = story.run(test, None, app=None, at=NOW - number * DAY, run_id=f"{org}-{test}-{number}")
        story.told[-1] = replace(run, org_id=org)
    await story.fold()
    await expire(story.store.projections, ["b-gone-5"])
    expirable, tests = story.store.expirable, [await story.store.expirable.test_after(None)]
    while tests[-1]:
        tests.append(await expirable.test_after(tests[-1]))
    lists = [("b", "a"), ("b", "t"), (ORG, "t"), (ORG, "u")]
    assert tests == [*(ListedTest(org, test) for org, test in lists), None]
    own = ListedTest(ORG, "t")
    pages = [RowPage(0, 9), RowPage(1, 9), RowPage(0, 1), RowPage(0, 9, NOW - 2 * DAY - timedelta(minutes=1))]
    first, second = f"{ORG}-t-2", f"{ORG}-t-3"
    assert [await expirable.runs(own, page) for page in pages] == [[first, second], [second], [first], [second]]


@EXAMPLES
@given(told=snapshot_lists(), per_test=st.sampled_from([None, 1, 2]), random=st.randoms(use_true_random=False))
async def test_a_sweep_equals_a_recount_without_the_expired_runs(
    store: MongoStore, told: list[Snapshot], per_test: int | None, random: Random
) -> None:
    await store.clear()
    await store.fold(told, RULES)
    expected = recount(told, RULES)
    age = timedelta(days=random.choice([0.5, 1, 2]))
    await sweeper(store, clock=FakeClock(START + 12 * DAY), age=age, per_test=per_test).sweep()
    swept = await store.tables()
    expire_runs(expected, [run_id for run_id, row in swept.runs.rows() if row.expired])
    assert contents(swept) == contents(expected)
    runs = [one for one in told if isinstance(one, RunSnapshot)]
    random.shuffle(runs)
    await store.fold(runs, RULES)
    assert contents(await store.tables()) == contents(expected)


@pytest.fixture
def month(story: StoredStory) -> StoredStory:
    """Three tests on two builds, sixty runs on thirty days."""
    builds = [story.build("1.0"), story.build("1.1")]
    for number in range(60):
        ending = "failed" if number % 7 == 0 else "passed"
        story.run(f"test-{number % 3}", builds[number % 2], ending, at=NOW - timedelta(hours=12 * number))
    return story


async def test_runs_that_expire_while_their_events_are_folded_count_once(month: StoredStory) -> None:
    await month.fold()
    store, random = month.store, Random(5)
    runs = [one for one in month.told if isinstance(one, RunSnapshot)]
    told = [*runs, *(replace(run, revision=run.revision + 100, list_item=b"later") for run in runs)]
    again = [random.sample(told, 40) for _ in range(6)]
    sweep = sweeper(store, age=6 * DAY)
    await asyncio.gather(sweep.sweep(), *map(store.fold, again))
    await sweep.sweep()
    stored = await store.tables()
    expected = recount([*month.told, *(one for some in again for one in some)])
    gone = {run_id for run_id, row in stored.runs.rows() if row.expired}
    expire_runs(expected, gone)
    assert len(gone) == 48
    for tables in (stored, expected):  # an expired run keeps the revision that it had
        tables.runs = Table((run_id, row) for run_id, row in tables.runs.rows() if run_id not in gone)
    assert contents(stored) == contents(expected)


async def test_two_sweeps_at_once_do_no_harm(month: StoredStory) -> None:
    await month.fold()
    await asyncio.gather(*(sweeper(month.store, per_test=5).sweep() for _ in range(2)))
    stored, expected = await month.store.tables(), recount(month.told)
    expire_runs(expected, [run_id for run_id, row in stored.runs.rows() if row.expired])
    assert contents(stored) == contents(expected)
    assert sum(not row.expired for _, row in stored.runs.rows()) == 15
