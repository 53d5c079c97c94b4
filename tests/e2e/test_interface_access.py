"""The interface document's authentication: keys, and what other organisations see."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.e2e.client import Answer, Api, created
from tests.e2e.world import FAILING, UNKNOWN, World
from tests.eventually import eventually
from tests.openapi_document import DOCUMENT
from tests.shared_infrastructure import SharedStack

START = "/execution/api/execute_workflow_id_async"
ENDPOINTS = [
    ("POST", "/apps/"),
    ("GET", "/apps/"),
    ("GET", f"/apps/{UNKNOWN}"),
    ("PATCH", f"/apps/{UNKNOWN}"),
    ("GET", f"/apps/{UNKNOWN}/workspace"),
    ("GET", f"/apps/{UNKNOWN}/test_matrix"),
    ("GET", f"/apps/{UNKNOWN}/coverage"),
    ("PATCH", f"/apps/builds/{UNKNOWN}"),
    ("GET", f"/apps/builds/{UNKNOWN}/runs"),
    ("POST", START),
    ("POST", "/tests/execute"),
    ("GET", "/tests"),
    ("POST", "/tests/resolve"),
]


async def test_every_endpoint_asks_for_a_key(anonymous: Api, stack: SharedStack) -> None:
    async with Api(stack.url, "mt_abcdefghijkl_" + "x" * 38) as wrong:
        for method, path in ENDPOINTS:
            for client, detail in ((anonymous, "Authorization header missing"), (wrong, "Invalid API key")):
                answer = await client.call(method, path, json={} if method != "GET" else None)
                assert (answer.status, answer.detail, path) == (401, detail, path)
                assert answer.headers["WWW-Authenticate"] == "Bearer"


async def test_a_key_is_shown_once_works_and_ceases_to_work_when_deleted(api: Api) -> None:
    key = created(await api.post("/settings/api-keys", {"name": "ci"}))
    listed = created(await api.get("/settings/api-keys"))["items"]
    assert {entry["name"]: entry["key"] for entry in listed}["ci"] is None
    async with Api(api.url, key["key"]) as other:
        assert (await other.get("/apps/")).status == 200
        assert (await api.delete(f"/settings/api-keys/{key['id']}")).status == 204

        async def refused() -> bool:
            answer = await other.get("/apps/")
            return answer.status == 401 and bool(answer.detail == "Invalid API key")

        await eventually(refused)


async def test_a_key_makes_no_key_that_may_do_more_or_lasts_longer(api: Api) -> None:
    """An administrator's key that is lent for an hour gives nobody the right to start or to read."""
    now = datetime.now(UTC).replace(microsecond=0)
    end, later = ((now + timedelta(hours=hours)).isoformat().replace("+00:00", "Z") for hours in (1, 2))
    lent = created(await api.post("/settings/api-keys", {"name": "lent", "scopes": ["admin"], "expires_at": end}))
    async with Api(api.url, lent["key"]) as holder:
        more = await holder.post("/settings/api-keys", {"name": "more", "scopes": ["read", "execute", "admin"]})
        assert (more.status, more.body["code"]) == (403, "SCOPE_EXCEEDED")
        assert more.detail.endswith("which are admin; leave out read, execute")
        longer = await holder.post("/settings/api-keys", {"name": "longer", "expires_at": later})
        assert (longer.status, longer.locations()) == (422, [["body", "expires_at"]])
        assert end in longer.detail[0]["msg"]
        child = created(await holder.post("/settings/api-keys", {"name": "child"}))
    assert (child["scopes"], child["expires_at"]) == (["admin"], end)


# Of paths; the others are UUIDs.
UNKNOWN_IDS = {"key": "home_ios-1x1_0123456789ab", "artifact_name": "a.png", "name": "unknown", "fingerprint": "0" * 16}


async def test_nothing_is_read_or_deleted_below_an_unknown_id(api: Api) -> None:
    """Every operation of the document that has an id in its path: a list of what an unknown thing has is a 404 too."""
    paths = {
        (method, re.sub(r"\{(\w+)\}", lambda name: UNKNOWN_IDS.get(name[1], UNKNOWN), path))
        for path, operations in DOCUMENT["paths"].items()
        for method in operations.keys() & {"get", "delete"}
        if "{" in path
    }
    answers = {(method, path): await api.call(method.upper(), path) for method, path in sorted(paths)}
    assert len(answers) >= 25
    assert {place: answer.status for place, answer in answers.items() if answer.status != 404} == {}
    assert {place for place, answer in answers.items() if not answer.detail.endswith(" not found")} == set()


