"""What a gate of a build costs grows with its tests, not with their square."""

from collections.abc import Iterator
from datetime import UTC, datetime

from services.reporting.model.snapshots import BuildSnapshot
from services.reporting.model.tables import Cell
from services.reporting.usecases.build_gate import _TestedBuild

AT = datetime(2026, 11, 28, tzinfo=UTC)


class CountingCells(dict[str, Cell]):
    """Cells that count how often all of them were looked at."""

    rounds = 0

    def __iter__(self) -> Iterator[str]:
        self.rounds += 1
        return super().__iter__()


def test_the_tests_that_have_not_run_are_found_in_one_look_at_the_cells() -> None:
    cells = CountingCells({f"ran-{number}": Cell("org-1", AT) for number in range(20)})
    names = {test: test for test in (*cells, *(f"waits-{number}" for number in range(20)))}
    build = BuildSnapshot("build", "org-1", 1, False, "app", "1.0", AT)
    cells.rounds = 0
    assert len(_TestedBuild(build, names, cells, 0).not_run) == 20
    assert cells.rounds == 1
