"""How long tests take: the mean of their passing runs, build by build. A failing run ends early, or at a time limit."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from services.reporting.model.snapshots import BuildSnapshot
from services.reporting.model.tables import Cell


@dataclass(frozen=True, slots=True)
class BuildDuration:
    """The mean time of a test's passing runs on a build in seconds, of so many runs."""

    build: BuildSnapshot
    seconds: float
    runs: int


@dataclass(frozen=True, slots=True)
class TestDuration:
    """A test and how long it takes on the builds on which it passed, newest first (at least one)."""

    __test__ = False

    test_id: str
    test_name: str
    builds: Sequence[BuildDuration]

    @property
    def seconds(self) -> float:
        """On the newest of the builds."""
        return self.builds[0].seconds

    @property
    def former_seconds(self) -> float | None:
        """The mean on the builds before that; None if there are none."""
        former = self.builds[1:]
        return sum(each.seconds * each.runs for each in former) / sum(each.runs for each in former) if former else None


class DurationSums:
    """Adds up the durations of one test on some builds; all its variants count."""

    def __init__(self) -> None:
        self._by_build: dict[str, tuple[int, int]] = {}

    def add(self, build_id: str, cell: Cell) -> None:
        """The runs of one variant on a build."""
        if cell.passed and cell.passed_ms:
            took, runs = self._by_build.get(build_id, (0, 0))
            self._by_build[build_id] = (took + cell.passed_ms, runs + cell.passed)

    def on(self, builds: Iterable[BuildSnapshot]) -> Sequence[BuildDuration]:
        """In the order of the builds, without those on which it never passed."""
        sums = ((build, self._by_build[build.build_id]) for build in builds if build.build_id in self._by_build)
        return [BuildDuration(build, took / 1000 / runs, runs) for build, (took, runs) in sums]


def slowest_first(test: TestDuration) -> tuple[float, str, str]:
    """What tests are sorted by."""
    return (-test.seconds, test.test_name.casefold(), test.test_id)
