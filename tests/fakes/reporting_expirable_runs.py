"""Stand-ins for what retention works on: the lists of tests in memory, and a turn that is ours or not."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from services.reporting.model.list_positions import is_day, minutes_counter
from services.reporting.model.tables import Tables
from services.reporting.ports import ListedTest, Page


class FakeExpirableRuns:
    """Goes through `tables`."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def test_after(self, test: ListedTest | None) -> ListedTest | None:
        rows = {(row.org_id, row.test_id) for _, row in self._tables.runs.rows() if not row.expired}
        later = sorted(row for row in rows if test is None or row > (test.org_id, test.test_id))
        return ListedTest(*later[0]) if later else None

    async def runs(self, test: ListedTest, page: Page) -> Sequence[str]:
        listed = [
            (row.listed_at, run_id)
            for run_id, row in self._tables.runs.rows()
            if (row.org_id, row.test_id) == (test.org_id, test.test_id) and row.listed_at
            if page.before is None or row.listed_at < page.before
        ]
        return [run_id for _, run_id in sorted(listed, reverse=True)][page.skip : page.skip + page.limit]

    async def remove_empty_days(self, org_id: str, counters: Collection[str]) -> None:
        for name in counters:
            counted = self._tables.counters.get((org_id, name)) or {}
            for day in [field for field, amount in counted.items() if is_day(field) and not amount]:
                del counted[day]
                self._tables.counters.drop((org_id, minutes_counter(name, day)))


@dataclass
class FakeLease:
    """Acquired as often as `times` says; None: always."""

    times: int | None = None
    asked: int = 0
    released: int = 0

    async def acquire(self) -> bool:
        self.asked += 1
        if self.times is None:
            return True
        self.times -= 1
        return self.times >= 0

    async def release(self) -> None:
        self.released += 1
