"""The copies of tests in memory: a stand-in for MongoDB under the lists of tests."""

import re
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime

from services.chassis.context import current
from services.reporting.model.flaky import Classification
from services.reporting.model.snapshots import Quarantine, TestSnapshot
from services.reporting.model.tables import Tables
from services.reporting.model.text_search import fold_case
from services.reporting.ports import Page, TestFilter

NEVER = datetime.min.replace(tzinfo=UTC)


class FakeCatalogTests:
    """Looks up `tables` by going through them, for the caller's organisation."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def with_history(self, classification: Classification | None = None) -> frozenset[str]:
        return frozenset(
            test_id
            for (_, test_id), history in self._tables.histories.rows()
            if history.org_id == current().org_id and classification in (None, history.assessment.classification)
        )

    async def newest(self, filter: TestFilter, page: Page) -> Sequence[str]:
        found = sorted(self._fitting(filter), key=lambda test: (test.created_at or NEVER, test.test_id), reverse=True)
        return [test.test_id for test in found[page.skip : page.skip + page.limit]]

    async def count(self, filter: TestFilter) -> int:
        return len(self._fitting(filter))

    async def quarantines(self, test_ids: Collection[str]) -> Mapping[str, Quarantine]:
        return {test.test_id: test.quarantine for test in self._own() if test.test_id in test_ids and test.quarantine}

    def _own(self) -> list[TestSnapshot]:
        return [test for _, test in self._tables.tests.rows() if test.org_id == current().org_id]

    def _fitting(self, filter: TestFilter) -> list[TestSnapshot]:
        return [test for test in self._own() if not test.deleted and _fits(test, filter)]


def _fits(test: TestSnapshot, filter: TestFilter) -> bool:
    return (
        (filter.platform is None or test.platform in (None, filter.platform))
        and (filter.tag is None or filter.tag in test.tags)
        and (filter.pattern is None or re.search(filter.pattern, fold_case(test.name)) is not None)
        and (filter.quarantined_at is None or _until(test) > filter.quarantined_at)
        and (filter.only is None or test.test_id in filter.only)
        and test.test_id not in filter.without
    )


def _until(test: TestSnapshot) -> datetime:
    return test.quarantine.until if test.quarantine else NEVER
