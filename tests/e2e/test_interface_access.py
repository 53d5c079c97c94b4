"""The interface document's authentication and errors: keys, messages, and bad requests of every kind."""

from datetime import UTC, datetime, timedelta
from typing import Any

import aiohttp
import pytest

from tests.e2e.client import Api, created, fresh
from tests.e2e.world import UNKNOWN, World
from tests.eventually import eventually
from tests.shared_infrastructure import SharedStack

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
    ("POST", "/execution/api/execute_workflow_id_async"),
    ("POST", "/tests/execute"),
    ("GET", "/tests"),
]


@pytest.mark.parametrize(("method", "path"), ENDPOINTS)
class TestEveryEndpointAsksForAKey:
    async def test_without_one(self, anonymous: Api, method: str, path: str) -> None:
        answer = await anonymous.call(method, path, json={} if method != "GET" else None)
        assert (answer.status, answer.detail) == (401, "Authorization header missing")
        assert answer.headers["WWW-Authenticate"] == "Bearer"

    async def test_with_an_unknown_one(self, stack: SharedStack, method: str, path: str) -> None:
        async with Api(stack.url, "mt_abcdefghijkl_" + "x" * 38) as api:
            answer = await api.call(method, path, json={} if method != "GET" else None)
        assert (answer.status, answer.detail) == (401, "Invalid API key")


class TestKeys:
    @pytest.mark.parametrize(
        "header",
        ["", "Bearer", "Bearer ", "Basic dXNlcjpwYXNz", "bearer", "Bearer " + "k" * 8000, "Bearer a b", "Bearer ключ"],
    )
    async def test_a_malformed_header_is_an_invalid_key(self, anonymous: Api, header: str) -> None:
        answer = await anonymous.get("/apps/", headers={"Authorization": header})
        assert (answer.status, answer.detail) == (401, "Invalid API key")

    async def test_a_key_is_shown_once_works_and_ceases_to_work_when_deleted(self, api: Api) -> None:
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

    async def test_a_key_past_its_expiry_says_so(self, api: Api) -> None:
        soon = (datetime.now(UTC) + timedelta(seconds=1)).isoformat()
        key = created(await api.post("/settings/api-keys", {"name": "short", "expires_at": soon}))
        async with Api(api.url, key["key"]) as other:

            async def expired() -> bool:
                answer = await other.get("/apps/")
                return answer.status == 401 and bool(answer.detail == "API key expired")

            await eventually(expired)

    async def test_a_wrong_secret_never_learns_of_an_expiry(self, api: Api) -> None:
        key = created(await api.post("/settings/api-keys", {"name": "ci"}))["key"]
        async with Api(api.url, key[:-1] + ("0" if key[-1] != "0" else "1")) as other:
            assert (await other.get("/apps/")).detail == "Invalid API key"

    async def test_a_scope_that_is_missing_is_named(self, api: Api) -> None:
        key = created(await api.post("/settings/api-keys", {"name": "reader", "scopes": ["read"]}))
        async with Api(api.url, key["key"]) as reader:
            assert (await reader.get("/apps/")).status == 200
            answer = await reader.post("/apps/", {"name": "x", "platform": "iOS"})
            assert answer.status == 403
            assert "write" in answer.detail
            assert (await reader.get("/settings/api-keys")).status == 403


