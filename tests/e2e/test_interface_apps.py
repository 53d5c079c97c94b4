"""The interface document's app endpoints: create, list, get, update."""

import pytest

from tests.e2e.client import Api, created, fresh
from tests.e2e.shapes import assert_shape
from tests.e2e.world import World
from tests.eventually import eventually


@pytest.mark.parametrize(("platform", "path"), [("iOS", "/apps/"), ("Android", "/apps")])
async def test_a_new_app_has_every_field_and_default(api: Api, platform: str, path: str) -> None:
    given = {"name": fresh("App"), "platform": platform, "description": "What it is"}
    answer = await api.post(path, given)
    assert answer.status == 200
    assert_shape(answer.body, "App")
    zeros = dict.fromkeys(("versions_count", "attached_tests", "pinned_tests", "recent_executions"), 0)
    builds = ("latest_version", "latest_build_id", "current_build_id")
    absent = dict.fromkeys(("static_url", "current_version", "system_prompt", "rolling_pass_rate", *builds))
    made = {key: answer.body[key] for key in ("id", "org_id", "created_at")}
    assert answer.body == given | zeros | {"attribution_ready": False} | absent | made
    for read in (f"/apps/{made['id']}", f"/apps/{made['id']}/"):
        assert created(await api.get(read)) == answer.body


async def test_an_empty_organisation_has_an_empty_page_with_the_defaults(api: Api) -> None:
    assert created(await api.get("/apps/")) == {
        "total": 0,
        "page": 1,
        "page_size": 50,
        "total_pages": 0,
        "has_next": False,
        "has_previous": False,
        "items": [],
        "platform_counts": {"total": 0, "ios": 0, "android": 0},
    }


async def test_apps_are_listed_newest_first_with_unfiltered_platform_counts(api: Api, world: World) -> None:
    made = [await world.app(platform) for platform in ("iOS", "Android", "iOS")]
    newest_first = [app["id"] for app in reversed(made)]
    first = created(await api.get("/apps", params={"page_size": 2}))
    assert_shape(first, "Apps")
    assert [app["id"] for app in first["items"]] == newest_first[:2]
    assert (first["total"], first["total_pages"], first["has_next"], first["has_previous"]) == (3, 2, True, False)
    second = created(await api.get("/apps", params={"page_size": 2, "page": 2}))
    assert [app["id"] for app in second["items"]] == newest_first[2:]
    assert (second["page"], second["has_next"], second["has_previous"]) == (2, False, True)
    ios = created(await api.get("/apps", params={"platform": "iOS"}))
    assert (ios["total"], [app["platform"] for app in ios["items"]]) == (2, ["iOS", "iOS"])
    assert ios["platform_counts"] == {"total": 3, "ios": 2, "android": 1}
    past = created(await api.get("/apps", params={"page": 1_000_000}))
    assert (past["items"], past["total"], past["has_next"], past["has_previous"]) == ([], 3, False, True)


async def test_each_field_is_set_and_cleared_alone(api: Api, world: World) -> None:
    app = await world.app(description="before")
    path = f"/apps/{app['id']}"
    for field in ("name", "static_url", "current_version", "description", "system_prompt"):
        app[field] = "new value"
        assert created(await api.patch(path, {field: "new value"})) == app
        assert created(await api.get(path)) == app
    for field in ("static_url", "current_version", "description", "system_prompt"):
        app[field] = None
        assert created(await api.patch(path, {field: None})) == app


async def test_executions_show_in_the_app(api: Api, world: World) -> None:
    app, build, _, workflow = await world.passing_app()
    await world.run(workflow)
    await world.reported(build, 1)
    expected = {"recent_executions": 1, "rolling_pass_rate": 1.0, "attribution_ready": True}

    async def counted() -> bool:
        shown = created(await api.get(f"/apps/{app['id']}"))
        assert created(await api.get("/apps"))["items"] == [shown]
        assert shown.items() >= expected.items()
        return True

    await eventually(counted)
