"""The script engine of one attempt: a thread of its own, so that the event loop goes on."""

import asyncio
import json
import re
from collections.abc import Mapping
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from mobiletest_automation.flows.texts import shorten, well_formed
from mobiletest_automation.outside_texts import parse_json
from mobiletest_automation.scripting.fake_values import FakeValues, NoSuchValue
from mobiletest_automation.scripting.http import (
    HttpFailed,
    HttpRequest,
    HttpResponse,
    ReadFile,
    SendHttp,
    load_files,
    parse_request,
)
from mobiletest_automation.scripting.limits import (
    DEFAULT_LIMITS,
    ScriptError,
    ScriptLimitExceeded,
    ScriptLimits,
    ScriptStopped,
    UnusableValue,
)

if TYPE_CHECKING:
    from mobiletest_automation.scripting.instance import Instance

_ENVIRONMENT = tuple(Path(__file__).with_name(name) for name in ("locale.js", "environment.js"))
_KINDS = {"s": "text", "n": "number", "b": "boolean", "u": "undefined", "0": "null", "o": "object"}
# The numbers are bounded: a script can set the stack of its error.
_FRAME = re.compile(r"<input>:(\d{1,9}):(\d{1,9})", re.ASCII)
_MESSAGE_LIMIT = 1_000
# The tag of a promise that has not ended.
_PENDING = "p"
_NEVER_SETTLES = (
    "its promise is never resolved; call resolve or reject in every new Promise, and see that memory does not run out"
)


@dataclass(frozen=True, slots=True)
class ScriptResult:
    """The value of a script: its kind, as text, and the unknown names that were read.

    `kind` is text, number, boolean, undefined, null or object; the text of an object is its JSON.
    """

    kind: str
    text: str = ""
    unknown_names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """What to run; `place` says in messages what it is, `folder` is that of its file.

    `copied` and `platform` are of the object `maestro`.
    """

    source: str
    place: str
    folder: str = ""
    fuel: int
    variables: Mapping[str, str]
    copied: str | None = None
    platform: str = ""


class ScriptEngine:
    """One for an attempt. It starts with the first script; what a script leaves in `output` is there for the next."""

    def __init__(
        self,
        *,
        seed: str = "",
        http: SendHttp | None = None,
        read_file: ReadFile | None = None,
        limits: ScriptLimits = DEFAULT_LIMITS,
    ) -> None:
        """`seed` decides what Math.random() and faker give; `http` is None where scripts have no network, and
        `read_file` where they can send no files.
        """
        self.limits = limits
        self._seed = seed
        self._fake_values = FakeValues(seed)
        self._http = http
        self._read_file = read_file or _no_file
        self._folder = ""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: Future[HttpResponse] | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="scripts")
        self._instance: Instance | None = None
        self._fuel = limits.total_fuel
        self._variables: Mapping[str, str] | None = None
        self._ended = ""
        self._started = self._stopped = False
        self._log: list[str] = []
        self._log_lines_left, self._log_bytes_left = limits.log_lines, limits.log_bytes

    async def evaluate(self, script: Script) -> ScriptResult:
        """The value of the script.

        Raises:
            ScriptError: the script fails, or exceeds a limit.
        """
        self._started = True
        self._loop = asyncio.get_running_loop()
        evaluate = partial(copy_context().run, self._evaluate, script)
        return await asyncio.get_running_loop().run_in_executor(self._thread, evaluate)

    def take_log(self) -> tuple[str, ...]:
        """What scripts have written with console.log since the last call."""
        lines, self._log = tuple(self._log), []
        return lines

    async def __aenter__(self) -> "ScriptEngine":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """End the script that runs, which takes until its fuel ends at most, and release what the engine holds."""
        self._stopped = True
        if self._waiting is not None:
            self._waiting.cancel()
        if self._started:
            await asyncio.get_running_loop().run_in_executor(self._thread, self._discard)
        self._thread.shutdown(wait=False)

    def _evaluate(self, script: Script) -> ScriptResult:
        """In the engine's thread, with imports of WebAssembly, which takes 0.1 s, and most flows have no script."""
        from wasmtime import Trap, WasmtimeError

        if self._ended:
            raise ScriptError(f"{script.place}: no script can run after {self._ended}")
        if len(script.source.encode(errors="replace")) > self.limits.source_bytes:
            raise ScriptError(f"{script.place}: the script is longer than {self.limits.source_bytes} bytes")
        fuel = min(script.fuel, self._fuel)
        if fuel <= 0:
            raise ScriptError(f"{script.place}: the scripts of this attempt have computed too long")
        try:
            return self._run(script, fuel)
        except ScriptStopped as stopped:
            raise self._end(
                script, _last_line(script.place, stopped.stack), self._why_stopped(fuel < script.fuel)
            ) from None
        except (Trap, WasmtimeError) as trap:
            raise self._end(script, script.place, self._why_trapped(trap, fuel < script.fuel)) from None
        except UnusableValue as error:
            raise ScriptError(f"{script.place}: {error}") from None
        except MemoryError:
            raise self._end(script, script.place, self._too_much()) from None

    def _run(self, script: Script, fuel: int) -> ScriptResult:
        instance = self._running()
        instance.set_fuel(fuel)
        self._folder = script.folder
        try:
            names, tagged = _split(instance.run(self._order(script)))
            if tagged == _PENDING:
                _, tagged = _split(instance.run(""))
            return _read_value(names, tagged, script.place)
        finally:
            self._fuel -= fuel - instance.fuel_left

    def _running(self) -> "Instance":
        if self._instance is None:
            from mobiletest_automation.scripting.instance import Instance

            self._instance = Instance(self.limits, self._seed, self._answer, lambda: self._stopped)
            self._instance.start("".join(path.read_text() for path in _ENVIRONMENT))
        return self._instance

    def _order(self, script: Script) -> str:
        changed = script.variables != self._variables
        self._variables = dict(script.variables)
        return json.dumps(
            {
                "source": script.source,
                "values": self._variables if changed else None,
                "copied": script.copied,
                "platform": script.platform,
            }
        )

    def _end(self, script: Script, where: str, why: str) -> ScriptLimitExceeded:
        """The engine was left in the middle of something: it is not used again."""
        self._ended = f"{script.place}, which was ended"
        self._discard()
        return ScriptLimitExceeded(f"{where}: the script was ended: {why}")

    def _why_stopped(self, last: bool) -> str:
        return "the attempt is over" if self._stopped else _too_long(last)

    def _why_trapped(self, trap: Exception, last: bool) -> str:
        from wasmtime import TrapCode

        match getattr(trap, "trap_code", None):
            case TrapCode.OUT_OF_FUEL:
                return _too_long(last)
            case TrapCode.STACK_OVERFLOW:
                return "it recurses too deeply"
            case _:
                return self._too_much()

    def _too_much(self) -> str:
        return f"it needs more than {self.limits.memory_bytes // 2**20} MiB of memory, or broke the engine"

    def _discard(self) -> None:
        instance, self._instance = self._instance, None
        if instance is not None:
            instance.close()

    def _answer(self, name: str, request: str) -> str:
        """What `__host` does, in the engine's thread."""
        if name == "log":
            self._add_log(request)
            return '{"value": null}'
        if name == "faker":
            return self._draw(request)
        try:
            return json.dumps({"value": self._send(request)})
        except (HttpFailed, CancelledError) as error:
            return json.dumps({"error": f"http: {error}"})

    def _draw(self, call: str) -> str:
        try:
            return json.dumps({"value": self._fake_values.draw(call)})
        except NoSuchValue as error:
            return json.dumps({"error": str(error)})

    def _send(self, written: str) -> dict[str, Any]:
        """The response, for which the script waits. Raise HttpFailed, and CancelledError when the engine is closed."""
        if self._http is None or self._loop is None or self._stopped:
            raise HttpFailed("not available here: scripts have no network")
        sent = self._deliver(self._http, parse_request(written), self._folder)
        self._waiting = asyncio.run_coroutine_threadsafe(sent, self._loop)
        if self._stopped:  # by `close`, which has not seen what waits
            self._waiting.cancel()
        response = self._waiting.result()
        return {
            "ok": response.ok,
            "status": response.status,
            "body": response.body,
            "headers": dict(response.headers),
        }

    async def _deliver(self, send: SendHttp, request: HttpRequest, folder: str) -> HttpResponse:
        return await send(await load_files(request, folder, self._read_file))

    def _add_log(self, line: str) -> None:
        """Keep a line; what exceeds the limits of an attempt is dropped."""
        if self._log_lines_left > 0 and self._log_bytes_left > 0:
            self._log.append(shorten(line, self._log_bytes_left))
            self._log_lines_left -= 1
            self._log_bytes_left -= len(line) + 1


