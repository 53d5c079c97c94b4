"""Copies of the catalog's apps, builds, tests and attachments: the newest revision of each."""

from collections.abc import Mapping
from typing import TypeVar

from services.reporting.model import counters
from services.reporting.model.batch import Batch, Revisioned
from services.reporting.model.list_positions import day_of
from services.reporting.model.snapshots import BuildSnapshot
from services.reporting.model.tables import Table, Tables

K = TypeVar("K")
S = TypeVar("S", bound=Revisioned)


def copy_catalog(tables: Tables, batch: Batch) -> None:
    """Store what is newer than the stored copy, and count the builds that are not deleted."""
    _count_builds(tables, batch.builds)
    _copy(tables.apps, batch.apps)
    _copy(tables.builds, batch.builds)
    _copy(tables.tests, batch.tests)
    _copy(tables.attachments, batch.attachments)


def _copy(table: Table[K, S], snapshots: Mapping[K, S]) -> None:
    for key, snapshot in snapshots.items():
        stored = table.get(key)
        if stored is None or snapshot.revision > stored.revision:
            table.put(key, snapshot)


def _count_builds(tables: Tables, builds: Mapping[str, BuildSnapshot]) -> None:
    for build_id, build in builds.items():
        stored = tables.builds.get(build_id)
        if stored is not None and stored.revision >= build.revision:
            continue
        if stored is not None:
            _count_build(tables, stored, -1)
        _count_build(tables, build, 1)


def _count_build(tables: Tables, build: BuildSnapshot, amount: int) -> None:
    if not build.deleted:
        counters.add(tables.counters, build.org_id, counters.app_all(build.app_id), {"builds": amount})
        day = {day_of(build.uploaded_at): amount}
        counters.add(tables.counters, build.org_id, counters.app_builds(build.app_id), day)
