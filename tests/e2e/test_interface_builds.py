"""The interface document's build endpoints: update and runs; and how builds are uploaded."""

import json

import pytest

from tests.e2e.client import Api, created
from tests.e2e.shapes import BUILD, BUILD_RUNS, assert_shape
from tests.e2e.world import FAILING, UNKNOWN, World


class TestUpload:
    async def test_answers_201_with_every_field_and_the_location(self, api: Api, world: World) -> None:
        app = await world.app()
        answer = await api.upload(
            app["id"], b"artifact", version="1.0.0", metadata='{"commit": "abc"}', package_name="com.x"
        )
        assert answer.status == 201
        assert_shape(answer.body, BUILD)
        assert answer.headers["Location"] == f"/api/v1/apps/builds/{answer.body['id']}"
        expected = {
            "app_id": app["id"],
            "version": "1.0.0",
            "metadata": {"commit": "abc"},
            "package_name": "com.x",
            "was_reused": False,
        }
        assert {name: answer.body[name] for name in expected} == expected

    async def test_the_artifact_comes_back_as_it_was(self, api: Api, world: World) -> None:
        app = await world.app()
        artifact = b"0123456789abcdef" * 100_000
        build = created(await api.upload(app["id"], artifact, version="1"))
        answer = await api.get(build["download_url"])
        assert (answer.status, answer.text) == (200, artifact.decode())

    async def test_a_version_is_unique_within_the_app(self, api: Api, world: World) -> None:
        app, other = await world.app(), await world.app()
        await world.build(app, "1.0.0")
        answer = await api.upload(app["id"], b"again", version="1.0.0")
        assert answer.status == 409
        assert "1.0.0" in answer.detail
        assert created(await api.get(f"/apps/{app['id']}"))["versions_count"] == 1
        assert (await api.upload(other["id"], b"again", version="1.0.0")).status == 201

    async def test_without_a_version_in_request_or_artifact_it_is_refused(self, api: Api, world: World) -> None:
        app = await world.app()
        answer = await api.upload(app["id"], b"no version in here")
        assert answer.status == 422
        assert answer.locations() == [["body", "version"]]

    async def test_a_build_may_refer_to_an_artifact_kept_elsewhere(self, api: Api, world: World) -> None:
        app = await world.app()
        body = {"version": "1", "artifact_url": "https://builds.example/app.apk", "metadata": {"a": [1, None]}}
        build = created(await api.post(f"/apps/{app['id']}/builds", body))
        assert_shape(build, BUILD)
        assert (build["artifact_url"], build["download_url"], build["metadata"]) == (
            body["artifact_url"],
            None,
            body["metadata"],
        )

    async def test_builds_are_listed_newest_first(self, api: Api, world: World) -> None:
        app = await world.app()
        made = [await world.build(app, version) for version in ("1", "2", "3")]
        page = created(await api.get(f"/apps/{app['id']}/builds", params={"page_size": 2}))
        assert ([build["id"] for build in page["items"]], page["total"]) == ([made[2]["id"], made[1]["id"]], 3)

    async def test_an_unknown_app_is_not_found(self, api: Api) -> None:
        answer = await api.upload(UNKNOWN, b"x", version="1")
        assert (answer.status, answer.detail) == (404, "App not found")


class TestUpdate:
    async def test_sets_metadata_package_name_and_version(self, api: Api, world: World) -> None:
        build = await world.build(await world.app(), "1.0.0")
        body = {"metadata": {"notes": {"a": 1}}, "package_name": "com.example", "version": "1.0.1"}
        answer = await api.patch(f"/apps/builds/{build['id']}", body)
        assert (answer.status, answer.body) == (200, build | body)
        assert_shape(answer.body, BUILD)
        assert created(await api.get(f"/apps/builds/{build['id']}")) == build | body

    async def test_an_empty_patch_answers_the_unchanged_build(self, api: Api, world: World) -> None:
        build = await world.build(await world.app(), "1.0.0")
        answer = await api.patch(f"/apps/builds/{build['id']}", {})
        assert (answer.status, answer.body) == (200, build)

    async def test_null_clears_the_package_name_and_leaves_the_version(self, api: Api, world: World) -> None:
        build = await world.build(await world.app(), "1.0.0", package_name="com.example")
        answer = await api.patch(f"/apps/builds/{build['id']}", {"package_name": None, "version": None})
        assert (answer.status, answer.body) == (200, build | {"package_name": None})

    @pytest.mark.parametrize("metadata", [None, "text", 5, ["a"]])
    async def test_metadata_must_be_an_object(self, api: Api, world: World, metadata: object) -> None:
        build = await world.build(await world.app(), "1.0.0")
        answer = await api.patch(f"/apps/builds/{build['id']}", {"metadata": metadata})
        assert answer.status == 422
        assert answer.locations()[0][:2] == ["body", "metadata"]

    async def test_metadata_keys_with_dots_dollars_and_unicode_are_kept(self, api: Api, world: World) -> None:
        build = await world.build(await world.app(), "1.0.0")
        metadata = {"a.b": 1, "$where": "x", "": "empty", "ключ": "\u202ertl \U0001f600", "n": {"$gt": {"c.d": None}}}
        assert created(await api.patch(f"/apps/builds/{build['id']}", {"metadata": metadata}))["metadata"] == metadata
        assert created(await api.get(f"/apps/builds/{build['id']}"))["metadata"] == metadata

    async def test_a_foreign_build_looks_like_an_unknown_one(self, foreign: Api, world: World) -> None:
        build = await world.build(await world.app(), "1.0.0")
        answers = [await foreign.patch(f"/apps/builds/{id_}", {"version": "9"}) for id_ in (build["id"], UNKNOWN)]
        assert [(answer.status, answer.detail) for answer in answers] == [(404, "Build not found")] * 2

    async def test_an_id_that_is_no_uuid_is_refused(self, api: Api) -> None:
        assert (await api.patch("/apps/builds/17", {})).locations() == [["path", "version_id"]]


