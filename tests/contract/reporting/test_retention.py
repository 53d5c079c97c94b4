"""Retention works the same in memory and in MongoDB: what expires, what is left, and nothing else."""

from datetime import timedelta
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from services.reporting.model.batch import Batch, Snapshot
from services.reporting.model.list_positions import RetentionLimits, expire_runs
from services.reporting.model.snapshots import RunSnapshot
from services.reporting.ports import ExpirableRuns, Page
from services.reporting.usecases.projector import Projector
from services.reporting.usecases.retention import RetentionSweeper
from tests.contract.reporting.conftest import Store
from tests.contract.reporting.tables import contents
from tests.contract.reporting.test_read_models import EXAMPLES, RULES, fold_in_pieces
from tests.fakes.reporting_attempts import START
from tests.fakes.reporting_expirable_runs import FakeExpirableRuns, FakeLease
from tests.fakes.reporting_recount import recount
from tests.fakes.reporting_story import StillClock
from tests.fakes.reporting_strategies import snapshot_lists

NOW = START + timedelta(days=12)


def expiring(store: Store, bounds: RetentionLimits) -> RetentionSweeper:
    return RetentionSweeper(store.listed, store.folds, FakeLease(), limits=bounds, clock=StillClock(NOW))


@EXAMPLES
@given(told=snapshot_lists(), per_test=st.sampled_from([None, 1, 2]), random=st.randoms(use_true_random=False))
async def test_a_sweep_equals_a_recount_without_the_expired_runs(
    store: Store, told: list[Snapshot], per_test: int | None, random: Random
) -> None:
    await store.clear()
    await fold_in_pieces(store, told, size=50)
    expected = recount(told, RULES)
    bounds = RetentionLimits(age=timedelta(days=random.choice([0.5, 1, 2])), per_test=per_test)
    await expiring(store, bounds).sweep()
    swept = await store.tables()
    expire_runs(expected, [run_id for run_id, row in swept.runs.rows() if row.expired])
    assert contents(swept) == contents(expected)
    runs = [one for one in told if isinstance(one, RunSnapshot)]
    random.shuffle(runs)
    await Projector(store.folds, RULES).apply_events(Batch.of(runs))
    assert contents(await store.tables()) == contents(expected)


@EXAMPLES
@given(told=snapshot_lists())
async def test_lists_are_visited_in_the_same_order(store: Store, told: list[Snapshot]) -> None:
    await store.clear()
    await fold_in_pieces(store, told, size=50)
    assert await everything(store.listed) == await everything(FakeExpirableRuns(recount(told, RULES)))


async def everything(listed: ExpirableRuns) -> list[object]:
    found: list[object] = []
    test = None
    while test := await listed.test_after(test):
        found += [test, *[await listed.runs(test, page) for page in PAGES]]
    return found


PAGES = [Page(0, 100), Page(1, 2), Page(0, 9, START + timedelta(days=11))]
