"""Tests that run in several variants: each is judged on its own, and the worst decides what reports show of a test."""

from datetime import timedelta

import pytest

from services.reporting.messages import matrix_message
from services.reporting.model.attempts import BuildRef
from services.reporting.model.flaky import Classification
from services.reporting.model.reports.gate import GateCounts, GateResult, GateRule
from services.reporting.model.reports.matrix import MatrixRow
from services.reporting.model.snapshots import Failure
from services.reporting.model.variants import Variant
from services.reporting.ports import RowPage
from services.reporting.usecases.classified_tests import ClassifiedQuery
from tests.contract.reporting.store import MongoStore, StoredCiStory, StoredStory
from tests.fakes.reporting_story import APP, NOW

STEADY = Variant("5", {"LOCALE": "en", "WANT": "Steady"})
NEVERLAND = Variant("6", {"LOCALE": "en", "WANT": "Neverland"})
FIRST = RowPage(0, 10)


@pytest.fixture
def story(story: StoredStory) -> StoredStory:
    story.app()
    story.attach("t")
    return story


def builds(story: StoredStory, count: int) -> list[BuildRef]:
    """One variant passes on each of them, then the other fails."""
    made = [story.build(f"1.{number}") for number in range(count)]
    for number, build in enumerate(made):
        at = NOW - timedelta(hours=100 - number)
        story.run("t", build, "passed", at=at, variant=STEADY)
        story.run("t", build, "failed", at=at + timedelta(minutes=9), variant=NEVERLAND, failure=failure("gone"))
    return made


def failure(text: str) -> Failure:
    return Failure("assertion_failed", text)


async def row_of(story: StoredStory) -> MatrixRow:
    (row,) = (await story.apps.matrix(APP, FIRST)).rows
    return row


async def test_a_variant_that_always_fails_is_broken_and_not_flaky(story: StoredStory) -> None:
    builds(story, 3)
    row = await row_of(story)
    assert (row.classification, row.flaky_score) == (Classification.BROKEN, 0.0)
    assert row.classification_detail.startswith("WANT=Neverland: Failed 3 times in a row since build 1.0")


async def test_with_little_known_of_all_variants_the_one_that_fails_is_shown(story: StoredStory) -> None:
    builds(story, 1)
    row = await row_of(story)
    assert row.classification_detail == "WANT=Neverland: 1 attempt with a verdict so far, of the 3 needed."


async def test_a_new_variant_hides_nothing_that_is_known(story: StoredStory) -> None:
    for hour in range(4):
        story.run("t", story.build("1.0"), "passed", at=NOW - timedelta(hours=9 - hour))
    story.run("t", story.build("1.1"), "passed", variant=STEADY)
    row = await row_of(story)
    assert (row.classification, row.classification_detail[:20]) == (Classification.STABLE, "no LOCALE, no WANT: ")


async def test_a_cell_counts_all_runs_and_says_which_variant_failed(story: StoredStory) -> None:
    (build,) = builds(story, 1)
    story.run("t", build, "infra", variant=STEADY, failure=Failure("network_error", "offline"))
    message = (await matrix_message(APP, await story.apps.matrix(APP, FIRST), 1, 10)).tests[0].cells[0]
    counts = (message.total_runs, message.passed_runs, message.failed_runs, message.infra_failed_runs)
    assert counts == (3, 1, 1, 1)
    assert message.top_failure_reason == "gone"
    assert [(group.variant, group.reason) for group in message.failure_details] == [
        ("WANT=Neverland", "gone"),
        ("WANT=Steady", "offline"),
    ]
    assert [(each.variant, each.success) for each in message.variants] == [
        ("WANT=Neverland", False),
        ("WANT=Steady", True),
    ]


async def test_a_test_in_a_single_variant_looks_as_without(story: StoredStory) -> None:
    story.run("t", story.build("1.0"), "failed", variant=NEVERLAND)
    matrix = await story.apps.matrix(APP, FIRST)
    cell = (await matrix_message(APP, matrix, 1, 10)).tests[0].cells[0]
    assert (len(cell.variants), cell.failure_details[0].HasField("variant")) == (0, False)
    assert matrix.rows[0].classification_detail == "1 attempt with a verdict so far, of the 3 needed."


async def test_coverage_and_health_are_those_of_the_worst_variant(story: StoredStory) -> None:
    (build,) = builds(story, 1)
    (item,) = (await story.apps.coverage(APP)).items
    assert (item.state.status, item.observed) == ("failed", build)
    (health,) = (await story.apps.workspace(APP, 7)).build_health
    assert (health.observed_tests, health.passed_tests, health.failed_tests, health.coverage_rate) == (1, 0, 1, 1.0)


async def test_coverage_includes_a_variant_whose_first_run_is_in_progress(story: StoredStory) -> None:
    story.run("t", story.build("1.0"), "running", variant=STEADY)
    (item,) = (await story.apps.coverage(APP)).items
    assert item.state.status == "running"


@pytest.mark.parametrize("app_id", [None, APP])
async def test_tests_are_listed_by_their_worst_variant(story: StoredStory, app_id: str | None) -> None:
    builds(story, 3)
    story.test("t", "T")
    listed = {
        each: list((await story.classified.list(ClassifiedQuery(each, app_id), FIRST)).test_ids)
        for each in Classification
    }
    assert {each: tests for each, tests in listed.items() if tests} == {Classification.BROKEN: ["t"]}


