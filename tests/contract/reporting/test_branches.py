"""Branches and pull requests of an app, as CI named them."""

from random import Random

import pytest

from services.chassis.errors import NotFound
from services.reporting.model.sources import BUILDS_KEPT, BranchKind
from services.reporting.ports import RowPage
from services.reporting.usecases.branches import BranchFilter
from tests.contract.reporting.store import MongoStore, StoredCiStory
from tests.fakes.reporting_story import APP

FIRST = RowPage(0, 20)


@pytest.fixture
def story(store: MongoStore) -> StoredCiStory:
    story = StoredCiStory(store)
    story.app()
    return story


async def names(story: StoredCiStory, page: RowPage = FIRST, **filter: object) -> list[tuple[str, str]]:
    found = await story.branches.list(APP, BranchFilter(**filter), page)  # type: ignore[arg-type]
    return [(kind, name) for (_, kind, name), _ in found.branches]


async def test_branches_and_pull_requests_come_with_the_newest_run_first(story: StoredCiStory) -> None:
    story.on(None, "0", pay="passed")
    story.main("1", pay="passed")
    story.pr_number = 17
    story.on("feature/pay", "2", pay="failed")
    assert await names(story, kind=BranchKind.BRANCH) == [("branch", "feature/pay"), ("branch", "main")]
    assert await names(story, kind=BranchKind.PULL_REQUEST) == [("pull_request", "17")]
    assert len(await names(story)) == 3
    assert await names(story, RowPage(1, 1), kind=BranchKind.BRANCH) == [("branch", "main")]


async def test_a_search_is_for_the_beginning_in_any_case(story: StoredCiStory) -> None:
    for number, branch in enumerate(("Feature/pay", "feature/ship", "fix.it", "main")):
        story.on(branch, str(number), pay="passed")
    assert await names(story, search="FEATURE/") == [("branch", "feature/ship"), ("branch", "Feature/pay")]
    assert await names(story, search="ature") == await names(story, search="f.x") == []
    assert await names(story, name="Feature/pay") == [("branch", "Feature/pay")]
    assert await names(story, name="feature/pay") == []


async def test_a_branch_has_its_newest_run_commit_repository_and_builds(story: StoredCiStory) -> None:
    story.repository, story.pr_number = "https://github.com/team/app", 17
    older = story.on("feature", "1", pay="passed")
    story.repository = None
    newer = story.on("feature", "2", pay="failed")
    story.ci(older, "feature", None, pay="infra")
    gone = story.on("feature", "3", pay="passed")
    story.build("3", deleted=True)
    ((_, row),) = (await story.branches.list(APP, BranchFilter(name="17"), FIRST)).branches
    page = await story.branches.list(APP, BranchFilter(name="17"), FIRST)
    assert row.repository
    assert row.commit
    assert row.head
    named = (row.repository.text, row.commit.text, row.head.text)
    assert named == ("https://github.com/team/app", "c3", "feature")
    assert [build.build_id for build in row.builds] == [gone.id, newer.id, older.id]
    assert page.builds.keys() == {newer.id, older.id}
    assert page.repositories == {older.id: "https://github.com/team/app"}


async def test_the_newest_builds_are_kept_whatever_the_order(story: StoredCiStory) -> None:
    builds = [story.build(f"1.{number}") for number in range(BUILDS_KEPT + 5)]
    shuffled = list(builds)
    Random(1).shuffle(shuffled)
    for build in shuffled:
        story.ci(build, "main", "c", pay="passed")
    ((_, row),) = (await story.branches.list(APP, BranchFilter(), FIRST)).branches
    assert [build.build_id for build in row.builds] == [build.id for build in reversed(builds)][:BUILDS_KEPT]


async def test_an_unknown_app_has_no_branches(story: StoredCiStory) -> None:
    with pytest.raises(NotFound):
        await story.branches.list("unknown", BranchFilter(), FIRST)
