"""Retention works the same in memory and in MongoDB: what expires, what is left, and nothing else."""

from datetime import timedelta
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from services.reporting.model.batch import Batch, Told
from services.reporting.model.recount import recount
from services.reporting.model.retention import Bounds, expire
from services.reporting.model.snapshots import RunSnapshot
from services.reporting.ports import Listed, Page
from services.reporting.usecases import Expiring, Folding
from tests.contract.reporting.conftest import Store
from tests.contract.reporting.test_store import EXAMPLES, RULES, contents, fold_in_pieces
from tests.fakes.reporting import START
from tests.fakes.reporting_lists import FakeListed, FakeTurn
from tests.fakes.reporting_story import StillClock
from tests.fakes.reporting_worlds import worlds

NOW = START + timedelta(days=12)


def expiring(store: Store, bounds: Bounds) -> Expiring:
    return Expiring(store.listed, store.folds, FakeTurn(), bounds=bounds, clock=StillClock(NOW))


@EXAMPLES
@given(told=worlds(), per_test=st.sampled_from([None, 1, 2]), random=st.randoms(use_true_random=False))
async def test_a_sweep_leaves_what_a_recount_without_the_expired_runs_gives(
    store: Store, told: list[Told], per_test: int | None, random: Random
) -> None:
    await store.clear()
    await fold_in_pieces(store, told, size=50)
    expected = recount(told, RULES)
    bounds = Bounds(age=timedelta(days=random.choice([0.5, 1, 2])), per_test=per_test)
    await expiring(store, bounds).sweep()
    swept = await store.tables()
    expire(expected, [run_id for run_id, row in swept.runs.rows() if row.expired])
    assert contents(swept) == contents(expected)
    runs = [one for one in told if isinstance(one, RunSnapshot)]
    random.shuffle(runs)
    await Folding(store.folds, RULES).apply_events(Batch.of(runs))
    assert contents(await store.tables()) == contents(expected)


@EXAMPLES
@given(told=worlds())
async def test_lists_are_gone_through_in_the_same_order(store: Store, told: list[Told]) -> None:
    await store.clear()
    await fold_in_pieces(store, told, size=50)
    assert await everything(store.listed) == await everything(FakeListed(recount(told, RULES)))


async def everything(listed: Listed) -> list[object]:
    found: list[object] = []
    test = None
    while test := await listed.test_after(test):
        found += [test, *[await listed.runs(test, page) for page in PAGES]]
    return found


PAGES = [Page(0, 100), Page(1, 2), Page(0, 9, START + timedelta(days=11))]