class TestBadRequests:
    @pytest.mark.parametrize(
        "text", ["{", '{"name": }', "nul", '{"a": 1} x', "[1,2", '"\ud800"', "\x00", "[" * 100_000]
    )
    async def test_malformed_json_is_400_with_the_place(self, api: Api, text: str) -> None:
        data = text.encode("utf-8", "surrogatepass")
        answer = await api.call("POST", "/apps/", data=data, headers={"Content-Type": "application/json"})
        assert answer.status == 400, answer.text
        assert "line" in answer.detail

    @pytest.mark.parametrize("body", [[], "text", 5, True])
    async def test_a_body_that_is_no_object_is_refused(self, api: Api, body: Any) -> None:
        answer = await api.post("/apps/", body)
        assert answer.status == 422
        assert answer.locations() == [["body"]]

    async def test_another_content_type_is_415(self, api: Api) -> None:
        answer = await api.call("POST", "/apps/", data=b"name=x", headers={"Content-Type": "text/plain"})
        assert answer.status == 415

    async def test_an_oversize_body_is_413_at_once(self, stack: SharedStack, api: Api) -> None:
        headers = {
            "Authorization": f"Bearer {api.key}",
            "Content-Type": "application/json",
            "Content-Length": "2147483648",
        }
        host, port = stack.url.removeprefix("http://").split(":")
        import asyncio

        reader, writer = await asyncio.open_connection(host, int(port))
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        writer.write(f"POST /api/v1/apps/ HTTP/1.1\r\nHost: {host}\r\n{head}\r\n".encode())
        status = await asyncio.wait_for(reader.readline(), 30)
        writer.close()
        assert b" 413 " in status

    async def test_unknown_fields_are_ignored_and_named(self, api: Api) -> None:
        body = {"name": fresh("App"), "platform": "iOS", "colour": "red"}
        answer = await api.post("/apps/", body, headers={"X-CI-Job": "1"}, params={"verbose": "1"})
        assert answer.status == 200
        assert "colour" in answer.headers["X-Ignored-Fields"]

    async def test_strict_handling_refuses_unknown_fields_and_names_the_nearest(self, api: Api) -> None:
        body = {"name": fresh("App"), "platform": "iOS", "descripton": "typo"}
        answer = await api.post("/apps/", body, headers={"Prefer": "handling=strict"})
        assert answer.status == 422
        assert answer.locations() == [["body", "descripton"]]
        assert "description" in answer.detail[0]["msg"]

    async def test_a_nested_typo_is_found_as_well(self, api: Api, world: World) -> None:
        *_, workflow = await world.passing_app()
        body = {"workflow_id": workflow["id"], "run_config": {"execution_mode": {"retrys": 3}}}
        path = "/execution/api/execute_workflow_id_async"
        lenient = await api.post(path, body)
        assert (lenient.status, lenient.headers["X-Ignored-Fields"]) == (200, "run_config.execution_mode.retrys")
        strict = await api.post(path, body, headers={"Prefer": "handling=strict"})
        assert strict.locations() == [["body", "run_config", "execution_mode", "retrys"]]

    async def test_every_answer_has_a_request_id_and_keeps_a_given_one(self, api: Api) -> None:
        assert (await api.get("/apps/")).headers["X-Request-ID"]
        assert (await api.get("/nowhere")).headers["X-Request-ID"]
        assert (await api.get("/apps/", headers={"X-Request-ID": "mine-1"})).headers["X-Request-ID"] == "mine-1"

    async def test_unknown_paths_and_methods_are_json(self, api: Api) -> None:
        nowhere, method = await api.get("/nowhere"), await api.delete("/tests")
        assert (nowhere.status, isinstance(nowhere.detail, str)) == (404, True)
        assert (method.status, isinstance(method.detail, str)) == (405, True)
        assert "GET" in method.headers["Allow"]

    async def test_a_client_that_goes_away_harms_nobody(self, stack: SharedStack, api: Api) -> None:
        timeout = aiohttp.ClientTimeout(total=0.001)
        async with aiohttp.ClientSession(stack.url, timeout=timeout) as session:
            for _ in range(5):
                with pytest.raises((TimeoutError, aiohttp.ClientError)):
                    await session.get("/api/v1/apps/", headers={"Authorization": f"Bearer {api.key}"})
        assert (await api.get("/apps/")).status == 200


class TestService:
    @pytest.mark.parametrize("path", ["/healthz", "/readyz"])
    async def test_probes_need_no_key(self, anonymous: Api, path: str) -> None:
        assert (await anonymous.get(path)).status == 200

    async def test_the_openapi_document_knows_every_endpoint_of_the_interface(self, anonymous: Api) -> None:
        document = (await anonymous.get("/openapi.json")).body
        paths = {
            path.rstrip("/").replace("{app_id}", UNKNOWN).replace("{version_id}", UNKNOWN): methods
            for path, methods in document["paths"].items()
        }
        for method, path in ENDPOINTS:
            assert method.lower() in paths[f"/api/v1{path}".rstrip("/")]
