"""The report on one test: what its newest runs on an app say of it."""

from datetime import timedelta

import pytest

from services.chassis.errors import NotFound
from services.reporting.model.flaky import Classification
from services.reporting.model.variants import Variant
from tests.contract.reporting.store import StoredStory
from tests.fakes.reporting_story import APP, NOW

GERMAN, ENGLISH = (Variant(locale * 8, {"LOCALE": locale}) for locale in ("de", "en"))


@pytest.fixture
def story(story: StoredStory) -> StoredStory:
    story.app()
    return story


async def test_runs_are_the_newest_on_the_app(story: StoredStory) -> None:
    build = story.build("1.0")
    runs = [story.run("t", build, "passed", at=NOW - timedelta(hours=hour)) for hour in range(25)]
    story.run("t", build, app="another")
    story.run("other", build)
    report = await story.tests.of(APP, "t")
    assert report.runs == [run.list_item for run in runs[:20]]
    assert report.detail.startswith("Passed")


async def test_a_variant_is_judged_by_its_own_runs(story: StoredStory) -> None:
    story.test("t", "One with variants")
    for number in range(6):
        build, at = story.build(f"1.{number}", at=NOW - timedelta(days=9 - number)), NOW - timedelta(days=9 - number)
        story.run("t", build, "passed", at=at, variant=ENGLISH)
        german = story.run("t", build, "failed", at=at + timedelta(minutes=5), variant=GERMAN)
    report = await story.tests.of(APP, "t", ENGLISH.id)
    assert (report.assessment.classification, len(report.runs)) == (Classification.STABLE, 6)
    report = await story.tests.of(APP, "t", GERMAN.id)
    assert (report.assessment.classification, report.runs[0]) == (Classification.BROKEN, german.list_item)
    worst = await story.tests.of(APP, "t")
    assert (worst.assessment.classification, len(worst.runs)) == (Classification.BROKEN, 12)
    assert worst.detail.startswith("LOCALE=de: Failed 6 times in a row")
    assert (await story.tests.of(APP, "t", "")).runs == []


async def test_a_test_that_nobody_knows_has_no_report(story: StoredStory) -> None:
    story.test("new", "A new one")
    assert (await story.tests.of(APP, "new")).assessment.classification is Classification.INSUFFICIENT_DATA
    with pytest.raises(NotFound):
        await story.tests.of(APP, "unknown")
    with pytest.raises(NotFound):
        await story.tests.of("unknown", "new")
