import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from mobiletest.catalog.v1 import apps_pb2, apps_pb2_grpc, builds_pb2

from deploy.local.ports import LOOPBACK
from services.chassis import context, errors, grpc_server, metrics
from services.chassis.context import Caller, bind
from services.chassis.error_status import MOST_VIOLATIONS, to_domain_error
from services.chassis.errors import DomainError, Violation
from services.chassis.fair_turns import FairTurns
from services.chassis.grpc_channel import MAX_MESSAGE_BYTES
from services.chassis.request_interceptor import KnownOrganisations
from tests.eventually import eventually
from tests.integration.chassis.probe import APPS, Probe, raising, serving
from tests.integration.chassis.proxies import copy_bytes
from tests.unit.chassis.samples import TOKEN, process_settings

SLOW_SECONDS = 0.4
CALLER = Caller(
    "org-1",
    subject="key-1",
    scopes=frozenset({"read", "write"}),
    request_id="r-1",
    traceparent="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    idempotency_key="i-1",
)


@pytest.fixture
async def probe() -> AsyncIterator[Probe]:
    async with serving() as probe:
        with bind(CALLER):
            yield probe


async def failure(call: object) -> DomainError | None:
    with pytest.raises(grpc.aio.AioRpcError) as error:
        await call  # type: ignore[misc]
    return to_domain_error(error.value)