class TestRuns:
    async def test_a_build_without_runs_has_an_empty_page_with_the_defaults(self, api: Api, world: World) -> None:
        build = await world.build(await world.app(), "1.0.0")
        answer = await api.get(f"/apps/builds/{build['id']}/runs")
        assert answer.status == 200
        assert answer.body == {
            "total": 0,
            "page": 1,
            "page_size": 20,
            "total_pages": 0,
            "has_next": False,
            "has_previous": False,
            "items": [],
        }

    async def test_shows_each_run_with_every_field(self, api: Api, world: World) -> None:
        app, build, passing, _ = await world.passing_app("3.1.4")
        failing = await world.test(FAILING)
        await world.attach(app, failing)
        workflow = await world.workflow(passing, failing, run_config={"execution_mode": {"retries": 0}})
        headers = {"X-CI-System": "github", "X-CI-Branch": "main", "X-CI-PR-Number": "17", "X-CI-Commit-SHA": "c0ffee"}
        execution = await world.ended((await world.start(workflow, headers))["id"])
        page = await world.reported(build, 2)
        assert_shape(page, BUILD_RUNS)
        runs = {item["test_id"]: item for item in page["items"]}
        passed, failed = runs[passing["id"]], runs[failing["id"]]
        for item, test in ((passed, passing), (failed, failing)):
            assert (item["execution_id"], item["test_name"]) == (execution["id"], test["name"])
            assert (item["status"], item["source"], item["resolved_build_version"]) == ("completed", "ci", "3.1.4")
            attribution = {
                "system": "github",
                "branch": "main",
                "pr_number": 17,
                "commit_sha": "c0ffee",
                "simulated": True,
            }
            assert item["metadata"].items() >= attribution.items()
        assert (passed["success"], failed["success"]) == (True, False)
        assert failed["report_metadata"]["category"] in ("element_not_found", "assertion_failed", "step_timeout")

    async def test_the_runs_of_a_deleted_build_and_test_stay_readable(
        self, api: Api, foreign: Api, world: World
    ) -> None:
        _, build, test, workflow = await world.passing_app()
        execution = await world.run(workflow)
        before = await world.reported(build, 1)
        assert (await api.delete(f"/apps/builds/{build['id']}")).status == 204
        assert (await api.delete(f"/tests/{test['id']}")).status == 204
        assert created(await api.get(f"/apps/builds/{build['id']}/runs")) == before
        runs = created(await api.get(f"/tests/{test['id']}/runs"))
        assert [item["execution_id"] for item in runs["items"]] == [execution["id"]]
        assert (await foreign.get(f"/apps/builds/{build['id']}/runs")).status == 404

    async def test_pages_newest_first(self, api: Api, world: World) -> None:
        _, build, _, workflow = await world.passing_app()
        ids = [(await world.run(workflow))["id"] for _ in range(3)]
        await world.reported(build, 3)
        first = created(await api.get(f"/apps/builds/{build['id']}/runs", params={"page_size": 2}))
        assert [item["execution_id"] for item in first["items"]] == [ids[2], ids[1]]
        assert (first["total"], first["total_pages"], first["has_next"]) == (3, 2, True)
        second = created(await api.get(f"/apps/builds/{build['id']}/runs", params={"page_size": 2, "page": 2}))
        assert [item["execution_id"] for item in second["items"]] == [ids[0]]

    @pytest.mark.parametrize(
        ("name", "value", "status"),
        [
            ("page", "0", 422),
            ("page", "1", 200),
            ("page_size", "0", 422),
            ("page_size", "1", 200),
            ("page_size", "100", 200),
            ("page_size", "101", 422),
        ],
    )
    async def test_bounds_of_the_query(self, api: Api, world: World, name: str, value: str, status: int) -> None:
        build = await world.build(await world.app(), "1.0.0")
        answer = await api.get(f"/apps/builds/{build['id']}/runs", params={name: value})
        assert answer.status == status
        if status == 422:
            assert answer.locations() == [["query", name]]

    async def test_a_foreign_build_looks_like_an_unknown_one(self, foreign: Api, world: World) -> None:
        build = await world.build(await world.app(), "1.0.0")
        answers = [await foreign.get(f"/apps/builds/{id_}/runs") for id_ in (build["id"], UNKNOWN)]
        assert [(answer.status, json.loads(answer.text)["detail"]) for answer in answers] == [
            (404, "Build not found")
        ] * 2
