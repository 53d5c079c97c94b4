"""The plan of a team: its apps, tests, builds and executions, of any size. The same size is always the same plan."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from examples.large.builds import PlannedBuild, broken_place, ios_build, planned_builds, single_build
from examples.large.journeys import Journey, journeys

MINUTE = 1 / (24 * 60)
_NAMES = ("Fleet", "Parcel", "Tickets", "Loyalty", "Field service", "Pharmacy", "Meter reader", "Cash desk", "Lunch")


@dataclass(frozen=True, slots=True)
class Size:
    """How large a team is. `tests` and `builds` are those of its main app, whose last test never runs; each of the
    `pairs` of other apps has `pair_tests` more. `queue` is how many runs wait.
    """

    apps: int
    tests: int
    builds: int
    pairs: int
    pair_tests: int
    queue: int


LARGE = Size(apps=40, tests=121, builds=33, pairs=11, pair_tests=5, queue=194)
OTHER_ORGANISATION = Size(apps=6, tests=16, builds=4, pairs=1, pair_tests=2, queue=0)


@dataclass(frozen=True, slots=True)
class PlannedApp:
    name: str
    platform: str


@dataclass(frozen=True, slots=True)
class Start:
    """An execution: these tests (by their places) on these builds (app's place -> version), so many days ago.

    `workflow` is the name of the workflow; None: the tests are started by themselves. `repeat`: its failures run again.
    """

    name: str
    days_ago: float
    tests: Sequence[int]
    builds: dict[int, str]
    headers: dict[str, str]
    env: dict[str, str]
    workflow: bool = True
    repeat: bool = False


@dataclass(frozen=True, slots=True)
class Team:
    """`builds` by the place of their app, oldest first; `attached` are the places of an app's tests.

    The first two apps have one name and two platforms, the next two one name and one platform.
    """

    size: Size
    apps: Sequence[PlannedApp]
    tests: Sequence[Journey]
    builds: dict[int, list[PlannedBuild]]
    attached: dict[int, list[int]]

    @property
    def workflows(self) -> dict[str, list[int]]:
        """The tests of each workflow."""
        running = range(self.size.tests - 1)
        return {
            "Regression": list(running),
            "Smoke": [place for place in running if self.tests[place].suite in ("smoke", "transfers")],
            "Languages": [place for place in running if self.tests[place].localised],
            "Nightly, all apps": [*running, *range(self.size.tests, len(self.tests))],
        }

    def starts(self) -> Iterator[Start]:
        """All executions of the past, in their order within an app."""
        for place, build in enumerate(self.builds[0]):
            yield from self._on_build(place, build)
        for build in self.builds[1]:
            days_ago = build.days_ago - 10 * MINUTE
            yield Start("Smoke", days_ago, self.workflows["Smoke"], {1: build.version}, build.headers, {})
        yield from self._of_pairs()
        everything = self.workflows["Nightly, all apps"]
        newest = self.builds[0][-1]
        yield Start("Nightly, all apps", 0.1, everything, {}, newest.headers, {"LOCALE": "en"})

    def _on_build(self, place: int, build: PlannedBuild) -> Iterator[Start]:
        """Main and releases run everything, pull requests the smoke tests, and one whose file is broken everything."""
        days_ago, on = build.days_ago - 10 * MINUTE, {0: build.version}
        is_broken = place == broken_place(self.size.builds)
        name = "Smoke" if build.pr_number and not is_broken else "Regression"
        english = {"LOCALE": "en"}
        repeat = name == "Smoke" and place % 8 == 1
        yield Start(name, days_ago, self.workflows[name], on, build.headers, english, repeat=repeat)
        if name == "Regression" and not is_broken:
            german = {"LOCALE": "de"}
            yield Start("Languages", days_ago - 40 * MINUTE, self.workflows["Languages"], on, build.headers, german)

    def _of_pairs(self) -> Iterator[Start]:
        for first, places in self.attached.items():
            if first < 4 or first % 2:
                continue
            for age in range(2):
                build = self.builds[first][age]
                on = {app: self.builds[app][age].version for app in (first, first + 1)}
                name = f"{self.apps[first].name}, by hand"
                yield Start(name, build.days_ago - 10 * MINUTE, places, on, {}, {}, workflow=False)


def plan_team(size: Size) -> Team:
    """The team of this size."""
    tests = [*journeys(size.tests), *journeys(size.pairs * size.pair_tests, first=size.tests)]
    main = range(size.tests)
    attached = {0: list(main), 1: list(main)}
    builds = {0: planned_builds(size.builds, tests[: size.tests])}
    builds[1] = [ios_build(place, tests) for place in range(size.builds // 4)]
    for app in range(2, min(4, size.apps)):
        builds[app] = [single_build(f"twin {app}", "1.0.0", 20 + app)]
    for pair in range(size.pairs):
        own = range(size.tests + pair * size.pair_tests, size.tests + (pair + 1) * size.pair_tests)
        for app in (4 + 2 * pair, 5 + 2 * pair):
            attached[app] = list(own)
            builds[app] = [single_build(f"app {app}", version, days) for version, days in (("2.0.1", 41), ("2.1.0", 6))]
    return Team(size, [_app(place) for place in range(size.apps)], tests, builds, attached)


def _app(place: int) -> PlannedApp:
    if place < 4:
        return PlannedApp("Piggy Bank" if place < 2 else "Courier", "iOS" if place == 1 else "Android")
    turn, name = divmod((place - 4) // 2, len(_NAMES))
    region = ("", " North", " South")[turn]
    platform = ("Android", "iOS")[place % 2]
    return PlannedApp(f"{_NAMES[name]}{region} ({platform})", platform)
