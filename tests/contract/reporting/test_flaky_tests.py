"""Lists of flaky tests, with what they cost, and of the slowest tests."""

from datetime import timedelta

import pytest

from services.reporting.model.attempts import BuildRef
from services.reporting.model.reports.flaky_tests import Flakes
from services.reporting.model.variants import Variant
from services.reporting.ports import RowPage
from services.reporting.usecases.flaky_tests import FlakyTests
from tests.contract.reporting.store import StoredStory
from tests.fakes.reporting_story import APP, NOW

ALL = RowPage(0, 50)
GERMAN, ENGLISH = (Variant(locale * 8, {"LOCALE": locale}) for locale in ("de", "en"))


@pytest.fixture
def story(story: StoredStory) -> StoredStory:
    story.app()
    return story


def builds_of(story: StoredStory, count: int) -> list[BuildRef]:
    """One a day, oldest first, up to yesterday."""
    return [story.build(f"1.{number}", at=NOW - timedelta(days=count - number)) for number in range(count)]


def flake(story: StoredStory, test: str, builds: list[BuildRef], *, variant: Variant = GERMAN) -> None:
    """The test passes on each build, and fails on each second one too."""
    story.test(test, f"Name of {test}")
    for number, build in enumerate(builds):
        at = build.uploaded_at + timedelta(hours=1)
        if number % 2:
            story.run(test, build, "failed", at=at, variant=variant)
        story.run(test, build, "passed", at=at + timedelta(hours=1), variant=variant)


async def test_a_flaky_test_is_listed_with_its_cost_and_since_when(story: StoredStory) -> None:
    builds = builds_of(story, 4)
    flake(story, "t", builds)
    story.test("steady", "Steady")
    story.run("steady", builds[0])
    flaky = await story.flaky.list(ALL)
    (test,) = flaky.tests
    assert (test.app_id, test.test_id, test.test_name, flaky.total) == (APP, "t", "Name of t", 1)
    assert test.wasted_seconds == 2 * 60.0  # both failures are on builds on which it passed, too
    assert test.flakes == Flakes(builds[1].uploaded_at + timedelta(minutes=59), newest=2, former=None)
    assert test.newest_verdicts == [True, False, True, True, False, True]
    assert test.detail.startswith("Passed and failed on the same code in 2 of 4 builds")


async def test_the_flakiest_comes_first_and_pages_and_apps_divide_the_list(story: StoredStory) -> None:
    builds = builds_of(story, 12)
    flake(story, "often", builds[-4:])
    flake(story, "seldom", builds[:2])
    for build in builds[2:]:
        story.run("seldom", build, at=build.uploaded_at + timedelta(hours=1), variant=GERMAN)
    first, second = [await story.flaky.list(RowPage(skip, 1)) for skip in (0, 1)]
    assert [[test.test_id for test in page.tests] for page in (first, second)] == [["often"], ["seldom"]]
    assert (first.total, first.listed_all, (await story.flaky.list(ALL, app_id="another")).total) == (2, True, 0)
    limited = await FlakyTests(story.sources, most=1).list(ALL)
    assert ([test.test_id for test in limited.tests], limited.listed_all) == (["often"], False)
    story.test("often", "Often", deleted=True)
    assert [test.test_id for test in (await story.flaky.list(ALL, APP)).tests] == ["seldom"]


async def test_a_flaky_variant_is_named_and_the_flakes_before_are_counted(story: StoredStory) -> None:
    builds = builds_of(story, 30)
    flake(story, "t", builds)
    for build in builds[-9:]:
        story.run("t", build, at=NOW, variant=GERMAN)
    story.run("t", builds[0], variant=ENGLISH)
    (test,) = (await story.flaky.list(ALL)).tests
    assert (test.label, test.flakes.newest, test.flakes.former) == ("LOCALE=de", 4, 6)


async def test_the_slowest_test_comes_first_by_its_passing_runs(story: StoredStory) -> None:
    old, new = builds_of(story, 2)
    for test in ("slow", "quick", "gone", "broken"):
        story.test(test, f"Name of {test}", deleted=test == "gone")
    story.run("slow", old, seconds=30.0)
    story.run("slow", new, seconds=90.0)
    story.run("slow", new, seconds=110.0, variant=GERMAN)
    story.run("slow", new, "failed", seconds=500.0)
    story.run("quick", new, seconds=2.5)
    story.run("gone", new, seconds=700.0)
    story.run("broken", new, "failed", seconds=700.0)
    page = await story.durations.of_app(APP, ALL, builds=10)
    slow, quick = page.tests
    assert (slow.test_name, slow.seconds, slow.former_seconds) == ("Name of slow", 100.0, 30.0)
    assert [(each.build.version, each.seconds, each.runs) for each in slow.builds] == [
        ("1.1", 100.0, 2),
        ("1.0", 30.0, 1),
    ]
    assert (quick.test_id, quick.seconds, quick.former_seconds, page.total) == ("quick", 2.5, None, 2)
    assert [test.test_id for test in (await story.durations.of_app(APP, RowPage(1, 1), builds=10)).tests] == ["quick"]
