"""What the process of an attempt sends to its worker that it should not costs only its own attempt."""

import asyncio
from dataclasses import dataclass, field

import pytest

from mobiletest_automation.attempt_request import AttemptRequest
from mobiletest_automation.devices.port import NO_BUILD, Seed
from mobiletest_automation.model.failures import Category
from mobiletest_automation.model.results import AttemptResult
from mobiletest_automation.ports import HumanQuestion
from services.chassis.child_process import ChildEnded
from services.executor.worker.processes.host import REPORTS_LIMIT, AttemptHost, Services
from services.executor.worker.processes.messages import (
    FinishAttempt,
    ReportProgress,
    RunAttempt,
    encode,
    frame,
)
from services.executor.worker.processes.process import CALLS_AT_ONCE, AttemptConversation
from tests.eventually import eventually
from tests.fakes.attempt_processes import LIMITS
from tests.fakes.devices import FakeDevices, FakeEvidence

QUESTION = b'[{"text": "t", "step_index": 0, "options": []}]'
ORDER = RunAttempt(
    request=AttemptRequest(run_id="r", attempt=1, platform="android", steps=[]), cpu=LIMITS.cpu, ports=("human",)
)


@dataclass
class ScriptedChild:
    """The port `Child`: sends these messages, and then nothing until it is killed."""

    messages: list[bytes]
    pid = 1
    running = True
    killed: asyncio.Event = field(default_factory=asyncio.Event)

    async def send(self, message: bytes) -> None:
        return None

    async def receive(self) -> bytes:
        if not self.messages:
            await self.killed.wait()
            raise ChildEnded(-9)
        return self.messages.pop(0)

    def kill(self) -> None:
        self.killed.set()

    async def stop(self) -> int:
        return -9


class SlowPerson:
    """The port `Human`: answers when it may."""

    def __init__(self) -> None:
        self.answers = asyncio.Event()
        self.waiting = 0
        self.most_waiting = 0

    async def ask(self, question: HumanQuestion) -> str | None:
        self.waiting += 1
        self.most_waiting = max(self.most_waiting, self.waiting)
        try:
            await self.answers.wait()
            return "skip"
        finally:
            self.waiting -= 1


def conversation(child: ScriptedChild, person: SlowPerson) -> AttemptConversation:
    services = Services(devices=FakeDevices(), evidence=FakeEvidence(), human=person)
    host = AttemptHost(services, org_id="org", platform="android", build=NO_BUILD, seed=Seed("r", 1))
    return AttemptConversation(child, host, LIMITS)


REPORT = encode(ReportProgress((), (), 0))


@pytest.mark.parametrize(
    ("messages", "why"),
    [
        ([b""], "malformed message"),
        ([b"x" * 2**20], "malformed message"),
        ([b"1 human.ask\n[]"], "malformed message"),
        ([b"1 \xff 2\n[]"], "malformed message"),
        ([frame(0, "FinishAttempt", b'{"result": 1}')], "invalid FinishAttempt"),
        ([frame(0, "ForgetCall", b"[]")], "invalid ForgetCall"),
        ([frame(7, "human.ask", QUESTION)] * 2, "duplicate call number"),
        ([REPORT] * (REPORTS_LIMIT + 1), "too many reports"),
    ],
)
async def test_a_malformed_message_ends_the_attempt_and_its_process(messages: list[bytes], why: str) -> None:
    child, person = ScriptedChild([*messages, encode(FinishAttempt(result=AttemptResult()))]), SlowPerson()
    result = await conversation(child, person).run(ORDER)
    assert result.failure is not None
    assert result.failure.category is Category.SESSION_LOST
    assert why in result.failure.message
    assert child.killed.is_set()
    await eventually(lambda: person.waiting == 0)


async def test_calls_are_answered_some_at_a_time() -> None:
    calls = [frame(number, "human.ask", QUESTION) for number in range(1, 100)]
    child, person = ScriptedChild([*calls, encode(FinishAttempt(result=AttemptResult()))]), SlowPerson()
    running = asyncio.create_task(conversation(child, person).run(ORDER))
    await eventually(lambda: person.waiting == CALLS_AT_ONCE)
    person.answers.set()
    assert await running == AttemptResult()
    assert person.most_waiting == CALLS_AT_ONCE


async def test_a_call_that_is_refused_leaves_the_attempt_its_verdict() -> None:
    end = encode(FinishAttempt(result=AttemptResult(), clean=True))
    child = ScriptedChild([frame(1, "human.__init__", b"[]"), frame(2, "RunAttempt", b"[]"), end])
    result = await conversation(child, SlowPerson()).run(ORDER)
    assert result == AttemptResult()
    assert not child.killed.is_set()
