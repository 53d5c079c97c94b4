"""The interface document's build endpoints: update and runs; and how builds are uploaded."""

from tests.e2e.client import Api, created
from tests.e2e.shapes import assert_shape
from tests.e2e.world import FAILING, World


async def test_an_uploaded_build_has_every_field_and_its_bytes(api: Api, world: World) -> None:
    app, artifact = await world.app(), b"0123456789abcdef" * 100_000
    answer = await api.upload(app["id"], artifact, version="1.0.0", metadata='{"commit": "abc"}', package_name="com.x")
    assert answer.status == 201
    assert_shape(answer.body, "Build")
    assert answer.headers["Location"] == f"/api/v1/apps/builds/{answer.body['id']}"
    given = {"app_id": app["id"], "version": "1.0.0", "metadata": {"commit": "abc"}, "package_name": "com.x"}
    assert answer.body.items() >= {**given, "was_reused": False}.items()
    assert await api.download(answer.body["download_url"]) == artifact


async def test_an_update_sets_metadata_package_name_and_version(api: Api, world: World) -> None:
    build = await world.build(await world.app(), "1.0.0")
    body = {"metadata": {"notes": {"a": 1}}, "package_name": "com.example", "version": "1.0.1"}
    answer = await api.patch(f"/apps/builds/{build['id']}", body)
    assert (answer.status, answer.body) == (200, build | body)
    assert_shape(answer.body, "Build")
    assert created(await api.get(f"/apps/builds/{build['id']}")) == build | body


async def test_runs_of_a_build_have_every_field(world: World) -> None:
    app, build, passing, _ = await world.passing_app("3.1.4")
    failing = await world.test(FAILING, app=app)
    workflow = await world.workflow(passing, failing, run_config={"execution_mode": {"retries": 0}})
    headers = {"X-CI-System": "github", "X-CI-Branch": "main", "X-CI-PR-Number": "17", "X-CI-Commit-SHA": "c0ffee"}
    execution = await world.ended((await world.start(workflow, headers))["id"])
    page = await world.reported(build, 2)
    assert_shape(page, "BuildRuns")
    attribution = {"system": "github", "branch": "main", "pr_number": 17, "commit_sha": "c0ffee"}
    attribution |= {"simulated": True, "built_in_model": True}
    runs = {item["test_id"]: item for item in page["items"]}
    for test, success in ((passing, True), (failing, False)):
        item = runs[test["id"]]
        assert (item["execution_id"], item["test_name"]) == (execution["id"], test["name"])
        assert (item["status"], item["source"], item["resolved_build_version"]) == ("completed", "ci", "3.1.4")
        assert item["metadata"].items() >= attribution.items()
        assert item["success"] is success
    failed = runs[failing["id"]]
    assert failed["report_metadata"]["category"] in ("element_not_found", "assertion_failed", "step_timeout")
