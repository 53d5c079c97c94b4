"""Two builds, test by test."""

from datetime import timedelta

import pytest

from services.chassis.errors import InvalidArgument, NotFound, Unavailable
from services.reporting.model.reports.compare import ComparedTest
from services.reporting.model.reports.coverage import LastStatus
from services.reporting.model.snapshots import AppSnapshot, BuildSnapshot
from tests.contract.reporting.store import MongoStore, StoredCiStory
from tests.fakes.reporting_story import APP, NOW, ORG


@pytest.fixture
def story(store: MongoStore) -> StoredCiStory:
    return StoredCiStory(store)


def names(tests: list[ComparedTest]) -> list[str]:
    return [test.test_id for test in tests]


async def test_each_test_is_in_one_list_or_only_counted(story: StoredCiStory) -> None:
    story.main("1", broke="passed", still="failed", fixed="failed", fine="passed", gone="passed")
    build = story.main("2", broke="failed", still="failed", fixed="passed", fine="passed", new="passed", bad="failed")
    story.attach("waits")
    comparison = await story.comparisons.compare(build.id)
    assert (comparison.base.version, comparison.build.version) == ("1", "2")
    assert names(comparison.newly_failing) == ["broke"]
    assert names(comparison.not_run_before) == ["bad"]
    assert names(comparison.still_failing) == ["still"]
    assert names(comparison.fixed) == ["fixed"]
    assert names(comparison.not_run) == ["waits", "gone"]  # by name: "Name of waits", "Old name of gone"
    assert (comparison.flaky, comparison.passing, comparison.total) == ([], 2, 8)


async def test_a_failure_without_a_verdict_on_the_base_is_new_only_if_the_test_passed_before(
    story: StoredCiStory,
) -> None:
    story.main("1", passed="passed", failed="failed", by_hand="failed")
    story.on(None, "2", by_hand="passed", unknown="passed")
    story.main("3", other="passed")
    broken = dict.fromkeys(("passed", "failed", "by_hand", "unknown"), "failed")
    comparison = await story.comparisons.compare(story.main("4", other="passed", **broken).id)
    assert comparison.base.version == "3"
    assert names(comparison.newly_failing) == ["passed"]
    assert names(comparison.never_passed) == ["by_hand", "failed"]
    assert names(comparison.not_run_before) == ["unknown"]
    assert (comparison.passing, comparison.total) == (1, 5)


async def test_a_row_has_both_verdicts_the_failure_and_its_breakage(story: StoredCiStory) -> None:
    story.main("1", pay="passed")
    story.main("2", pay="failed")
    build = story.main("3", pay="failed")
    (row,) = (await story.comparisons.compare(build.id)).still_failing
    assert (row.status, row.base_status) == (LastStatus.FAILED, LastStatus.FAILED)
    assert row.failure is not None
    assert (row.test_name, row.failure.reason, row.execution_id) == ("Old name of pay", "went wrong", "ci-0003")
    assert row.breakage
    assert row.breakage.commit_range == "c1..c2"


async def test_a_fixed_test_has_the_breakage_of_its_failure(story: StoredCiStory) -> None:
    story.main("1", pay="passed", go="passed")
    story.main("2", pay="failed", go="failed")
    story.main("3", pay="failed", go="failed")
    comparison = await story.comparisons.compare(story.main("4", pay="passed", go="infra").id)
    (fixed,), (not_run,) = comparison.fixed, comparison.not_run
    assert (fixed.failure, fixed.base_status) == (None, LastStatus.FAILED)
    assert [row.breakage.commit_range for row in (fixed, not_run) if row.breakage] == ["c1..c2"] * 2


async def test_a_test_that_fails_on_neither_has_no_breakage(story: StoredCiStory) -> None:
    story.main("1", pay="passed")
    (row,) = (await story.comparisons.compare(story.main("2", pay="infra").id)).not_run
    assert (row.failure, row.breakage) == (None, None)


async def test_the_newest_verdict_on_each_build_counts(story: StoredCiStory) -> None:
    base, build = story.build("1"), story.build("2")
    for ending in ("failed", "passed", "infra"):
        story.ci(base, "main", pay=ending)
    for ending in ("passed", "failed", "cancelled"):
        story.ci(build, "main", pay=ending)
    (row,) = (await story.comparisons.compare(build.id)).flaky
    assert (row.base_status, row.status) == (LastStatus.PASSED, LastStatus.FAILED)


