"""Ports over a connection: the process of an attempt has proxies, which call what its worker serves.

Both sides derive from the annotations of the ports what can be called, with which arguments and results: a new method
needs nothing here. The worker does not trust the process: it calls nothing else, validates arguments, and gives the
identities itself.
"""

import asyncio
import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from itertools import count
from types import NoneType, SimpleNamespace
from typing import Any, Literal, TypeAlias, TypeVar, get_args, get_origin, get_type_hints

from pydantic import ConfigDict, TypeAdapter

from mobiletest_automation.devices.port import DeviceFailure
from mobiletest_automation.model.failures import Category
from mobiletest_automation.model_ports import ModelFailed
from mobiletest_automation.scripting.http import HttpFailed
from services.chassis import logs
from services.chassis.message_stream import MessageStream
from services.executor.worker.processes.messages import (
    ForgetCall,
    RawMessage,
    Refused,
    UnknownMessage,
    dump,
    encode,
    frame,
    load,
)

# Parameters with these names are never sent: the worker knows them.
IDENTITIES = frozenset(("org_id", "run_id", "test_id"))
# What ports raise is raised in the process too; anything else is a CallFailed there.
FAILURES = (DeviceFailure, ModelFailed, HttpFailed)
ANSWER = "answer"
_TUPLE: Any = tuple
_BYTES_INSIDE = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")

T = TypeVar("T")
log = logs.get(__name__)


class CallFailed(Exception):
    """The worker could not do what it was asked for."""


class Values:
    """Values of these types as JSON; the first that is bytes follows it as it is."""

    def __init__(self, types: Sequence[Any]) -> None:
        kinds = list(types)
        self._bytes_at = next((n for n, kind in enumerate(types) if kind in (bytes, bytes | None)), None)
        if self._bytes_at is not None:
            kinds[self._bytes_at] = Literal[True] if types[self._bytes_at] is bytes else bool
        self._adapter: TypeAdapter[tuple[Any, ...]] = TypeAdapter(_TUPLE[tuple(kinds)], config=_BYTES_INSIDE)

    def dump(self, values: Sequence[Any]) -> tuple[bytes, bytes]:
        """The JSON and the bytes after it."""
        plain, content = list(values), b""
        if self._bytes_at is not None:
            content = plain[self._bytes_at] or b""
            plain[self._bytes_at] = plain[self._bytes_at] is not None
        return dump(self._adapter, tuple(plain)), content

    def load(self, message: RawMessage) -> list[Any]:
        """The values in a message, and its content where bytes are expected.

        Raises:
            InvalidMessage: it is malformed.
        """
        values = list(load(self._adapter, message))
        if self._bytes_at is not None:
            values[self._bytes_at] = bytes(message.content) if values[self._bytes_at] else None
        return values


class RemoteFunction:
    """A method of a port; `method` is "" where the port is a function."""

    def __init__(self, port: str, method: str, types: Mapping[str, Any], defaults: Mapping[str, Any]) -> None:
        """`types` are those of the parameters, by their names, and of what is returned."""
        self.port = port
        self.method = method
        self.name = f"{port}.{method}" if method else port
        self._parameters = [name for name in types if name != "return"]
        self._defaults = defaults
        self._sent = [name for name in self._parameters if name not in IDENTITIES]
        self._identities = [name for name in self._parameters if name in IDENTITIES]
        self._arguments = Values([types[name] for name in self._sent])
        self._result = Values([types["return"]])

    def dump_call(self, arguments: Sequence[object], named: Mapping[str, object]) -> tuple[bytes, bytes]:
        """The JSON of the arguments and the bytes after it."""
        values = {**self._defaults, **dict(zip(self._parameters, arguments, strict=False)), **named}
        return self._arguments.dump([values[name] for name in self._sent])

    async def call(self, port: Any, message: RawMessage, identities: Mapping[str, object]) -> tuple[bytes, bytes]:
        """The JSON of the result and the bytes after it. Raise InvalidMessage, and what the port raises."""
        values = self._arguments.load(message)
        if not self.method:
            return self._result.dump([await port(*values)])
        named = {**dict(zip(self._sent, values, strict=True)), **{name: identities[name] for name in self._identities}}
        return self._result.dump([await getattr(port, self.method)(**named)])

    def load_answer(self, answer: RawMessage) -> Any:
        """The result in an answer.

        Raises:
            InvalidMessage: it is malformed.
        """
        [result] = self._result.load(answer)
        return result


# What can be called, by names such as "evidence.keep".
RemoteFunctions: TypeAlias = Mapping[str, RemoteFunction]


