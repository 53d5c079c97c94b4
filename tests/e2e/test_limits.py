"""Limits of an organisation over REST: refused with the limit's name, shown with their use, unnoticed by others."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from mobiletest.catalog.v1 import limits_pb2, limits_pb2_grpc
from mobiletest.types.v1 import limits_pb2 as types_pb2

from deploy.local.stack import Stack
from services.chassis import grpc_server
from services.chassis.context import Caller, bind
from tests.e2e.client import Answer, Api, created, fresh
from tests.e2e.conftest import new_organisation_key
from tests.e2e.world import PASSING, World
from tests.eventually import eventually
from tests.shared_infrastructure import SharedStack

Limited = Callable[..., Awaitable[Api]]


async def new_organisation(stack: SharedStack | Stack, **limits: Any) -> str:
    """The key of a new organisation, for which an operator has set these limits."""
    issued = await new_organisation_key(stack, "Limited")
    services = [limits_pb2.DESCRIPTOR.services_by_name["Limits"]]
    async with grpc_server.open_channel(stack.grpc["catalog"], stack.grpc_token, services=services) as channel:
        stub: Any = limits_pb2_grpc.LimitsStub(channel)  # type: ignore[no-untyped-call]
        message = types_pb2.OrganisationLimits(**limits)
        with bind(Caller(org_id=issued.key.org_id)):
            await stub.SetOrganisationLimits(limits_pb2.SetOrganisationLimitsRequest(limits=message))
    return issued.value


@pytest.fixture
async def limited(stack: SharedStack) -> AsyncIterator[Limited]:
    """Makes clients of new organisations with limits."""
    async with AsyncExitStack() as clients:

        async def make(**limits: Any) -> Api:
            return await clients.enter_async_context(Api(stack.url, await new_organisation(stack, **limits)))

        yield make


async def use(api: Api) -> dict[str, tuple[int, int | None]]:
    """The limits that are shown, with their use."""
    shown = created(await api.get("/settings/limits"))["limits"]
    return {each["name"]: (each["limit"], each["used"]) for each in shown}


def check_refusal(answer: Answer, status: int, name: str) -> None:
    """The limit is named, with what to do; an answer that is worth repeating says when."""
    assert (answer.status, answer.body["code"]) == (status, "LIMIT_REACHED"), answer.text
    assert f"limit {name} (" in answer.detail
    assert ("Retry-After" in answer.headers) == (status == 429)


async def test_requests_of_one_organisation_are_limited_and_others_are_not(limited: Limited, api: Api) -> None:
    noisy = await limited(requests_per_second=1, request_burst=5)
    answers = [await noisy.get("/apps/") for _ in range(10)]
    assert [answer.status for answer in answers[:5]] == [200] * 5
    assert (answers[0].headers["RateLimit-Limit"], answers[0].headers["RateLimit-Remaining"]) == ("5", "4")
    refused = next(answer for answer in answers if answer.status == 429)
    check_refusal(refused, 429, "requests_per_second")
    assert (refused.headers["Retry-After"], refused.headers["RateLimit-Remaining"]) == ("1", "0")
    assert all([(await api.get("/apps/")).status == 200 for _ in range(10)])


async def test_models(limited: Limited) -> None:
    """Where a start names them and where a workflow stores them."""
    api = await limited(allowed_models=["small"])
    test = await World(api).test()
    for model, status in (("small", 200), ("large", 403)):
        config = {"llm_config": {"primary_model": model}}
        start = await api.post("/tests/execute", {"test_id": test["id"], "run_config": config})
        stored = await api.post("/workflows", {"name": fresh("W"), "test_ids": [test["id"]], "run_config": config})
        assert (start.status, stored.status) == (status, 201 if status == 200 else status), (start.text, stored.text)
    assert (start.body["code"], "allowed_models" in start.detail) == ("MODEL_NOT_ALLOWED", True)
    assert created(await api.get("/settings/limits"))["allowed_models"] == ["small"]


async def test_waiting_and_running_runs_and_their_streams(limited: Limited) -> None:
    """One run at a time, one waiting, one follower."""
    api = await limited(concurrent_runs=1, queued_runs=1, streams=1)
    world = World(api)
    workflow = await world.slow_workflow(minutes=1)
    running = await world.start(workflow)
    await eventually(lambda: world.stands(running["id"], "running"))
    waiting = await world.start(workflow)
    path = "/execution/api/execute_workflow_id_async"
    await _counted(api, "queued_runs", (1, 1))
    refused = await api.post(path, {"workflow_id": workflow["id"]})
    check_refusal(refused, 429, "queued_runs")
    assert (await use(api))["concurrent_runs"] == (1, 1)
    url, headers = f"{api.url}/api/v1/executions/{running['id']}/events", {"Authorization": f"Bearer {api.key}"}
    async with aiohttp.request("GET", url, headers=headers) as stream:
        assert stream.status == 200
        check_refusal(await api.get(f"/executions/{waiting['id']}/events"), 429, "streams")
    for execution in (waiting, running):
        assert (await api.post(f"/executions/{execution['id']}/cancel", {})).status == 202
    await _counted(api, "queued_runs", (1, 0))
    created(await api.post("/tests/execute", {"test_id": (await world.test(PASSING))["id"]}))


async def test_runs_of_a_day_and_in_all(limited: Limited) -> None:
    for name, status in (("runs_per_day", 429), ("stored_runs", 403)):
        api = await limited(**{name: 1})
        start = {"test_id": (await World(api).test(PASSING))["id"]}
        created(await api.post("/tests/execute", start))
        check_refusal(await api.post("/tests/execute", start), status, name)
        assert (await use(api))[name] == (1, 1)


async def _counted(api: Api, name: str, expected: tuple[int, int]) -> None:
    """Wait until this use of a limit is shown."""

    async def probe() -> bool:
        return (await use(api))[name] == expected

    await eventually(probe)


async def test_every_limit_is_shown(api: Api) -> None:
    """Of an organisation without limits of its own: those of the deployment."""
    names = set(types_pb2.OrganisationLimits.DESCRIPTOR.fields_by_name) - {"allowed_models", "script_hosts", "screens"}
    shown = await use(api)
    assert shown.keys() == names | {"attached_tests"}
    assert all(limit > 0 for limit, _ in shown.values())
    assert shown["model_calls_per_day"][1] == shown["model_tokens_per_day"][1] == 0


async def say_hello(request: web.Request) -> web.Response:
    return web.Response(text="hello")


async def redirect(request: web.Request) -> web.Response:
    raise web.HTTPFound("http://10.255.255.1/")


@pytest.fixture
async def server() -> AsyncIterator[TestServer]:
    """A host at a loopback address, to which the operator of this stack lets tests connect."""
    app = web.Application()
    app.router.add_get("/", say_hello)
    app.router.add_get("/private", redirect)
    async with TestServer(app, host="127.0.0.1") as running:
        yield running


async def last_message(api: Api, url: str) -> str:
    """What the step says whose script gets the URL."""
    world = World(api)
    app, *_ = await world.passing_app()
    files = [{"path": "get.js", "text": f"// once\noutput.text = http.get('{url}').body\nconsole.log(output.text)"}]
    body = {"flow": "- launchApp\n- runScript: get.js", "flow_files": files}
    test = await world.test(app=app, **body)
    run = await world.only_run(await world.run(await world.workflow(test), run_config={"retries": 0}))
    message: str = run["attempts"][-1]["steps"][-1]["message"]
    return message


async def test_scripts_reach_only_the_hosts_of_their_organisation(limited: Limited, server: TestServer) -> None:
    """The operator's word for an organisation opens no private address that the deployment refuses."""
    none, allowed = await limited(), await limited(script_hosts=["127.0.0.1", "10.255.255.1"])
    hello, place = f"http://127.0.0.1:{server.port}/", "get.js, line 2, column "
    refused = await last_message(none, hello)
    assert refused.startswith(place)
    assert "the organisation has no hosts (limit script_hosts)" in refused
    assert await last_message(allowed, hello) == "hello"
    foreign = await last_message(allowed, "http://169.254.169.254/")
    assert foreign.startswith(place)
    assert "169.254.169.254 is not among the hosts" in foreign
    for url in ("http://10.255.255.1/", f"{hello}private"):
        private = await last_message(allowed, url)
        assert private.startswith(place)
        assert "10.255.255.1 is not a public address" in private