async def _no_file(path: str) -> None:
    """No file was sent along."""


def _too_long(last: bool) -> str:
    """`last`: the script had only what those before it had left."""
    return f"it computes too long{' with the scripts before it' if last else ''}; does a loop never end?"


def _split(text: str) -> tuple[tuple[str, ...], str]:
    """The unknown names, and the tagged value, of what environment.js returns."""
    size, _, rest = text.partition(" ")
    if not size.isascii() or not size.isdecimal():
        raise UnusableValue("the script broke what returns its value")
    names = dict.fromkeys(well_formed(unquote(name)) for name in rest[: int(size)].split())
    return tuple(names), rest[int(size) :]


def _read_value(names: tuple[str, ...], tagged: str, place: str) -> ScriptResult:
    """Raise ScriptError for what a script threw, and for a promise that is pending after all that it could wait for."""
    if tagged == _PENDING:
        raise ScriptError(f"{place}: the script does not end: {_NEVER_SETTLES}")
    if tagged.startswith("e"):
        raise ScriptError(_describe_error(tagged[1:], place))
    return ScriptResult(_KINDS.get(tagged[:1], "object"), tagged[1:], names)


def _describe_error(written: str, place: str) -> str:
    try:
        error: dict[str, Any] = dict(parse_json(written))
    except (ValueError, TypeError):
        error = {}
    name, message = str(error.get("name") or ""), str(error.get("message") or "an error without a message")
    said = f"{name}: {message}" if name not in ("", "Error") else message
    return f"{_located(place, str(error.get('stack') or ''))}: {shorten(said, _MESSAGE_LIMIT)}"


def _located(place: str, stack: str) -> str:
    """The place with line and column of the first frame that is the script's."""
    frame = _FRAME.search(stack)
    return f"{place}, line {_line(frame)}, column {frame[2]}" if frame else place


def _last_line(place: str, stack: str) -> str:
    """The place with the line of the last call before the script was ended."""
    frame = _FRAME.search(stack)
    return f"{place}, in or after line {_line(frame)}" if frame else place


def _line(frame: re.Match[str]) -> int:
    """Before the script's first line, environment.js puts one of its own."""
    return max(1, int(frame[1]) - 1)
