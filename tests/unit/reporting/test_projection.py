"""The read models are the same whatever the order, the duplicates and the cut into batches: those of a recount."""

from dataclasses import replace
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from services.reporting.model.batch import Batch, Snapshot
from services.reporting.model.flaky import FlakyRules
from services.reporting.model.projection import ProjectionRules, fold
from services.reporting.model.snapshots import RunSnapshot
from services.reporting.model.storms import StormRules
from services.reporting.model.tables import History, Tables
from services.reporting.model.variants import EMPTY_VARIANT
from tests.contract.reporting.tables import contents
from tests.examples import examples
from tests.fakes.reporting_attempts import NO_DEADLINE
from tests.fakes.reporting_recount import recount
from tests.fakes.reporting_strategies import snapshot_lists

SMALL_WINDOWS = ProjectionRules(flaky=FlakyRules(window=3))


def folded(batches: list[list[Snapshot]], rules: ProjectionRules) -> Tables:
    tables = Tables()
    for batch in batches:
        fold(tables, Batch.of(batch), rules)
    return tables


def cut(told: list[Snapshot], random: Random) -> list[list[Snapshot]]:
    """The list in pieces of random length."""
    batches, rest = [], list(told)
    while rest:
        length = random.randint(1, 8)
        batches.append(rest[:length])
        rest = rest[length:]
    return batches


@settings(NO_DEADLINE, max_examples=examples(150))
@given(snapshot_lists(), st.randoms(use_true_random=False), st.integers(1, 3))
def test_order_duplicates_and_batches_change_nothing(told: list[Snapshot], random: Random, times: int) -> None:
    expected = contents(recount(told, SMALL_WINDOWS))
    shuffled = told * times
    random.shuffle(shuffled)
    assert contents(folded(cut(shuffled, random), SMALL_WINDOWS)) == expected


def _asking(told: list[Snapshot]) -> list[Snapshot]:
    """The same with one more fact after each of a run that goes on: it asks a person, and its status stays."""
    doubled = [replace(one, revision=2 * one.revision) if isinstance(one, RunSnapshot) else one for one in told]
    open_ones = [one for one in doubled if isinstance(one, RunSnapshot) and not one.status.terminal]
    return [*doubled, *(replace(one, revision=one.revision + 1) for one in open_ones)]


@NO_DEADLINE
@given(snapshot_lists(), st.randoms(use_true_random=False))
def test_events_of_a_run_with_the_same_status_change_nothing(told: list[Snapshot], random: Random) -> None:
    asking = _asking(told)
    random.shuffle(asking)
    expected, actual = (contents(folded(cut(facts, random), SMALL_WINDOWS)) for facts in (told, asking))
    for name in ("counters", "groups", "histories"):
        assert actual[name] == expected[name]


@NO_DEADLINE
@given(snapshot_lists())
def test_counts_are_conserved(told: list[Snapshot]) -> None:
    """Every finished run of an app is in exactly one day; every one with a build in exactly one cell."""
    tables = folded([told], SMALL_WINDOWS)
    finished = [run for run in Batch.of(told).runs.values() if run.outcome]
    days = [
        row
        for (_, name), row in tables.counters.rows()
        if name.startswith("app:") and not name.endswith((":all", ":builds"))
    ]
    counted = sum(amount for row in days for field, amount in row.items() if not field.endswith("_executions"))
    assert counted == sum(run.app_id is not None for run in finished)
    cells = [cell for _, cell in tables.cells.rows()]
    in_cells = sum(cell.passed + cell.failed + cell.infra_failed + cell.cancelled for cell in cells)
    assert in_cells == sum(run.build is not None for run in finished)


@NO_DEADLINE
@given(snapshot_lists())
def test_variants_of_a_test_are_judged_like_different_tests(told: list[Snapshot]) -> None:
    """Cells, failure groups and histories; only its runs are listed together, and it counts once for a storm."""

    def as_test(snapshot: Snapshot) -> Snapshot:
        if not isinstance(snapshot, RunSnapshot):
            return snapshot
        return replace(snapshot, test_id=snapshot.subject, variant=EMPTY_VARIANT)

    few = ProjectionRules(storm=StormRules(tests=1000))
    mixed, apart = folded([told], few), folded([[as_test(snapshot) for snapshot in told]], few)
    for name in ("cells", "groups"):
        assert dict(getattr(mixed, name).rows()) == dict(getattr(apart, name).rows())
    judged = {key: replace(history, values={}) for key, history in mixed.histories.rows()}
    begun = {key: History(history.org_id) for key, history in judged.items()}
    assert judged == begun | dict(apart.histories.rows())
