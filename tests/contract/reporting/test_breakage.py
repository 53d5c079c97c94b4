"""Where a test broke: the last pass and the first failure since, on one branch."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.chassis.context import Caller, bind
from services.reporting.model.attempts import BuildRef
from services.reporting.model.reports.breakage import Break, Breakage, BuildVerdict, branch_scopes, build_verdict
from tests.contract.reporting.store import MongoStore, StoredCiStory
from tests.fakes.reporting_attempts import NO_DEADLINE
from tests.fakes.reporting_story import APP, NOW, ORG


@pytest.fixture
def story(store: MongoStore) -> StoredCiStory:
    return StoredCiStory(store)


def seen(story: StoredCiStory, build: BuildRef, test: str = "pay") -> BuildVerdict:
    cell = story.tables.cells.get((APP, test, build.id))
    found = build_verdict((APP, test, build.id), cell) if cell else None
    assert found
    return found


async def broke(
    story: StoredCiStory, build: BuildRef, own: str | None = "main", base: str | None = "main", *, storms: bool = False
) -> Breakage:
    """Since when "pay" fails, which it does on this build."""
    failing = seen(story, build)
    return (await story.breakages.of([failing], branch_scopes(own, base), storms=storms))[failing.key]


def between(found: Breakage) -> tuple[str | None, str]:
    """The versions of the last passing and the first failing build."""
    return found.last_passing.version if found.last_passing else None, found.first_failing.version


async def test_the_break_is_between_the_last_pass_and_the_next_failure(story: StoredCiStory) -> None:
    story.main("1", pay="failed")
    story.main("2", pay="passed")
    story.main("3", pay="failed")
    story.main("4", pay="failed")
    found = await broke(story, story.main("5", pay="failed"))
    assert between(found) == ("2", "3")
    assert found.commit_range == "c2..c3"
    assert (found.first_failing.branch, found.first_failing.commit_sha) == ("main", "c3")


async def test_a_test_that_never_passed_broke_on_its_first_build(story: StoredCiStory) -> None:
    story.main("1", other="passed")
    story.main("2", pay="failed")
    found = await broke(story, story.main("3", pay="failed"))
    assert (between(found), found.commit_range) == ((None, "2"), None)


async def test_builds_are_in_the_order_of_their_upload_not_of_their_runs(story: StoredCiStory) -> None:
    new, old = story.build("2"), story.build("1", at=NOW - timedelta(days=200))
    story.ci(new, "main", "c2", pay="failed")
    story.ci(old, "main", "c1", pay="passed")
    assert between(await broke(story, new)) == ("1", "2")


async def test_builds_of_one_moment_are_in_the_order_of_their_ids(story: StoredCiStory) -> None:
    first, second, third = (story.build(version, at=NOW) for version in ("1", "2", "3"))
    for build, ending in ((second, "failed"), (first, "passed"), (third, "failed")):
        story.ci(build, "main", pay=ending)
    assert between(await broke(story, third)) == ("1", "2")


async def test_other_branches_do_not_break_the_range(story: StoredCiStory) -> None:
    story.main("1", pay="passed")
    story.on("feature", "2", pay="failed")
    story.main("3", pay="passed")
    story.on("feature", "4", pay="passed")
    assert between(await broke(story, story.main("5", pay="failed"))) == ("3", "5")


async def test_a_branch_on_which_it_never_passed_goes_back_to_the_base_branch(story: StoredCiStory) -> None:
    story.main("1", pay="passed")
    story.on("feature", "2", pay="failed")
    story.main("3", pay="passed")
    found = await broke(story, story.on("feature", "4", pay="failed"), "feature")
    assert (between(found), found.commit_range) == (("1", "2"), "c1..c2")


async def test_what_broke_on_the_base_branch_broke_there(story: StoredCiStory) -> None:
    story.main("1", pay="passed")
    story.main("2", pay="failed")
    found = await broke(story, story.on("feature", "3", pay="failed"), "feature")
    assert (between(found), found.first_failing.branch) == (("1", "2"), "main")


async def test_only_its_own_and_the_base_branch_count(story: StoredCiStory) -> None:
    story.on("other", "1", pay="passed")
    assert between(await broke(story, story.on("feature", "2", pay="failed"), "feature")) == (None, "2")


async def test_without_branches_all_builds_count(story: StoredCiStory) -> None:
    story.on(None, "1", pay="passed")
    story.on(None, "2", pay="failed")
    found = await broke(story, story.on(None, "3", pay="failed"), None)
    assert (between(found), found.commit_range) == (("1", "2"), None)


async def test_a_run_by_hand_does_not_break_the_range_of_a_branch(story: StoredCiStory) -> None:
    story.main("1", pay="passed")
    story.on(None, "2", pay="failed")
    story.main("3", pay="failed")
    assert between(await broke(story, story.main("4", pay="failed"))) == ("1", "3")


async def test_builds_without_a_branch_count_when_there_are_no_others(story: StoredCiStory) -> None:
    story.on(None, "1", pay="passed")
    story.on(None, "2", pay="failed")
    assert between(await broke(story, story.main("3", pay="failed"))) == ("1", "2")


async def test_runs_without_a_verdict_are_left_out(story: StoredCiStory) -> None:
    story.main("1", pay="passed")
    story.main("2", pay="infra")
    story.main("3", pay="cancelled")
    assert between(await broke(story, story.main("4", pay="failed"))) == ("1", "4")


def storm(story: StoredCiStory, version: str, branch: str = "main") -> BuildRef:
    return story.on(branch, version, pay="failed", a="failed", b="failed", c="failed", d="failed")


async def test_storms_are_ignored_unless_requested(story: StoredCiStory) -> None:
    story.main("1", pay="passed")
    storm(story, "2")
    build = storm(story, "3")
    assert between(await broke(story, build)) == ("1", "3")
    assert between(await broke(story, build, storms=True)) == ("1", "2")


async def test_a_storm_counts_when_nothing_else_is_known(story: StoredCiStory) -> None:
    assert between(await broke(story, storm(story, "1"))) == (None, "1")


async def test_a_range_needs_two_commits(story: StoredCiStory) -> None:
    first, second = story.build("1"), story.build("2")
    story.ci(first, "main", "same", pay="passed")
    story.ci(second, "main", "same", pay="failed")
    assert (await broke(story, second)).commit_range is None


HISTORIES = st.lists(
    st.tuples(st.sampled_from(["main", "feature", "other", None]), st.booleans()), min_size=1, max_size=12
)


@NO_DEADLINE
@given(history=HISTORIES, base=st.sampled_from(["main", None]))
async def test_breakages_agree_with_a_scan_of_all_builds(
    store: MongoStore, history: list[tuple[str | None, bool]], base: str | None
) -> None:
    await store.clear()
    story = StoredCiStory(store)
    with bind(Caller(ORG)):
        builds = [
            story.on(branch, f"{number:02}", pay="passed" if passed else "failed")
            for number, (branch, passed) in enumerate(history)
        ]
        verdicts = [seen(story, build) for build in builds]
        for verdict in (verdict for verdict in verdicts if verdict.fails):
            found = await broke(story, BuildRef(verdict.uploaded_at, verdict.build_id), verdict.branch, base)
            expected = gone_through(verdicts, verdict, base)
            assert found.first_failing.build_id == expected.first_failing.build_id
            assert found.commit_range == expected.commit_range
            last = expected.last_passing.build_id if expected.last_passing else None
            assert (found.last_passing.build_id if found.last_passing else None) == last


def gone_through(verdicts: list[BuildVerdict], own: BuildVerdict, base: str | None) -> Break:
    """The definition of docs/gate.md: on its own branch; of what never passed there, on the wider line."""
    where = branch_scopes(own.branch, base)
    found = _on([seen for seen in verdicts if seen.branch in where.own], own)
    if found.last_passing or where.own == where.wider:
        return found
    return _on([seen for seen in verdicts if seen.branch in where.wider], found.first_failing)


def _on(line: list[BuildVerdict], own: BuildVerdict) -> Break:
    last, first = None, own
    for seen in reversed([seen for seen in line if seen.build_order <= own.build_order]):
        if not seen.fails:
            last = seen
            break
        first = seen
    return Break(first, last)
