"""What a worker and the processes of its attempts send each other: JSON, and after it the bytes of a file.

Both sides validate it. So nothing that happens in an attempt's process makes the worker run code.
"""

from dataclasses import dataclass
from typing import Any, Final

import orjson
from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError

from mobiletest_automation.attempt_request import AttemptRequest
from mobiletest_automation.devices.handles import DeviceHandle
from mobiletest_automation.flows.texts import well_formed_json
from mobiletest_automation.llm.budget import ModelBudget
from mobiletest_automation.llm.chat_protocol import ChatRequest, Reply
from mobiletest_automation.model.failures import Category
from mobiletest_automation.model.results import Artifact, AttemptResult, StepResult
from mobiletest_automation.model.run_config import LlmConfig
from mobiletest_automation.model.unclean_devices import DeviceChange
from mobiletest_automation.model_ports import ModelUsage
from mobiletest_automation.ports import HumanQuestion
from mobiletest_automation.screen.fingerprint import ScreenFingerprint
from mobiletest_automation.scripting.http import HttpRequest, HttpResponse
from mobiletest_automation.step_cache.entries import CachedSentence, CacheEntry
from services.chassis.metrics import Count
from services.executor.worker.processes.limits import CpuAllowance


@dataclass(frozen=True, slots=True)
class ModelOffer:
    """The models that an attempt may ask through its worker."""

    names: LlmConfig
    budget: ModelBudget


@dataclass(frozen=True, slots=True, kw_only=True)
class RunAttempt:
    """`request` has no callables: the worker is asked for what it has. `files` are the paths of the test's files."""

    request: AttemptRequest
    cpu: CpuAllowance
    model: ModelOffer | None = None
    has_cache: bool = False
    has_human: bool = False
    has_build_file: bool = False
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CancelAttempt:
    """End the attempt; it has no result."""


@dataclass(frozen=True, slots=True)
class AcquireDevice:
    """Answered by DeviceAcquired."""


@dataclass(frozen=True, slots=True)
class DeviceAcquired:
    handle: DeviceHandle


@dataclass(frozen=True, slots=True)
class NoteDeviceChange:
    """Answered by Done once the change is noted, before which it must not be made."""

    change: DeviceChange


@dataclass(frozen=True, slots=True)
class ReadBuild:
    """Answered by Done with the first `limit` bytes of the build's file."""

    limit: int


@dataclass(frozen=True, slots=True)
class ReadFile:
    """Answered by Done with a file of the test, by its path."""

    path: str


@dataclass(frozen=True, slots=True)
class KeepEvidence:
    """The content follows. Answered by EvidenceKept."""

    name: str
    content_type: str


@dataclass(frozen=True, slots=True)
class EvidenceKept:
    """`size` is in bytes, of what was stored."""

    size: int


@dataclass(frozen=True, slots=True)
class LoadBaseline:
    """Answered by BaselineLoaded, and the picture if it was found. The key is that of `baseline_key`."""

    key: str


@dataclass(frozen=True, slots=True)
class BaselineLoaded:
    found: bool


@dataclass(frozen=True, slots=True)
class LoadSentence:
    """Answered by SentenceLoaded. Keys are those of the step cache."""

    key: str


@dataclass(frozen=True, slots=True)
class SentenceLoaded:
    sentence: CachedSentence | None


@dataclass(frozen=True, slots=True)
class AddEntry:
    """Answered by Done, as the two that follow."""

    key: str
    entry: CacheEntry


@dataclass(frozen=True, slots=True)
class SetPlan:
    key: str
    plan: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RemoveEntries:
    key: str
    screens: tuple[ScreenFingerprint, ...]


@dataclass(frozen=True, slots=True)
class AskModel:
    """Answered by ModelAnswered."""

    request: ChatRequest


@dataclass(frozen=True, slots=True)
class ModelAnswered:
    """A reply, or why there is none, and what the models of the attempt have cost so far."""

    reply: Reply | None
    usage: ModelUsage
    category: Category = Category.UNKNOWN
    message: str = ""


@dataclass(frozen=True, slots=True)
class AskHuman:
    """Answered by HumanAnswered."""

    question: HumanQuestion


@dataclass(frozen=True, slots=True)
class HumanAnswered:
    """`text` is None if nobody answered in time."""

    text: str | None


@dataclass(frozen=True, slots=True)
class SendRequest:
    """An HTTP request of a script. Answered by RequestAnswered."""

    request: HttpRequest


@dataclass(frozen=True, slots=True)
class RequestAnswered:
    """A response, or why there is none."""

    response: HttpResponse | None
    message: str = ""


@dataclass(frozen=True, slots=True)
class Done:
    pass


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a call failed; `category` is None for what the attempt can do nothing about."""

    category: Category | None
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


Answer = (
    DeviceAcquired
    | EvidenceKept
    | BaselineLoaded
    | SentenceLoaded
    | ModelAnswered
    | HumanAnswered
    | RequestAnswered
    | Done
    | Refused
)
CacheChange = AddEntry | SetPlan | RemoveEntries
Call = (
    AcquireDevice
    | NoteDeviceChange
    | ReadBuild
    | ReadFile
    | KeepEvidence
    | LoadBaseline
    | LoadSentence
    | CacheChange
    | AskModel
    | AskHuman
    | SendRequest
)
Note = ForgetCall | ReportProgress | FinishAttempt
Message = RunAttempt | CancelAttempt | Answer | Call | Note

_ADAPTERS: Final[dict[type[Any], TypeAdapter[Any]]] = {kind: TypeAdapter(kind) for kind in Message.__args__}
_KINDS: Final[dict[bytes, type[Any]]] = {kind.__name__.encode(): kind for kind in _ADAPTERS}


class InvalidMessage(Exception):
    """What came from the other side is not one of the messages."""


@dataclass(frozen=True, slots=True)
class RawMessage:
    """A message before its validation. An answer has the `number` of its call; what is not answered has 0."""

    number: int
    kind: type[Any]
    body: memoryview
    content: memoryview

    def parse(self) -> Any:
        """Raise InvalidMessage, without values: they may be secret."""
        try:
            return _ADAPTERS[self.kind].validate_json(bytes(self.body))
        except ValidationError as error:
            wrong = error.errors(include_url=False, include_input=False, include_context=False)
            places = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['type']}" for each in wrong[:10])
            raise InvalidMessage(f"invalid {self.kind.__name__}: {places}") from None


def _dump(adapter: TypeAdapter[Any], message: Message) -> bytes:
    """The message in JSON. Texts are made well-formed where they enter; one that was forgotten costs no verdict."""
    try:
        return adapter.dump_json(message)
    except PydanticSerializationError:
        return orjson.dumps(well_formed_json(adapter.dump_python(message, mode="json")))


def encode(message: Message, *, number: int = 0, content: bytes = b"") -> bytes:
    body = _dump(_ADAPTERS[type(message)], message)
    return b"".join((b"%d %b %d\n" % (number, type(message).__name__.encode(), len(body)), body, content))


def decode(received: bytes) -> RawMessage:
    """Raise InvalidMessage."""
    head, _, _ = received[:100].partition(b"\n")
    try:
        number, kind, size = head.split(b" ")
        rest = memoryview(received)[len(head) + 1 :]
        return RawMessage(int(number), _KINDS[kind], rest[: int(size)], rest[int(size) :])
    except (ValueError, KeyError) as error:
        raise InvalidMessage("malformed message") from error
