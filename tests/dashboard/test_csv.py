"""Lists that are downloaded as files for spreadsheets."""

import csv
import io
from typing import Any

from playwright.async_api import expect

from tests.dashboard.conftest import Visitor
from tests.e2e.world import World


async def rows_of(visitor: Visitor, path: str) -> list[dict[str, Any]]:
    """The rows of the file behind the link "CSV" of a page, by their columns."""
    await visitor.open(path)
    async with visitor.page.expect_download() as download:
        await visitor.page.get_by_role("link", name="CSV").click()
    file = await (await download.value).path()
    return list(csv.DictReader(io.StringIO(file.read_bytes().decode(), newline="")))


async def test_lists_have_a_file_with_what_their_filters_show(member: Visitor, world: World) -> None:
    app, build, test, workflow = await world.passing_app()
    formula = await world.test(name="=HYPERLINK(1)", tags=["a", "b"], app=app)
    execution = await world.run(workflow)
    await world.reported(build, 1)
    home = f"/apps/{app['id']}"
    rows = await rows_of(member, "/tests?tag=a")
    assert [(row["id"], row["name"], row["tags"]) for row in rows] == [(formula["id"], "'=HYPERLINK(1)", "a; b")]
    assert {row["id"] for row in await rows_of(member, "/tests")} == {test["id"], formula["id"]}
    (row,) = await rows_of(member, "/executions")
    assert (row["id"], row["success"], row["counts.passed"]) == (execution["id"], "true", "1")
    assert [row["id"] for row in await rows_of(member, f"/workflows?search={workflow['name']}")] == [workflow["id"]]
    assert [row["test_id"] for row in await rows_of(member, f"{home}/coverage?state=passed")] == [test["id"]]
    assert [row["1.0.0"] for row in await rows_of(member, f"{home}/matrix?search={test['name']}")] == ["passed"]
    (slow,) = await rows_of(member, f"{home}/durations")
    assert (slow["test_id"], slow["former_seconds"]) == (test["id"], "")
    assert [row["status"] for row in await rows_of(member, f"{home}/builds/{build['id']}")] == ["completed"]


async def test_a_file_of_what_cannot_be_read_is_a_page_that_says_so(member: Visitor, world: World) -> None:
    await member.open("/executions?format=csv&status=nothing")
    await expect(member.page.get_by_role("heading", level=1)).to_be_visible()
    await expect(member.page.get_by_role("main")).to_contain_text('"Status" must be')
