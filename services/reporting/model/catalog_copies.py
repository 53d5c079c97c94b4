"""Copies of what the catalog has, kept by revision."""

from collections.abc import Mapping
from typing import Protocol, TypeVar

from services.reporting.model import counters
from services.reporting.model.batch import Batch
from services.reporting.model.list_positions import day_of
from services.reporting.model.snapshots import BuildSnapshot
from services.reporting.model.tables import Table, Tables


class Revised(Protocol):
    """Something that has a revision."""

    @property
    def revision(self) -> int: ...


K = TypeVar("K")
S = TypeVar("S", bound=Revised)


def copy_catalog(tables: Tables, batch: Batch) -> None:
    """Keep the newer of what is known and what the batch tells, and count the builds that there are."""
    _count_builds(tables, batch.builds)
    _copy(tables.apps, batch.apps)
    _copy(tables.builds, batch.builds)
    _copy(tables.tests, batch.tests)
    _copy(tables.attachments, batch.attachments)


def _copy(known: Table[K, S], told: Mapping[K, S]) -> None:
    for key, snapshot in told.items():
        present = known.get(key)
        if present is None or snapshot.revision > present.revision:
            known.put(key, snapshot)


def _count_builds(tables: Tables, told: Mapping[str, BuildSnapshot]) -> None:
    for build_id, build in told.items():
        known = tables.builds.get(build_id)
        if known is not None and known.revision >= build.revision:
            continue
        if known is not None:
            _count_build(tables, known, -1)
        _count_build(tables, build, 1)


def _count_build(tables: Tables, build: BuildSnapshot, amount: int) -> None:
    if not build.deleted:
        counters.add(tables.counters, build.org_id, counters.app_all(build.app_id), {"builds": amount})
        day = {day_of(build.uploaded_at): amount}
        counters.add(tables.counters, build.org_id, counters.app_builds(build.app_id), day)
