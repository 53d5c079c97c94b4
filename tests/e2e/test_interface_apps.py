"""The interface document's app endpoints: create, list, get, update."""

import asyncio

import pytest

from tests.e2e.client import Api, created, fresh
from tests.e2e.shapes import APP, APPS, assert_shape
from tests.e2e.world import UNKNOWN, World
from tests.eventually import eventually


class TestCreate:
    @pytest.mark.parametrize("platform", ["iOS", "Android"])
    @pytest.mark.parametrize("path", ["/apps/", "/apps"])
    async def test_answers_200_with_every_field_and_default(self, api: Api, platform: str, path: str) -> None:
        name = fresh("App")
        answer = await api.post(path, {"name": name, "platform": platform, "description": "What it is"})
        assert answer.status == 200
        assert_shape(answer.body, APP)
        given = {"name": name, "platform": platform, "description": "What it is"}
        defaults = {
            "versions_count": 0,
            "attached_tests": 0,
            "pinned_tests": 0,
            "recent_executions": 0,
            "attribution_ready": False,
        }
        absent = dict.fromkeys(
            (
                "static_url",
                "current_version",
                "system_prompt",
                "latest_version",
                "latest_build_id",
                "current_build_id",
                "rolling_pass_rate",
            )
        )
        assert answer.body == given | defaults | absent | {
            key: answer.body[key] for key in ("id", "org_id", "created_at")
        }

    async def test_description_is_optional(self, api: Api) -> None:
        assert created(await api.post("/apps/", {"name": fresh("App"), "platform": "iOS"}))["description"] is None

    async def test_names_need_not_be_unique(self, api: Api) -> None:
        body = {"name": fresh("App"), "platform": "iOS"}
        assert created(await api.post("/apps/", body))["id"] != created(await api.post("/apps/", body))["id"]

    @pytest.mark.parametrize("missing", ["name", "platform"])
    async def test_needs_name_and_platform(self, api: Api, missing: str) -> None:
        body = {"name": fresh("App"), "platform": "iOS"}
        del body[missing]
        answer = await api.post("/apps/", body)
        assert answer.status == 422
        assert answer.detail == [{"loc": ["body", missing], "msg": "Field required", "type": "missing"}]

    @pytest.mark.parametrize("platform", ["Windows", "ios", "", 1, None, ["iOS"]])
    async def test_refuses_an_unknown_platform_and_names_the_known(self, api: Api, platform: object) -> None:
        answer = await api.post("/apps/", {"name": fresh("App"), "platform": platform})
        assert answer.status == 422
        assert answer.locations() == [["body", "platform"]]
        if isinstance(platform, str):
            assert "iOS" in answer.detail[0]["msg"]
            assert "Android" in answer.detail[0]["msg"]

    @pytest.mark.parametrize(
        ("name", "status"), [("", 422), ("   ", 422), ("x", 200), ("x" * 200, 200), ("x" * 201, 422)]
    )
    async def test_a_name_has_1_to_200_characters_after_trimming(self, api: Api, name: str, status: int) -> None:
        answer = await api.post("/apps/", {"name": name, "platform": "iOS"})
        assert answer.status == status
        if status == 422:
            assert answer.locations() == [["body", "name"]]

    async def test_a_name_is_trimmed(self, api: Api) -> None:
        assert created(await api.post("/apps/", {"name": "  My app\t", "platform": "iOS"}))["name"] == "My app"

    @pytest.mark.parametrize("name", [None, 5, ["x"], {"$gt": ""}, True])
    async def test_refuses_a_name_that_is_no_string(self, api: Api, name: object) -> None:
        answer = await api.post("/apps/", {"name": name, "platform": "iOS"})
        assert answer.status == 422
        assert answer.locations() == [["body", "name"]]


class TestList:
    async def test_an_empty_organisation_has_an_empty_page_with_the_defaults(self, api: Api) -> None:
        answer = await api.get("/apps/")
        assert answer.status == 200
        assert answer.body == {
            "total": 0,
            "page": 1,
            "page_size": 50,
            "total_pages": 0,
            "has_next": False,
            "has_previous": False,
            "items": [],
            "platform_counts": {"total": 0, "ios": 0, "android": 0},
        }

    async def test_pages_newest_first_with_unfiltered_platform_counts(self, api: Api, world: World) -> None:
        made = [await world.app(platform) for platform in ("iOS", "Android", "iOS")]
        newest_first = [app["id"] for app in reversed(made)]
        first = created(await api.get("/apps", params={"page_size": 2}))
        assert_shape(first, APPS)
        assert [app["id"] for app in first["items"]] == newest_first[:2]
        assert (first["total"], first["total_pages"], first["has_next"], first["has_previous"]) == (3, 2, True, False)
        second = created(await api.get("/apps", params={"page_size": 2, "page": 2}))
        assert [app["id"] for app in second["items"]] == newest_first[2:]
        assert (second["page"], second["has_next"], second["has_previous"]) == (2, False, True)
        ios = created(await api.get("/apps", params={"platform": "iOS"}))
        assert (ios["total"], [app["platform"] for app in ios["items"]]) == (2, ["iOS", "iOS"])
        assert ios["platform_counts"] == {"total": 3, "ios": 2, "android": 1}

    async def test_a_page_past_the_end_is_empty(self, api: Api, world: World) -> None:
        await world.app()
        page = created(await api.get("/apps", params={"page": 1_000_000}))
        assert (page["items"], page["total"], page["has_next"], page["has_previous"]) == ([], 1, False, True)

    @pytest.mark.parametrize(
        ("name", "value", "status"),
        [
            ("page", "0", 422),
            ("page", "1", 200),
            ("page", "-1", 422),
            ("page", "x", 422),
            ("page", "1.5", 422),
            ("page", "", 422),
            ("page", "99999999999999999999", 422),
            ("page_size", "0", 422),
            ("page_size", "1", 200),
            ("page_size", "500", 200),
            ("page_size", "501", 422),
            ("platform", "iOS", 200),
            ("platform", "Android", 200),
            ("platform", "Windows", 422),
            ("search", "", 200),
        ],
    )
    async def test_bounds_of_the_query(self, api: Api, name: str, value: str, status: int) -> None:
        answer = await api.get("/apps/", params={name: value})
        assert answer.status == status, answer.text
        if status == 422:
            assert answer.locations() == [["query", name]]


