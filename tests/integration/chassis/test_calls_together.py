"""Several calls of one method in one message."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import grpc
import pytest
from google.rpc import status_pb2
from mobiletest.calls.v1 import calls_pb2
from mobiletest.catalog.v1 import apps_pb2

from services.chassis.call_together import AT_ONCE, MAX_CALLS, PATH
from services.chassis.context import ALL_SCOPES, Caller, bind
from services.chassis.error_status import from_proto
from services.chassis.grpc_channel import Channel, identity
from services.chassis.grpc_server import open_channel
from services.chassis.idempotency import MIGRATION, Idempotency
from services.chassis.migrations import open_migrated
from tests.callers import callers
from tests.eventually import eventually
from tests.integration.chassis.probe import Probe, serving
from tests.unit.chassis.samples import TOKEN, process_settings

CREATE = "/mobiletest.catalog.v1.Apps/CreateApp"
CALLER = Caller("org-1", subject="key-1", scopes=ALL_SCOPES, request_id="r-1")
OK, INVALID_ARGUMENT, PERMISSION_DENIED, RESOURCE_EXHAUSTED, UNAVAILABLE = 0, 3, 7, 8, 14


@pytest.fixture
async def probe(mongo_uri: str, mongo_database: str) -> AsyncIterator[Probe]:
    async with (
        open_migrated(mongo_uri, mongo_database, [MIGRATION]) as mongo,
        serving(process_settings(callers=callers(TOKEN, "gateway")), idempotency=Idempotency(mongo)) as probe,
    ):
        yield probe


def creation(name: str, caller: Caller = CALLER) -> calls_pb2.Call:
    request = apps_pb2.CreateAppRequest(name=name, platform=apps_pb2.CreateAppRequest(platform=1).platform)
    return calls_pb2.Call(request=request.SerializeToString(), metadata=dict(identity(caller)))


async def together(
    channel: Channel, *calls: calls_pb2.Call, method: str = CREATE, answer_bytes: int = 0
) -> list[calls_pb2.Answer]:
    send = channel.unary_unary(
        PATH,
        request_serializer=calls_pb2.CallTogetherRequest.SerializeToString,
        response_deserializer=calls_pb2.CallTogetherResponse.FromString,
    )
    answer: Any = await send(calls_pb2.CallTogetherRequest(method=method, calls=calls, answer_bytes=answer_bytes))
    return list(answer.answers)


async def test_each_call_has_its_own_caller_validation_and_status(probe: Probe) -> None:
    other = replace(CALLER, org_id="org-2", subject="key-2", request_id="r-2")
    reader = replace(CALLER, scopes=frozenset({"read"}))
    answers = await together(
        probe.channel, creation("a"), creation("b", other), creation(" "), creation("c", reader), creation("d")
    )
    assert [answer.code for answer in answers] == [OK, OK, INVALID_ARGUMENT, PERMISSION_DENIED, OK]
    assert [apps_pb2.App.FromString(answers[i].response).name for i in (0, 1, 4)] == ["a", "b", "d"]
    assert {(c.org_id, c.subject, c.request_id) for c in probe.apps.callers} == {
        ("org-1", "key-1", "r-1"),
        ("org-2", "key-2", "r-2"),
    }
    invalid = from_proto(status_pb2.Status.FromString(answers[2].details))
    assert [violation.field for violation in invalid.violations] == ["name"]
    assert "scope" in answers[3].message


async def test_the_calls_run_at_the_same_time_within_the_deadline_of_the_message(probe: Probe) -> None:
    async def until_both_are_there() -> None:
        await eventually(lambda: len(probe.apps.callers) == 2)

    probe.apps.then = until_both_are_there
    assert [answer.code for answer in await together(probe.channel, creation("a"), creation("b"))] == [OK, OK]
    assert all(left is not None for left in probe.apps.time_left)


async def test_calls_with_one_idempotency_key_create_once(probe: Probe) -> None:
    caller = replace(CALLER, idempotency_key="k")
    first, second = await together(probe.channel, creation("a", caller), creation("a", caller))
    assert sorted((first.code, second.code)) in ([OK, OK], [OK, UNAVAILABLE])
    assert len(probe.apps.ids) == 1
    [again] = await together(probe.channel, creation("a", caller))
    assert apps_pb2.App.FromString(again.response).id == probe.apps.ids[0]
    assert dict(again.metadata) == {"x-idempotent-replayed": "true"}


async def test_the_token_is_that_of_the_message(probe: Probe) -> None:
    forged = creation("a")
    forged.metadata["authorization"] = "Bearer another"
    assert [answer.code for answer in await together(probe.channel, forged)] == [OK]
    async with open_channel(probe.address, "a wrong token of a service") as stranger:
        with pytest.raises(grpc.aio.AioRpcError) as error:
            await together(stranger, creation("a"))
    assert error.value.code() is grpc.StatusCode.UNAUTHENTICATED


@pytest.mark.parametrize(
    "method", ["/mobiletest.catalog.v1.Apps/Unknown", "/mobiletest.catalog.v1.Builds/UploadBuild", PATH, ""]
)
async def test_only_unary_methods_of_the_server_are_called(probe: Probe, method: str) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as error:
        await together(probe.channel, creation("a"), method=method)
    assert error.value.code() is grpc.StatusCode.UNIMPLEMENTED


async def test_the_calls_of_a_message_are_limited(probe: Probe) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as error:
        await together(probe.channel, *[creation("a")] * (MAX_CALLS + 1))
    assert error.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert probe.apps.callers == []


async def test_calls_whose_answers_would_be_too_large_for_one_message_are_not_made(probe: Probe) -> None:
    answers = await together(probe.channel, *[creation("x" * 100)] * 20, answer_bytes=100)
    made = [answer for answer in answers if answer.code == OK]
    assert 1 <= len(made) == len(probe.apps.callers) <= AT_ONCE
    assert {answer.code for answer in answers if answer not in made} == {RESOURCE_EXHAUSTED}


async def test_a_message_that_is_given_up_ends_its_calls(probe: Probe) -> None:
    ended: list[str] = []

    async def until_cancelled() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("call")

    probe.apps.then = until_cancelled
    with bind(CALLER):
        message = asyncio.create_task(together(probe.channel, creation("a"), creation("b")))
    await eventually(lambda: len(probe.apps.callers) == 2)
    message.cancel()
    await eventually(lambda: ended == ["call", "call"])