async def test_flaky_tests_that_fail_on_one_build_are_listed_as_flaky(story: StoredCiStory) -> None:
    base, build = story.build("1"), story.build("2")
    for ending in ("passed", "failed", "passed", "failed", "passed"):
        story.ci(base, "main", flips=ending, both=ending, fixed=ending)
    story.ci(base, "main", both="failed", fixed="failed", flips="passed")
    story.ci(build, "main", flips="failed", both="failed", fixed="passed")
    comparison = await story.comparisons.compare(build.id)
    assert (names(comparison.flaky), names(comparison.still_failing)) == (["fixed", "flips"], ["both"])
    assert (comparison.newly_failing, comparison.fixed) == ([], [])


async def test_deleted_tests_are_left_out_and_current_names_are_shown(story: StoredCiStory) -> None:
    story.main("1", pay="passed", gone="passed")
    build = story.main("2", pay="failed", gone="failed")
    story.test("gone", "Gone", deleted=True)
    story.test("pay", "Pay by card")
    comparison = await story.comparisons.compare(build.id)
    assert ([row.test_name for row in comparison.newly_failing], comparison.total) == (["Pay by card"], 1)


async def test_quarantine_shows_while_it_lasts(story: StoredCiStory) -> None:
    story.main("1", pay="passed", search="passed")
    build = story.main("2", pay="failed", search="failed")
    story.quarantine("pay", NOW + timedelta(days=1))
    story.quarantine("search", NOW - timedelta(seconds=1))
    rows = {row.test_id: row.quarantine for row in (await story.comparisons.compare(build.id)).newly_failing}
    assert {test: row.reason if row else None for test, row in rows.items()} == {
        "pay": "Waits for the fix",
        "search": None,
    }


async def test_a_build_compared_with_itself_has_nothing_new(story: StoredCiStory) -> None:
    build = story.main("1", pay="failed", search="passed")
    comparison = await story.comparisons.compare(build.id, build.id)
    assert (comparison.newly_failing, names(comparison.still_failing), comparison.passing) == ([], ["pay"], 1)


async def test_builds_have_the_source_revision_that_ci_named_last(story: StoredCiStory) -> None:
    base, build = story.build("1"), story.build("2")
    story.ci(base, pay="passed")
    story.ci(build, "main", "c2", pay="passed")
    story.ci(build, pay="passed")
    comparison = await story.comparisons.compare(build.id, base.id)
    assert (comparison.build.branch, comparison.build.commit_sha) == ("main", "c2")
    assert (comparison.base.branch, comparison.base.commit_sha) == (None, None)


async def test_builds_keep_the_repository_after_a_run_by_hand(story: StoredCiStory) -> None:
    story.repository = "https://github.com/team/app"
    base, build = story.main("1", pay="passed"), story.main("2", pay="failed")
    story.repository = None
    story.ci(build, "main", "c2", pay="failed")
    story.ci(build, pay="failed")
    comparison = await story.comparisons.compare(build.id, base.id)
    repositories = (comparison.build.repository, comparison.base.repository)
    assert repositories == ("https://github.com/team/app",) * 2


async def test_a_run_by_hand_takes_no_commit_from_a_breakage(story: StoredCiStory) -> None:
    story.main("1", pay="passed")
    build = story.main("2", pay="failed")
    story.ci(build, pay="failed")
    (broken,) = (await story.comparisons.compare(build.id)).newly_failing
    assert broken.breakage
    assert broken.breakage.commit_range == "c1..c2"


async def test_a_run_that_names_a_commit_only_takes_no_build_from_its_branch(story: StoredCiStory) -> None:
    base, build = story.build("1"), story.build("2")
    story.ci(base, None, "c0", pay="passed")
    story.ci(base, None, "c1", pay="passed")
    story.ci(build, "main", "c2", pay="passed")
    story.ci(build, None, "c2 once more", pay="passed")
    comparison = await story.comparisons.compare(build.id, base.id)
    assert (comparison.build.branch, comparison.build.commit_sha) == ("main", "c2")
    assert (comparison.base.branch, comparison.base.commit_sha) == (None, "c1")