async def test_variants_are_found_of_any_number_of_tests(story: StoredStory) -> None:
    """Of many by their app, of few by name, and not those of other apps."""
    builds(story, 1)
    story.run("t", None, app="other", variant=Variant("7", {"WANT": "other"}))
    story.run("u", story.build("1.9"), variant=STEADY)
    await story.fold()
    for ids in (["t"], ["t", *map(str, range(300))]):
        known = await story.store.read_models.variants(APP, ids)
        assert sorted(known.subjects("t")) == ["t@5", "t@6"]
        assert list(known.subjects("u")) == ["u"]
    assert (known.label("t@6"), known.label("u@5")) == ("WANT=Neverland", "")


@pytest.fixture
def ci(store: MongoStore) -> StoredCiStory:
    story = StoredCiStory(store)
    story.app()
    story.attach("t")
    return story


async def test_a_variant_that_stays_broken_blocks_on_each_build(ci: StoredCiStory) -> None:
    """Passes of the other variant make it neither flaky nor newly broken."""
    for version in ("1", "2", "3"):
        build = ci.build(version)
        passed = ci.ci(build, variant=STEADY, t="passed")
        failed = ci.ci(build, variant=NEVERLAND, t="failed")
        assert (await ci.gate(passed)).result is GateResult.PASS
        gate = await ci.gate(failed)
        assert (gate.result, [reason.rule for reason in gate.reasons]) == (GateResult.BLOCK, [GateRule.NOT_RUN_BEFORE])
        assert gate.reasons[0].detail.startswith("WANT=Neverland: Fails here, and no run")
        assert gate.reasons[0].variant == "WANT=Neverland"


async def test_a_failure_is_known_and_breaks_within_its_variant(ci: StoredCiStory) -> None:
    """On main one variant is broken; a pull request breaks the other one."""
    first, second = ci.build("1"), ci.build("2")
    ci.ci(first, "main", "c1", variant=STEADY, t="passed")
    ci.ci(first, "main", "c1", variant=NEVERLAND, t="failed")
    broken = ci.ci(second, "fix", "c2", variant=STEADY, t="failed")
    known = ci.ci(second, "fix", "c2", variant=NEVERLAND, t="failed")
    (newly,), (still,) = (await ci.gate(broken)).reasons, (await ci.gate(known)).reasons
    assert (newly.rule, still.rule) == (GateRule.NEWLY_BROKEN, GateRule.KNOWN_ON_BASE)
    assert newly.breakage is not None
    assert newly.breakage.commit_range == "c1..c2"
    assert still.breakage is not None
    assert still.breakage.last_passing is None


async def test_the_gate_of_a_build_judges_each_variant(ci: StoredCiStory) -> None:
    build = ci.build("1")
    ci.ci(build, "main", "c1", variant=NEVERLAND, t="failed")
    ci.ci(build, "main", "c1", variant=STEADY, t="passed")
    gate = await ci.build_gates.of(build.id, "main")
    assert (gate.result, gate.counts, gate.not_run) == (GateResult.BLOCK, GateCounts(1, 0, 0), [])
    assert [reason.variant for reason in gate.reasons] == ["WANT=Neverland"]
    assert gate.covers == "Covers 1 of 1 attached test, by the newest verdict of each on build 1."
    ci.ci(build, "main", "c1", variant=NEVERLAND, t="passed")
    gate = await ci.build_gates.of(build.id, "main")
    assert (gate.result, gate.counts) == (GateResult.PASS, GateCounts(1, 1, 0))


async def test_a_comparison_shows_the_worst_variant(ci: StoredCiStory) -> None:
    base, build = ci.build("1"), ci.build("2")
    ci.ci(base, "main", "c1", variant=NEVERLAND, t="failed")
    ci.ci(base, "main", "c1", variant=STEADY, t="passed")
    ci.ci(build, "main", "c2", variant=NEVERLAND, t="passed")
    fixed = await ci.comparisons.compare(build.id, base.id)
    assert [(row.test_id, row.variant) for row in fixed.fixed] == [("t", "WANT=Neverland")]
    ci.ci(build, "main", "c2", variant=STEADY, t="failed")
    comparison = await ci.comparisons.compare(build.id, base.id)
    (row,) = comparison.newly_failing
    assert (row.test_id, row.variant, row.status, row.base_status) == ("t", "WANT=Steady", "failed", "passed")
    assert (comparison.total, len(comparison.fixed)) == (1, 0)


async def test_a_build_without_a_base_in_its_variants_is_compared_with_other_variants(ci: StoredCiStory) -> None:
    """A value that is new with each build leaves no build of the same variant."""
    first, second, other, third = (ci.build(version) for version in "1234")
    ci.ci(first, "main", "c1", t="passed")
    ci.ci(second, "main", "c2", variant=Variant("2", {"BUILD": "2"}), t="passed")
    ci.ci(other, "main", "c3", u="passed")
    ci.ci(third, "main", "c4", variant=Variant("3", {"BUILD": "3"}), t="failed")
    comparison = await ci.comparisons.compare(third.id)
    assert comparison.base.version == "2"
    assert [(row.test_id, row.variant) for row in comparison.not_run_before] == [("t", "BUILD=3")]
    ci.ci(first, "main", "c1", variant=Variant("3", {"BUILD": "3"}), t="passed")
    assert (await ci.comparisons.compare(third.id)).base.version == "1"