def functions_of(ports: type[Any]) -> RemoteFunctions:
    """What can be called of the ports that are the fields of this class: functions, and public async methods."""
    functions: list[RemoteFunction] = []
    for name, hint in get_type_hints(ports).items():
        [port] = [kind for kind in get_args(hint) if kind is not NoneType] if NoneType in get_args(hint) else [hint]
        functions += _function(name, port) if get_origin(port) is Callable else _methods(name, port)
    return {function.name: function for function in functions}


def _function(port: str, hint: Any) -> list[RemoteFunction]:
    parameters, returned = get_args(hint)
    types = {f"argument_{n}": kind for n, kind in enumerate(parameters)}
    return [RemoteFunction(port, "", {**types, "return": get_args(returned)[0]}, {})]


def _methods(port: str, protocol: type[Any]) -> list[RemoteFunction]:
    functions: list[RemoteFunction] = []
    for method, declared in inspect.getmembers(protocol, inspect.iscoroutinefunction):
        if not method.startswith("_"):
            parameters = inspect.signature(declared).parameters.items()
            defaults = {name: given.default for name, given in parameters if given.default is not given.empty}
            functions.append(RemoteFunction(port, method, get_type_hints(declared), defaults))
    return functions


class PortServer:
    """Answers the calls of a process."""

    def __init__(self, functions: RemoteFunctions, ports: object, identities: Mapping[str, object]) -> None:
        """`functions` are those of the class of `ports`, of which those that are None are not available."""
        self._functions = functions
        self._ports = ports
        self._identities = identities

    @property
    def available(self) -> tuple[str, ...]:
        names = dict.fromkeys(function.port for function in self._functions.values())
        return tuple(name for name in names if getattr(self._ports, name) is not None)

    async def answer(self, call: RawMessage) -> bytes:
        """The message that answers the call, whatever comes of it."""
        try:
            return frame(call.number, ANSWER, *await self._call(call))
        except FAILURES as failure:
            name = next(kind.__name__ for kind in FAILURES if isinstance(failure, kind))
            refused = Refused(name, getattr(failure, "category", Category.UNKNOWN), str(failure))
        except Exception as error:
            log.warning("attempt_call_failed", call=call.kind, error=repr(error))
            refused = Refused(CallFailed.__name__, Category.UNKNOWN, f"{type(error).__name__}: {error}")
        return encode(refused, number=call.number)

    async def _call(self, call: RawMessage) -> tuple[bytes, bytes]:
        function = self._functions.get(call.kind)
        port = getattr(self._ports, function.port) if function is not None else None
        if function is None or port is None:
            raise UnknownMessage(f"{call.kind} is not available")
        return await function.call(port, call, self._identities)


class WorkerLink:
    """Calls of the worker, any number at a time."""

    def __init__(self, stream: MessageStream, functions: RemoteFunctions) -> None:
        self._stream = stream
        self._functions = functions
        self._numbers = count(1)
        self._waiting: dict[int, asyncio.Future[RawMessage]] = {}

    def proxies(self, ports: type[T], available: Collection[str]) -> T:
        """An object of the class of ports that the functions are of, with proxies for those that are available.

        They raise what the port raises if it is one of FAILURES, else CallFailed.
        """
        proxies: dict[str, Any] = {}
        for function in self._functions.values():
            if function.port in available:
                call = partial(self._call, function)
                if function.method:
                    setattr(proxies.setdefault(function.port, SimpleNamespace()), function.method, call)
                else:
                    proxies[function.port] = call
        return ports(**proxies)

    async def _call(self, function: RemoteFunction, /, *arguments: object, **named: object) -> Any:
        number = next(self._numbers)
        waiting = self._waiting[number] = asyncio.get_running_loop().create_future()
        try:
            await self._stream.send(frame(number, function.name, *function.dump_call(arguments, named)))
            answer = await waiting
        except asyncio.CancelledError:
            await self.notify(ForgetCall(number))
            raise
        finally:
            del self._waiting[number]
        if answer.kind != ANSWER:
            raise _exception(answer.parse(Refused))
        return function.load_answer(answer)

    async def notify(self, message: object) -> None:
        """Send what needs no answer."""
        await self._stream.send(encode(message))

    def close(self) -> None:
        self._stream.close()

    def receive(self, answer: RawMessage) -> None:
        """Give the answer to the call that waits for it, if it still does."""
        waiting = self._waiting.get(answer.number)
        if waiting is not None and not waiting.done():
            waiting.set_result(answer)


def _exception(refused: Refused) -> Exception:
    match refused.error:
        case DeviceFailure.__name__:
            return DeviceFailure(refused.category, refused.message)
        case ModelFailed.__name__:
            return ModelFailed(refused.category, refused.message)
        case HttpFailed.__name__:
            return HttpFailed(refused.message)
        case _:
            return CallFailed(refused.message)