async def test_a_service_that_is_slow_to_answer_a_connection_is_reached(probe: Probe) -> None:
    """As on a busy node."""
    host, _, port = probe.address.rpartition(":")

    async def forward_late(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(SLOW_SECONDS)
        answers, requests = await asyncio.open_connection(host, int(port))
        await asyncio.gather(copy_bytes(reader, requests), copy_bytes(answers, writer))

    async with await asyncio.start_server(forward_late, LOOPBACK, 0) as slow:
        address = f"{LOOPBACK}:{slow.sockets[0].getsockname()[1]}"
        async with grpc_server.open_channel(address, TOKEN) as channel:
            await apps_pb2_grpc.AppsStub(channel).ListApps(apps_pb2.ListAppsRequest())


async def test_an_invalid_request_does_not_reach_the_servicer(probe: Probe) -> None:
    error = await failure(probe.stub.ListApps(apps_pb2.ListAppsRequest(page=0, page_size=501)))
    assert isinstance(error, errors.InvalidArgument)
    assert {(v.field, v.type) for v in error.violations} == {("page", "int32.gte"), ("page_size", "int32.gte_lte")}
    assert probe.apps.requests == []


@pytest.mark.parametrize(
    "raised",
    [
        errors.NotFound("App not found"),
        errors.AlreadyExists("This version exists", reason="VERSION_EXISTS", metadata={"version": "1.0"}),
        errors.Unavailable("down", retry_after=2.5),
        errors.ResourceExhausted("too many", retry_after=30),
    ],
)
async def test_a_domain_error_is_passed_on_and_the_call_not_repeated(probe: Probe, raised: DomainError) -> None:
    probe.apps.then = raising(raised)
    received = await failure(probe.stub.CreateApp(apps_pb2.CreateAppRequest(name="a", platform=1)))
    assert type(received) is type(raised)
    assert vars(received) == vars(raised)
    assert len(probe.apps.callers) == 1


async def test_a_long_list_of_violations_is_truncated(probe: Probe) -> None:
    many = [Violation(f"test_ids[{place}]", "x" * 600, "not_found") for place in range(1000)]

    probe.apps.then = raising(errors.InvalidArgument("test_ids[0]: Test not found", violations=many))
    received = await failure(probe.stub.CreateApp(apps_pb2.CreateAppRequest(name="a", platform=1)))
    assert isinstance(received, errors.InvalidArgument)
    assert [v.field for v in received.violations] == [v.field for v in many[:MOST_VIOLATIONS]]


async def test_the_details_of_an_unexpected_error_are_not_sent(probe: Probe) -> None:
    probe.apps.then = raising(KeyError("a secret detail"))
    with pytest.raises(grpc.aio.AioRpcError) as error:
        await probe.stub.ListApps(apps_pb2.ListAppsRequest())
    assert error.value.code() is grpc.StatusCode.INTERNAL
    assert error.value.details() == "Internal error (request r-1)"


async def test_the_error_of_a_called_service_is_passed_on(probe: Probe) -> None:
    async with serving() as other:
        other.apps.then = raising(errors.NotFound("Build not found"))

        async def ask() -> None:
            await other.stub.ListApps(apps_pb2.ListAppsRequest())

        probe.apps.then = ask
        error = await failure(probe.stub.ListApps(apps_pb2.ListAppsRequest()))
    assert isinstance(error, errors.NotFound)
    assert error.message == "Build not found"
    assert other.apps.callers == [CALLER]


async def test_a_wrong_token_is_refused(probe: Probe) -> None:
    async with grpc_server.open_channel(probe.address, "another-token-altogether") as channel:
        call = channel.unary_unary(
            "/mobiletest.catalog.v1.Apps/ListApps", apps_pb2.ListAppsRequest.SerializeToString, bytes
        )
        with pytest.raises(grpc.aio.AioRpcError) as error:
            await call(apps_pb2.ListAppsRequest())
    assert error.value.code() is grpc.StatusCode.UNAUTHENTICATED
    assert probe.apps.callers == []


async def test_an_organisation_that_does_not_exist_is_refused_before_anything_is_read_or_written() -> None:
    async def find() -> None:
        asked.append(context.current().org_id)
        if asked[-1] != CALLER.org_id:
            raise errors.NotFound("There is no such organisation", reason="ORGANISATION_NOT_FOUND")

    asked: list[str] = []
    async with serving(organisations=KnownOrganisations(find)) as probe:
        with bind(replace(CALLER, org_id="nobody")):
            for call in (
                probe.stub.CreateApp(apps_pb2.CreateAppRequest(name="a", platform=1)),
                probe.builds_stub.UploadBuild(iter([builds_pb2.UploadBuildRequest(chunk=b"x")])),
                probe.builds_stub.DownloadBuild(builds_pb2.DownloadBuildRequest(version_id="b")).read(),
            ):
                received = await failure(call)
                assert (type(received), received and received.reason) == (errors.NotFound, "ORGANISATION_NOT_FOUND")
        assert (probe.apps.callers, probe.builds.closed.is_set()) == ([], False)
        asked.clear()
        with bind(CALLER):
            for _ in range(2):
                await probe.stub.ListApps(apps_pb2.ListAppsRequest())
        assert asked == [CALLER.org_id]


async def test_every_call_has_its_caller_and_a_deadline(probe: Probe) -> None:
    await probe.stub.ListApps(apps_pb2.ListAppsRequest())
    assert probe.apps.callers == [CALLER]
    (left,) = probe.apps.time_left
    assert left is not None
    assert 0 < left <= 5.1  # gRPC rounds a timeout up


async def test_an_outgoing_call_is_limited_by_the_deadline_of_its_request(probe: Probe) -> None:
    with context.limit_time(1.0):
        await probe.stub.ListApps(apps_pb2.ListAppsRequest())
    (left,) = probe.apps.time_left
    assert left is not None
    assert left < 1  # gRPC rounds a timeout up, by less than the margin


async def test_a_request_past_its_deadline_makes_no_calls(probe: Probe) -> None:
    with context.limit_time(0.01), pytest.raises(errors.DeadlineExceeded):
        probe.stub.ListApps(apps_pb2.ListAppsRequest())
    assert probe.apps.callers == []


async def test_a_servicer_is_cancelled_with_its_call(probe: Probe) -> None:
    reached, stopped = asyncio.Event(), asyncio.Event()

    async def hang() -> None:
        reached.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    probe.apps.then = hang
    while not reached.is_set():  # a slow machine may need more than one call to get there in time
        error = await failure(probe.stub.ListApps(apps_pb2.ListAppsRequest(), timeout=0.2))
        assert isinstance(error, errors.DeadlineExceeded)
    await stopped.wait()


async def test_a_call_can_be_cancelled(probe: Probe) -> None:
    probe.apps.then = asyncio.Event().wait  # type: ignore[assignment]

    async def call() -> None:
        await probe.stub.ListApps(apps_pb2.ListAppsRequest())

    task = asyncio.create_task(call())
    await eventually(lambda: probe.apps.callers)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_an_organisation_leaves_turns_at_pages_to_others() -> None:
    """What is no page takes no turn."""
    turns = FairTurns(2, per_org=1, waiting_per_org=9, waiting=9)
    go_on = asyncio.Event()
    async with serving(page_turns=turns) as probe:
        probe.apps.then = go_on.wait  # type: ignore[assignment]
        calls = []
        for caller in (*[CALLER] * 3, replace(CALLER, org_id="org-2")):
            with bind(replace(caller, idempotency_key=None)):
                calls.append(asyncio.ensure_future(probe.stub.ListApps(apps_pb2.ListAppsRequest())))
        await eventually(lambda: turns.waiting == 2)
        assert sorted(caller.org_id for caller in probe.apps.callers) == ["org-1", "org-2"]
        with bind(replace(CALLER, idempotency_key=None)):
            calls.append(asyncio.ensure_future(probe.stub.CreateApp(apps_pb2.CreateAppRequest(name="a", platform=1))))
        await eventually(lambda: len(probe.apps.callers) == 3)
        go_on.set()
        await asyncio.gather(*calls)


async def test_an_upload_is_a_stream_of_messages(probe: Probe) -> None:
    async def pieces() -> AsyncIterator[builds_pb2.UploadBuildRequest]:
        for _ in range(4):
            yield builds_pb2.UploadBuildRequest(chunk=b"x" * 100_000)

    build = await probe.builds_stub.UploadBuild(pieces())
    assert (build.size_bytes, build.id) == (400_000, "org-1")


VERSION = "6f1b1f0e-5b0f-4d3e-9d1c-6d1f2a7c9b10"


async def test_a_stream_ends_when_the_client_cancels(probe: Probe) -> None:
    probe.builds.pieces = 256
    call = probe.builds_stub.DownloadBuild(builds_pb2.DownloadBuildRequest(version_id=VERSION))
    async for _ in call:
        break
    call.cancel()
    await probe.builds.closed.wait()


async def test_a_message_that_is_too_large_is_refused(probe: Probe) -> None:
    large = apps_pb2.CreateAppRequest(name="x" * (MAX_MESSAGE_BYTES + 1), platform=1)
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await probe.stub.CreateApp(large)
    assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    await probe.stub.ListApps(apps_pb2.ListAppsRequest())


async def test_idempotent_calls_are_retried_while_unavailable(probe: Probe) -> None:
    remaining = [1, 1]

    async def fail_twice() -> None:
        if remaining:
            remaining.pop()
            raise errors.Unavailable("not yet")

    probe.apps.then = fail_twice
    await probe.stub.ListApps(apps_pb2.ListAppsRequest())
    assert len(probe.apps.callers) == 3


async def test_client_and_server_count_calls(probe: Probe) -> None:
    await probe.stub.ListApps(apps_pb2.ListAppsRequest())
    labels = 'grpc_code="OK",grpc_method="ListApps",grpc_service="mobiletest.catalog.v1.Apps"'

    def shown() -> bool:
        text = metrics.render().decode()
        return f"grpc_server_handled_total{{{labels}}}" in text and f"grpc_client_handled_total{{{labels}}}" in text

    await eventually(shown)


async def test_a_stopping_server_finishes_running_calls() -> None:
    entered, go = asyncio.Event(), asyncio.Event()

    async def wait() -> None:
        entered.set()
        await go.wait()

    async with serving(process_settings(shutdown_grace_seconds=10)) as probe:
        probe.apps.then = wait
        channel = grpc_server.open_channel(probe.address, TOKEN)
        call = asyncio.ensure_future(_list(apps_pb2_grpc.AppsStub(channel)))
        await entered.wait()
        asyncio.get_running_loop().call_later(0.2, go.set)
    assert await call == apps_pb2.ListAppsResponse()
    await channel.close()


async def _list(stub: apps_pb2_grpc.AppsStub) -> apps_pb2.ListAppsResponse:
    with bind(CALLER):
        response: apps_pb2.ListAppsResponse = await stub.ListApps(apps_pb2.ListAppsRequest())
    return response


async def test_calls_fail_at_once_during_an_outage_of_the_database(probe: Probe) -> None:
    probe.health.register("mongodb", raising(errors.Unavailable("The database is away", retry_after=1.0)))
    await probe.health.started()
    error = await failure(probe.stub.CreateApp(apps_pb2.CreateAppRequest(name="a", platform=1)))
    assert isinstance(error, errors.Unavailable)
    assert error.retry_after == 1.0
    assert probe.apps.callers == []


async def test_a_channel_is_ready_only_while_it_is_connected() -> None:
    async with serving() as probe:
        await eventually(lambda: _ready(probe))
        address = probe.address
    async with grpc_server.open_channel(address, TOKEN, services=[APPS]) as channel:
        with pytest.raises(errors.Unavailable):
            await channel.check()


async def _ready(probe: Probe) -> bool:
    try:
        await probe.channel.check()
    except errors.Unavailable:
        return False
    return True


async def test_health_checks_need_no_token() -> None:
    async with serving() as probe, grpc.aio.insecure_channel(probe.address) as channel:
        await probe.health.started()
        stub = health_pb2_grpc.HealthStub(channel)
        answer = await stub.Check(health_pb2.HealthCheckRequest(service="mobiletest.catalog.v1.Apps"))
    assert answer.status == health_pb2.HealthCheckResponse.SERVING


@pytest.mark.parametrize("on", [True, False])
async def test_reflection_can_be_enabled(on: bool) -> None:
    async with serving(process_settings(reflection=on)) as probe, grpc.aio.insecure_channel(probe.address) as channel:
        stub = reflection_pb2_grpc.ServerReflectionStub(channel)
        asked = reflection_pb2.ServerReflectionRequest(list_services="")
        call = stub.ServerReflectionInfo(iter([asked]))
        if on:
            names = {service.name for service in (await call.read()).list_services_response.service}
            assert {"mobiletest.catalog.v1.Apps", "grpc.health.v1.Health"} <= names
        else:
            with pytest.raises(grpc.aio.AioRpcError):
                await call.read()
