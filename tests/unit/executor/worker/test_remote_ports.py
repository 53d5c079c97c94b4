"""What the process of an attempt can call of its worker: what the annotations of the ports say, and nothing else."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

import pytest

from mobiletest_automation.devices.port import DeviceFailure
from mobiletest_automation.model.failures import Category
from mobiletest_automation.model_ports import ModelFailed
from mobiletest_automation.scripting.http import HttpFailed
from services.executor.worker.processes.messages import ForgetCall, Refused, UnknownMessage, decode, frame
from services.executor.worker.processes.remote_ports import (
    ANSWER,
    CallFailed,
    PortServer,
    WorkerLink,
    functions_of,
)
from tests.eventually import eventually


@dataclass(frozen=True)
class Note:
    title: str
    written: datetime
    pages: tuple[bytes, ...] = ()


class Notes(Protocol):
    async def add(self, org_id: str, note: Note, *, copies: int = 1) -> int: ...

    async def titles(self, first: str, others: Sequence[str] = ()) -> tuple[str, ...]: ...

    async def attach(self, name: str, content: bytes) -> bytes | None: ...


class SignedNotes(Notes, Protocol):
    """The port with a method more: nothing else is written for it."""

    async def sign(self, note: Note, by: str | None = None) -> Note: ...


@dataclass(frozen=True, kw_only=True)
class Ports:
    notes: SignedNotes
    read: Callable[[int, str], Awaitable[bytes]] | None = None


class WorkerNotes:
    """The port `SignedNotes`."""

    def __init__(self) -> None:
        self.called: list[tuple[object, ...]] = []
        self.failure: Exception | None = None
        self.answers = asyncio.Event()
        self.answers.set()

    async def add(self, org_id: str, note: Note, *, copies: int = 1) -> int:
        self.called.append((org_id, note, copies))
        return copies

    async def titles(self, first: str, others: Sequence[str] = ()) -> tuple[str, ...]:
        self.called.append((first, *others))
        await self.answers.wait()
        if self.failure is not None:
            raise self.failure
        return (first, *others)

    async def attach(self, name: str, content: bytes) -> bytes | None:
        self.called.append((name, content))
        return content[::-1] or None

    async def sign(self, note: Note, by: str | None = None) -> Note:
        return Note(f"{note.title}, {by}", note.written, note.pages)

    async def burn(self) -> None:
        """Of this class, and not of the port."""
        self.called.append(("burn",))

    async def _hide(self) -> None:
        self.called.append(("hide",))


async def read(size: int, name: str) -> bytes:
    return f"{name}{size}".encode()


class Wire:
    """Takes messages of the process to the server, and its answers back."""

    def __init__(self, ports: Ports) -> None:
        functions = functions_of(Ports)
        self.server = PortServer(functions, ports, {"org_id": "org-of-the-worker"})
        stream: Any = self
        self.link = WorkerLink(stream, functions)
        self.forgotten: list[int] = []
        self._answering: set[asyncio.Task[None]] = set()

    async def send(self, message: bytes) -> None:
        if decode(message).kind == ForgetCall.__name__:
            self.forgotten.append(decode(message).parse(ForgetCall).number)
        else:
            self._answering.add(asyncio.create_task(self._answer(message)))

    async def _answer(self, message: bytes) -> None:
        self.link.receive(decode(await self.server.answer(decode(message))))

    async def forge(self, name: str, arguments: bytes, content: bytes = b"") -> Refused | None:
        """What the server says to a call that no proxy makes; None if it is an answer."""
        answer = decode(await self.server.answer(decode(frame(1, name, arguments, content))))
        return None if answer.kind == ANSWER else answer.parse(Refused)


NOTE = Note("a", datetime(2026, 1, 1, tzinfo=UTC), (b"\xff\x00", b""))


@pytest.fixture
def notes() -> WorkerNotes:
    return WorkerNotes()


@pytest.fixture
def wire(notes: WorkerNotes) -> Wire:
    return Wire(Ports(notes=notes, read=read))


@pytest.fixture
def ports(wire: Wire) -> Ports:
    return wire.link.proxies(Ports, wire.server.available)


async def test_methods_of_a_port_are_called_by_what_it_declares(notes: WorkerNotes, ports: Ports) -> None:
    """With its annotations alone: the proxy and the server of a new method need no code."""
    assert await ports.notes.titles("a") == ("a",)
    assert await ports.notes.titles("a", others=["b", "\ud83d"]) == ("a", "b", "\ufffd")
    assert await ports.notes.attach("a", b"\xff\x00") == b"\x00\xff"
    assert await ports.notes.attach("a", b"") is None
    assert await ports.notes.sign(NOTE, "me") == Note("a, me", NOTE.written, NOTE.pages)
    assert ports.read is not None
    assert await ports.read(3, "n") == b"n3"
    assert notes.called == [("a",), ("a", "b", "\ufffd"), ("a", b"\xff\x00"), ("a", b"")]


async def test_the_process_does_not_say_for_which_organisation_it_calls(
    notes: WorkerNotes, ports: Ports, wire: Wire
) -> None:
    assert await ports.notes.add("another-org", NOTE, copies=2) == 2
    assert await wire.forge("notes.add", b'["another-org", {"title": "a", "written": 0}, 1]') is not None
    assert notes.called == [("org-of-the-worker", NOTE, 2)]


@pytest.mark.parametrize(
    "name",
    [
        *("notes.burn", "notes._hide", "notes.__init__", "notes.called.clear", "notes.add.__globals__", "notes"),
        *("", "read.", "read.__call__", "_ports", "__class__", "server.answer", ANSWER, "RunAttempt", "\ud7ff"),
    ],
)
async def test_nothing_else_can_be_called(notes: WorkerNotes, wire: Wire, name: str) -> None:
    refused = await wire.forge(name, b"[]")
    assert refused is not None
    assert refused.message == f"UnknownMessage: {name} is not available"
    assert notes.called == []


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        *(("notes.titles", arguments) for arguments in (b"", b"[", b"[]", b'["a"]', b'["a", [], 1]', b'[["a"], []]')),
        *(("notes.titles", arguments) for arguments in (b'["a", "b"]', b'{"first": "a", "others": []}', b"null")),
        *(("notes.add", arguments) for arguments in (b'[{"title": "a"}, 1]', b'[{"title": "a", "written": "x"}, 1]')),
        *(("notes.attach", arguments) for arguments in (b'["a", false]', b'["a", "x"]', b'["a"]')),
    ],
)
async def test_arguments_have_the_types_of_the_port(
    notes: WorkerNotes, wire: Wire, name: str, arguments: bytes
) -> None:
    refused = await wire.forge(name, arguments)
    assert refused is not None
    assert refused.message.startswith(f"UnknownMessage: invalid {name}: ")
    assert notes.called == []


async def test_a_port_that_is_not_available_is_none_and_refuses(notes: WorkerNotes) -> None:
    wire = Wire(Ports(notes=notes))
    assert wire.link.proxies(Ports, wire.server.available).read is None
    assert await wire.forge("read", b'[1, "a"]') == Refused(
        "CallFailed", Category.UNKNOWN, "UnknownMessage: read is not available"
    )


class DriverFailure(DeviceFailure):
    """A more precise one."""


@pytest.mark.parametrize(
    ("failure", "kind", "text"),
    [
        (DriverFailure(Category.APP_CRASH, "it crashed"), DeviceFailure, "it crashed"),
        (ModelFailed(Category.LLM_UNAVAILABLE, "it is away"), ModelFailed, "it is away"),
        (HttpFailed("no such host"), HttpFailed, "no such host"),
        (KeyError("a"), CallFailed, "KeyError: 'a'"),
    ],
)
async def test_failures_of_ports_are_raised_in_the_process(
    notes: WorkerNotes, ports: Ports, failure: Exception, kind: type[Exception], text: str
) -> None:
    notes.failure = failure
    with pytest.raises(kind) as raised:
        await ports.notes.titles("a")
    assert (type(raised.value), str(raised.value)) == (kind, text)
    assert getattr(raised.value, "category", None) == getattr(failure, "category", None)


async def test_an_abandoned_call_is_dropped(notes: WorkerNotes, ports: Ports, wire: Wire) -> None:
    notes.answers.clear()
    call = asyncio.ensure_future(ports.notes.titles("a"))
    await eventually(lambda: notes.called)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert wire.forgotten == [1]
    notes.answers.set()
    assert await ports.notes.titles("b") == ("b",)


class WrongWire(Wire):
    """Answers with a number."""

    async def _answer(self, message: bytes) -> None:
        self.link.receive(decode(frame(decode(message).number, ANSWER, b"[1]")))


async def test_an_answer_has_the_type_of_the_port(notes: WorkerNotes) -> None:
    wire = WrongWire(Ports(notes=notes))
    with pytest.raises(UnknownMessage, match=r"invalid answer: 0: tuple_type"):
        await wire.link.proxies(Ports, wire.server.available).notes.titles("a")
