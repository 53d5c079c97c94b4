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
    verdict = build_verdict((APP, test, build.id), cell) if cell else None
    assert verdict
    return verdict


async def broke(
    story: StoredCiStory, build: BuildRef, own: str | None = "main", base: str | None = "main", *, storms: bool = False
) -> Breakage:
    """Since when "pay" fails, which it does on this build."""
    failing = seen(story, build)
    return (await story.breakages.of([failing], branch_scopes(own, base), storms=storms))[failing.key]


def between(breakage: Breakage) -> tuple[str | None, str]:
    """The versions of the last passing and the first failing build."""
    return breakage.last_passing.version if breakage.last_passing else None, breakage.first_failing.version


@pytest.mark.parametrize(
    ("history", "own", "expected", "commits"),
    [
        ("main failed, main passed, main failed, main failed, main here", "main", ("2", "3"), "c2..c3"),
        ("new, main failed, main here", "main", (None, "2"), None),
        ("main passed, feature failed, main passed, feature passed, main here", "main", ("3", "5"), "c3..c5"),
        ("main passed, feature failed, main passed, feature here", "feature", ("1", "2"), "c1..c2"),
        ("main passed, main failed, feature here", "feature", ("1", "2"), "c1..c2"),
        ("other passed, feature here", "feature", (None, "2"), None),
        ("- passed, - failed, - here", None, (None, "3"), None),
        ("main passed, - passed, main failed, - here", None, ("1", "3"), "c1..c3"),
        ("main passed, - failed, main failed, main here", "main", ("1", "3"), "c1..c3"),
        ("- passed, - failed, main here", "main", (None, "3"), None),
        ("main passed, main failed + - passed, main here", "main", ("1", "2"), "c1..c2"),
        ("main passed, main infra, main cancelled, main here", "main", ("1", "4"), "c1..c4"),
    ],
    ids=[
        "the last pass and the next failure",
        "a test that never passed",
        "other branches do not count",
        "a branch on which it never passed goes back to the base branch",
        "what broke on the base branch",
        "only its own and the base branch",
        "runs of unknown branches do not count",
        "a run of an unknown branch after what broke on the base branch",
        "a run by hand does not count beside a branch",
        "nor without one",
        "nor on a build of the branch",
        "runs without a verdict",
    ],
)
async def test_the_break_is_between_the_last_pass_and_the_next_failure(
    story: StoredCiStory, history: str, own: str | None, expected: tuple[str | None, str], commits: str | None
) -> None:
    build, _ = story.history(history)
    breakage = await broke(story, build, own)
    assert (between(breakage), breakage.commit_range) == (expected, commits)


async def test_the_first_failing_build_has_its_branch_and_commit(story: StoredCiStory) -> None:
    build, _ = story.history("main passed, main failed, feature here")
    first = (await broke(story, build, "feature")).first_failing
    assert (first.branch, first.commit_sha) == ("main", "c2")


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
            breakage = await broke(story, BuildRef(verdict.uploaded_at, verdict.build_id), verdict.branch, base)
            expected = gone_through(verdicts, verdict, base)
            assert breakage.first_failing.build_id == expected.first_failing.build_id
            assert breakage.commit_range == expected.commit_range
            last = expected.last_passing.build_id if expected.last_passing else None
            assert (breakage.last_passing.build_id if breakage.last_passing else None) == last


def gone_through(verdicts: list[BuildVerdict], own: BuildVerdict, base: str | None) -> Break:
    """The definition of docs/gate.md: on its own branch; of what never passed there, on the wider line."""
    where = branch_scopes(own.branch, base)
    breakage = _on([seen for seen in verdicts if seen.branch in where.own], own)
    if breakage.last_passing or where.own == where.wider:
        return breakage
    return _on([seen for seen in verdicts if seen.branch in where.wider], breakage.first_failing)


def _on(line: list[BuildVerdict], own: BuildVerdict) -> Break:
    last, first = None, own
    for seen in reversed([seen for seen in line if seen.build_order <= own.build_order]):
        if not seen.fails:
            last = seen
            break
        first = seen
    return Break(first, last)
