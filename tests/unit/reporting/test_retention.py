"""Runs that expire leave the lists; every figure stays, and whatever is told of them afterwards changes nothing."""

from copy import deepcopy
from dataclasses import fields, replace
from datetime import timedelta
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from services.reporting.model.batch import Batch, Snapshot
from services.reporting.model.list_positions import RetentionLimits, expire_runs
from services.reporting.model.projection import fold
from services.reporting.model.snapshots import RunSnapshot
from services.reporting.model.tables import Tables
from tests.fakes.reporting_attempts import NO_DEADLINE
from tests.fakes.reporting_recount import recount
from tests.fakes.reporting_story import NOW, Story
from tests.fakes.reporting_strategies import snapshot_lists


def published(tables: Tables) -> dict[str, object]:
    """Everything that reports read but the lists of runs."""
    tables_by_name: dict[str, object] = {
        field.name: dict(getattr(tables, field.name).rows()) for field in fields(tables) if field.name != "runs"
    }
    return tables_by_name | {"counters": {key: _figures(key[1], row) for key, row in tables.counters.rows()}}


def _figures(name: str, row: dict[str, int]) -> dict[str, int]:
    """What is counted but for the places in lists."""
    if name.startswith("app:"):
        return dict(row)
    return {field: amount for field, amount in row.items() if field[0].isalpha() and field != "listed"}


def chosen(tables: Tables, random: Random) -> list[str]:
    return [run_id for run_id, _ in sorted(tables.runs.rows()) if random.random() < 0.5]


@NO_DEADLINE
@given(told=snapshot_lists(), random=st.randoms(use_true_random=False))
def test_expiry_changes_no_figure(told: list[Snapshot], random: Random) -> None:
    tables = recount(told)
    before = deepcopy(published(tables))
    expire_runs(tables, chosen(tables, random))
    assert published(tables) == before


@NO_DEADLINE
@given(told=snapshot_lists(), random=st.randoms(use_true_random=False))
def test_list_positions_are_those_of_the_listed_runs(told: list[Snapshot], random: Random) -> None:
    tables = recount(told)
    expire_runs(tables, chosen(tables, random))
    listed = {run_id for run_id, row in tables.runs.rows() if not row.expired}
    fresh = recount([one for one in told if isinstance(one, RunSnapshot) and one.run_id in listed])
    assert placed(tables) == placed(fresh)


def placed(tables: Tables) -> dict[object, dict[str, int]]:
    """The counts of places, without zeros."""
    rows = {
        key: {field: amount for field, amount in row.items() if amount and (field == "listed" or field[0].isdigit())}
        for key, row in tables.counters.rows()
        if not key[1].startswith("app:")
    }
    return {key: row for key, row in rows.items() if row}


@NO_DEADLINE
@given(told=snapshot_lists(), random=st.randoms(use_true_random=False))
def test_late_events_of_expired_runs_change_nothing(told: list[Snapshot], random: Random) -> None:
    tables = recount(told)
    expire_runs(tables, chosen(tables, random))
    gone = {run_id for run_id, row in tables.runs.rows() if row.expired}
    before = deepcopy({field.name: dict(getattr(tables, field.name).rows()) for field in fields(tables)})
    again = [one for one in told if isinstance(one, RunSnapshot) and one.run_id in gone]
    later = [replace(one, revision=one.revision + 9, list_item=b"later") for one in again]
    random.shuffle(later)
    fold(tables, Batch.of([*again, *later]))
    fold(tables, Batch.of(again))
    assert {field.name: dict(getattr(tables, field.name).rows()) for field in fields(tables)} == before


@NO_DEADLINE
@given(told=snapshot_lists(), random=st.randoms(use_true_random=False))
def test_later_runs_count_as_if_nothing_had_expired(told: list[Snapshot], random: Random) -> None:
    half = len(told) // 2
    tables = recount(told[:half])
    gone = chosen(tables, random)
    expire_runs(tables, gone)
    fold(tables, Batch.of(told[half:]))
    expected = recount(told)
    assert contents_without_zeros(published(tables)) == contents_without_zeros(published(expected))


def contents_without_zeros(tables_by_name: dict[str, object]) -> dict[str, object]:
    counted = tables_by_name["counters"]
    assert isinstance(counted, dict)
    rows = {key: {name: n for name, n in row.items() if n} for key, row in counted.items()}
    return tables_by_name | {"counters": {key: row for key, row in rows.items() if row}}


async def test_an_active_run_never_expires(story: Story) -> None:
    story.run("t", story.build("1.0"), "running", at=NOW - timedelta(days=900), run_id="stuck")
    assert expire_runs(story.tables, ["stuck"]) == 0


def test_without_limits_nothing_expires() -> None:
    assert not RetentionLimits()
    assert RetentionLimits(per_test=5)
    assert RetentionLimits(age=timedelta(days=1))