REFUSED: list[tuple[str, str, Any]] = [
    ("GET", "/apps/{app}", None),
    ("PATCH", "/apps/{app}", {"name": "mine"}),
    ("DELETE", "/apps/{app}", None),
    ("GET", "/apps/{app}/workspace", None),
    ("GET", "/apps/{app}/test_matrix", None),
    ("GET", "/apps/{app}/coverage", None),
    ("PATCH", "/apps/builds/{build}", {"version": "9"}),
    ("GET", "/apps/builds/{build}/runs", None),
    ("GET", "/apps/builds/{build}/compare", None),
    ("GET", "/apps/builds/{build}/gate", None),
    ("GET", "/apps/builds/{build}/download", None),
    ("PATCH", "/tests/{test}", {"name": "mine"}),
    ("PUT", "/tests/{test}/quarantine", {"reason": "mine"}),
    ("DELETE", "/tests/{test}/quarantine", None),
    ("GET", "/tests/{test}/runs", None),
    ("GET", "/executions/{execution}", None),
    ("GET", "/executions/{execution}/runs", None),
    ("GET", "/executions/{execution}/events", None),
    ("GET", "/executions/{execution}/junit.xml", None),
    ("GET", "/executions/{execution}/gate", None),
    ("POST", "/executions/{execution}/rerun", {}),
    ("POST", "/executions/{execution}/cancel", {}),
    ("GET", "/executions/{execution}/runs/{run}", None),
    ("GET", "/executions/{execution}/runs/{run}/video.webp", None),
    ("GET", "/executions/{execution}/runs/{run}/report.html", None),
    ("GET", "/executions/{execution}/runs/{run}/last_pass", None),
    ("GET", "/executions/{execution}/runs/{run}/healing", None),
    ("POST", "/executions/{execution}/runs/{run}/healing", {}),
    ("GET", "/apps/{app}/screens", None),
    ("GET", "/apps/builds/{build}/screen_changes", None),
    ("GET", "/screens/{screen}", None),
    ("POST", "/tests/{test}/recheck", {"step_path": "steps[0]"}),
    ("GET", "{artifact}", None),
    ("POST", START, {"workflow_id": "{workflow}"}),
    ("POST", "/tests/execute", {"test_id": "{test}"}),
]


async def test_what_others_have_looks_like_what_does_not_exist(api: Api, foreign: Api, world: World) -> None:
    """Also after its build is deleted, whose runs stay readable to their owner."""
    app, build, test, _ = await world.passing_app()
    workflow = await world.workflow(await world.test(FAILING, app=app), run_config={"execution_mode": {"retries": 0}})
    execution = await world.run(workflow)
    await world.reported(build, 1)
    run = await world.only_run(execution)
    ids = {"app": app, "build": build, "test": test, "workflow": workflow, "execution": execution, "run": run}
    known = {name: thing["id"] for name, thing in ids.items()} | {"artifact": run["attempts"][0]["artifacts"][0]["url"]}
    unknown = dict.fromkeys(known, UNKNOWN)
    unknown["artifact"] = known["artifact"].replace(execution["id"], UNKNOWN)
    known["screen"] = next(step["screen"]["tree"] for step in run["attempts"][0]["steps"] if "screen" in step)
    unknown["screen"] = "0" * 32

    async def asked(method: str, path: str, body: Any, names: dict[str, str]) -> Answer:
        filled = body and {field: value.format(**names) for field, value in body.items()}
        return await foreign.call(method, path.format(**names), json=filled)

    for method, path, body in REFUSED:
        answers = [await asked(method, path, body, names) for names in (known, unknown)]
        assert [(answer.status, answer.body) for answer in answers] == [(404, answers[0].body)] * 2, (method, path)
        assert answers[0].detail.endswith(" not found")
    assert (await api.delete(f"/apps/builds/{build['id']}")).status == 204
    assert (await foreign.get(f"/apps/builds/{build['id']}/runs")).status == 404
    assert created(await api.get(f"/apps/builds/{build['id']}/runs"))["total"] == 1