class TestGet:
    async def test_answers_what_was_created(self, api: Api, world: World) -> None:
        app = await world.app("iOS", description="d")
        for path in (f"/apps/{app['id']}", f"/apps/{app['id']}/"):
            answer = await api.get(path, headers={"Content-Type": "application/json"})
            assert (answer.status, answer.body) == (200, app)

    async def test_many_at_once_get_each_their_own(self, api: Api, world: World) -> None:
        made = [await world.app() for _ in range(8)]
        answers = await asyncio.gather(*(api.get(f"/apps/{app['id']}") for app in made * 4))
        assert [answer.body for answer in answers] == made * 4

    async def test_a_foreign_id_looks_like_an_unknown_one(self, api: Api, foreign: Api, world: World) -> None:
        app = await world.app()
        strange, unknown = await foreign.get(f"/apps/{app['id']}"), await foreign.get(f"/apps/{UNKNOWN}")
        assert (strange.status, strange.detail) == (404, "App not found")
        assert (strange.status, strange.body) == (unknown.status, unknown.body)

    async def test_an_id_that_is_no_uuid_is_refused(self, api: Api) -> None:
        answer = await api.get("/apps/not-a-uuid")
        assert answer.status == 422
        assert answer.locations() == [["path", "app_id"]]


class TestUpdate:
    @pytest.mark.parametrize("field", ["name", "static_url", "current_version", "description", "system_prompt"])
    async def test_sets_each_field_and_keeps_the_others(self, api: Api, world: World, field: str) -> None:
        app = await world.app(description="before")
        answer = await api.patch(f"/apps/{app['id']}", {field: "new value"})
        assert (answer.status, answer.body) == (200, app | {field: "new value"})
        assert created(await api.get(f"/apps/{app['id']}")) == app | {field: "new value"}

    @pytest.mark.parametrize("field", ["static_url", "current_version", "description", "system_prompt"])
    async def test_null_clears(self, api: Api, world: World, field: str) -> None:
        app = await world.app()
        created(await api.patch(f"/apps/{app['id']}", {field: "something"}))
        assert created(await api.patch(f"/apps/{app['id']}", {field: None}))[field] is None

    async def test_null_leaves_the_name_for_an_app_always_has_one(self, api: Api, world: World) -> None:
        app = await world.app()
        answer = await api.patch(f"/apps/{app['id']}", {"name": None})
        assert (answer.status, answer.body) == (200, app)

    @pytest.mark.parametrize("body", [{}, None])
    async def test_an_empty_patch_answers_the_unchanged_app(self, api: Api, world: World, body: object) -> None:
        app = await world.app(description="d")
        answer = await api.patch(f"/apps/{app['id']}", body)
        assert (answer.status, answer.body) == (200, app)

    async def test_a_refused_patch_changes_nothing(self, api: Api, world: World) -> None:
        app = await world.app()
        answer = await api.patch(f"/apps/{app['id']}", {"description": "new", "name": "x" * 201})
        assert answer.status == 422
        assert created(await api.get(f"/apps/{app['id']}")) == app

    async def test_a_foreign_or_unknown_app_is_not_found(self, foreign: Api, world: World) -> None:
        app = await world.app()
        answers = [await foreign.patch(f"/apps/{id_}", {"name": "mine"}) for id_ in (app["id"], UNKNOWN)]
        assert [(answer.status, answer.body) for answer in answers] == [(404, answers[0].body)] * 2


class TestFieldsFromElsewhere:
    async def test_builds_and_attachments_show_in_the_app(self, api: Api, world: World) -> None:
        app = await world.app()
        older, newer = await world.build(app, "1.0.0"), await world.build(app, "1.1.0")
        pinned, following = await world.test(), await world.test()
        await world.attach(app, pinned, "1.0.0")
        await world.attach(app, following)
        created(await api.patch(f"/apps/{app['id']}", {"current_version": "1.0.0"}))
        shown = created(await api.get(f"/apps/{app['id']}"))
        expected = {
            "versions_count": 2,
            "latest_version": "1.1.0",
            "latest_build_id": newer["id"],
            "current_version": "1.0.0",
            "current_build_id": older["id"],
            "attached_tests": 2,
            "pinned_tests": 1,
        }
        assert {name: shown[name] for name in expected} == expected

    async def test_executions_show_in_the_app(self, api: Api, world: World) -> None:
        app, build, _, workflow = await world.passing_app()
        await world.run(workflow)
        await world.reported(build, 1)

        async def counted() -> bool:
            shown = created(await api.get(f"/apps/{app['id']}"))
            listed = created(await api.get("/apps"))["items"][0]
            assert shown == listed
            return (shown["recent_executions"], shown["rolling_pass_rate"], shown["attribution_ready"]) == (
                1,
                1.0,
                True,
            )

        await eventually(counted)
