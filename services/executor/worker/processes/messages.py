"""What a worker and the processes of its attempts send each other: JSON, and after it bytes as they are.

Both sides validate it. So nothing that happens in an attempt's process makes the worker run code.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar

import orjson
from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError

from mobiletest_automation.attempt_request import AttemptRequest
from mobiletest_automation.devices.handles import DeviceHandle
from mobiletest_automation.devices.port import NoteChange
from mobiletest_automation.flows.texts import well_formed_json
from mobiletest_automation.llm.budget import ModelBudget
from mobiletest_automation.llm.chat_protocol import ChatRequest, Reply
from mobiletest_automation.model.failures import Category
from mobiletest_automation.model.results import Artifact, AttemptResult, StepResult
from mobiletest_automation.model.run_config import LlmConfig
from mobiletest_automation.model_ports import ModelUsage
from mobiletest_automation.ports import AcceptedBaselines, EvidenceStore, Human, ScreenStore
from mobiletest_automation.scripting.http import SendHttp
from mobiletest_automation.step_cache.entries import StepCacheStore
from services.chassis.metrics import Count
from services.executor.worker.processes.process_limits import CpuAllowance

T = TypeVar("T")


class CountedModels(Protocol):
    """The models that an attempt may ask; what they cost is counted."""

    async def ask(self, request: ChatRequest) -> Reply:
        """The reply of the model, counted.

        Raises:
            ModelFailed: the model cannot be asked, or its reply cannot be used.
        """

    async def usage(self) -> ModelUsage:
        """What the attempt has used so far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptPorts:
    """What an attempt may call of its worker, and nothing else: these functions, and the public async methods of these
    ports. The worker has implementations, the attempt's process proxies (`remote_ports`); None is not available.

    `acquire_device` is called once, and `note_change` before the device is changed. `read_file` returns a file of the
    test, by its path, and `read_build` so many first bytes of the build's file.
    """

    acquire_device: Callable[[], Awaitable[DeviceHandle]]
    note_change: NoteChange
    read_file: Callable[[str], Awaitable[bytes]]
    evidence: EvidenceStore
    read_build: Callable[[int], Awaitable[bytes]] | None = None
    baselines: AcceptedBaselines | None = None
    cache: StepCacheStore | None = None
    models: CountedModels | None = None
    human: Human | None = None
    send_http: SendHttp | None = None
    screens: ScreenStore | None = None


@dataclass(frozen=True, slots=True)
class ModelOffer:
    """The models that an attempt may ask through its worker."""

    names: LlmConfig
    budget: ModelBudget


@dataclass(frozen=True, slots=True, kw_only=True)
class RunAttempt:
    """`request` has no callables: `ports` names the AttemptPorts that are available. `files` are the paths of the
    test's files.
    """

    request: AttemptRequest
    cpu: CpuAllowance
    ports: tuple[str, ...] = ()
    model: ModelOffer | None = None
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CancelAttempt:
    """End the attempt; it has no result."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The answer to a call that failed. `error` is the class of the exception, `category` and `message` are its own."""

    error: str
    category: Category
    message: str


@dataclass(frozen=True, slots=True)
class ForgetCall:
    """The attempt does not wait for the call with this number any more."""

    number: int


@dataclass(frozen=True, slots=True)
class ReportProgress:
    """The steps that have changed since the last report, all artifacts, and how many steps there are now."""

    steps: tuple[StepResult, ...]
    artifacts: tuple[Artifact, ...]
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishAttempt:
    """`result` is None after a cancellation. `out_of_memory`: the attempt needed more than its process may have.
    `clean`: it ended by itself, and nothing that it began goes on in the process. `counts` are the increments of the
    process's metrics, `memory_bytes` the most that it has used.
    """

    result: AttemptResult | None
    out_of_memory: bool = False
    clean: bool = False
    counts: tuple[Count, ...] = ()
    memory_bytes: int = 0


_KINDS: Final = (RunAttempt, CancelAttempt, Refused, ForgetCall, ReportProgress, FinishAttempt)
_ADAPTERS: Final[dict[type[Any], TypeAdapter[Any]]] = {kind: TypeAdapter(kind) for kind in _KINDS}


class UnknownMessage(Exception):
    """What came from the other side is not one of the messages."""


@dataclass(frozen=True, slots=True)
class RawMessage:
    """A message before its validation: `kind` is the name of its class, of the function that it calls, or ANSWER.

    An answer has the `number` of its call; what is not answered has 0.
    """

    number: int
    kind: str
    body: memoryview
    content: memoryview

    def parse(self, kind: type[T]) -> T:
        """The message as this class.

        Raises:
            InvalidMessage: it is malformed.
        """
        message: T = load(_ADAPTERS[kind], self)
        return message


def load(adapter: TypeAdapter[Any], message: RawMessage) -> Any:
    """What the message's JSON says.

    Raises:
        InvalidMessage: it is malformed; the message has no values, which may be secret.
    """
    try:
        return adapter.validate_json(bytes(message.body))
    except ValidationError as error:
        wrong = error.errors(include_url=False, include_input=False, include_context=False)
        places = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['type']}" for each in wrong[:10])
        raise UnknownMessage(f"invalid {message.kind}: {places}") from None


def dump(adapter: TypeAdapter[Any], value: object) -> bytes:
    """The value in JSON. Texts are made well-formed where they enter; one that was forgotten costs no verdict."""
    try:
        return adapter.dump_json(value)
    except PydanticSerializationError:
        return orjson.dumps(well_formed_json(adapter.dump_python(value, mode="json")))


def frame(number: int, kind: str, body: bytes, content: bytes = b"") -> bytes:
    return b"".join((b"%d %b %d\n" % (number, kind.encode(), len(body)), body, content))


def encode(message: object, *, number: int = 0) -> bytes:
    """A message of one of the classes."""
    return frame(number, type(message).__name__, dump(_ADAPTERS[type(message)], message))


def decode(received: bytes) -> RawMessage:
    """The message in these bytes.

    Raises:
        InvalidMessage: it is malformed.
    """
    head, _, _ = received[:100].partition(b"\n")
    try:
        number, kind, size = head.split(b" ")
        rest = memoryview(received)[len(head) + 1 :]
        return RawMessage(int(number), kind.decode(), rest[: int(size)], rest[int(size) :])
    except ValueError as error:
        raise UnknownMessage("malformed message") from error