class TestTheBaseThatIsNotNamed:
    @pytest.mark.parametrize(
        ("history", "base"),
        [
            ("main passed, main passed, feature passed, main here, main passed", "2"),
            ("main passed, main infra, new, main here", "1"),
            ("main passed, main passed, feature here", "2"),
            ("main passed, - passed, other passed, feature here", "1"),
            ("main passed, new, - passed, - here", "1"),
            ("main passed + - passed, - here", "1"),
        ],
        ids=[
            "before on the same branch",
            "with a verdict",
            "for the first of a branch",
            "of the base branch",
            "for one of an unknown branch",
            "of the base branch, whatever else ran on it",
        ],
    )
    async def test_is_the_newest_build(self, story: StoredCiStory, history: str, base: str) -> None:
        build, _ = story.history(history)
        assert (await story.comparisons.compare(build.id)).base.version == base

    async def test_is_found_for_a_build_that_has_not_been_run(self, story: StoredCiStory) -> None:
        story.main("1", pay="passed")
        story.attach("pay")
        comparison = await story.comparisons.compare(story.main("2").id)
        assert (comparison.base.version, names(comparison.not_run)) == ("1", ["pay"])

    async def test_is_the_newest_of_its_branch_that_is_not_deleted(self, story: StoredCiStory) -> None:
        story.main("1", search="passed")
        story.main("2", pay="passed")
        for version in ("3", "4"):
            gone = story.main(version, pay="passed")
            story.build(version, at=gone.uploaded_at, deleted=True)
        story.on("feature", "5", pay="passed")
        build = story.main("6", pay="failed", search="failed")
        assert (await story.comparisons.compare(build.id)).base.version == "2"

    @pytest.mark.parametrize("history", ["- passed, - here", "other passed, feature here", "main failed, - here"])
    async def test_is_never_a_guess(self, story: StoredCiStory, history: str) -> None:
        build, _ = story.history(history)
        with pytest.raises(NotFound, match="of the same branch, or of develop, has a verdict; name one with base"):
            await story.comparisons.compare(build.id, base_branch="develop")

    async def test_of_a_build_that_has_not_been_run_is_one_of_the_base_branch(self, story: StoredCiStory) -> None:
        story.main("1", pay="passed")
        story.on("feature", "2", pay="passed")
        assert (await story.comparisons.compare(story.build("3").id)).base.version == "1"

    async def test_is_missing_when_nothing_was_run_before(self, story: StoredCiStory) -> None:
        story.main("1")
        with pytest.raises(NotFound, match="name one with base"):
            await story.comparisons.compare(story.main("2", pay="failed").id)


async def test_unknown_and_deleted_builds_are_not_found(story: StoredCiStory) -> None:
    build = story.main("1", pay="passed")
    gone = story.build("2", deleted=True)
    for pair in (("unknown", build.id), (build.id, "unknown"), (gone.id, build.id), (build.id, gone.id)):
        with pytest.raises(NotFound, match=r"^Build not found$"):
            await story.comparisons.compare(*pair)


async def test_a_base_of_another_app_is_refused(story: StoredCiStory) -> None:
    build = story.main("1", pay="passed")
    story.tell(BuildSnapshot("elsewhere", ORG, 1, False, "app-2", "1", NOW))
    with pytest.raises(InvalidArgument, match="another app") as caught:
        await story.comparisons.compare(build.id, "elsewhere")
    assert [violation.field for violation in caught.value.violations] == ["base"]


async def test_it_waits_a_bounded_time_for_the_revision_of_the_app(story: StoredCiStory) -> None:
    story.main("1", pay="passed")
    build = story.main("2", pay="failed")
    story.tell(AppSnapshot(APP, ORG, 3, False, "Shop", None))
    for revision in (3, 4):
        assert names((await story.comparisons.compare(build.id, None, revision)).newly_failing) == ["pay"]


async def test_a_build_that_reporting_does_not_know_yet_is_unavailable(story: StoredCiStory) -> None:
    story.tell(AppSnapshot(APP, ORG, 3, False, "Shop", None))
    build = story.main("1", pay="passed")
    for pair in (("just uploaded", None), (build.id, "just uploaded")):
        with pytest.raises(Unavailable, match="not heard of this build") as caught:
            await story.comparisons.compare(*pair, 4)
        assert caught.value.retry_after
