"""Hosts one instance of the script engine: no files, no network, bounded memory, stack and computing.

The module imports 13 functions. Each costs fuel, because fuel counts WebAssembly only and these are Python.
"""

import json
import random
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import wasmtime
from wasmtime import FuncType, ValType

from mobiletest_automation.flows.texts import well_formed
from mobiletest_automation.scripting.guest import Guest, load_guest
from mobiletest_automation.scripting.limits import ScriptLimits, ScriptStopped, UnusableValue

# What the global function `__host(name, request)` does; it returns JSON and must not raise.
HostCall = Callable[[str, str], str]

_WASI = "wasi_snapshot_preview1"
_BAD_DESCRIPTOR = 8
# What an imported function costs: about what it takes of CPU time.
_CALL_FUEL = 30_000
# What `__host` costs besides: it calls into the engine several times.
_HOST_CALL_FUEL = 300_000
_RANDOM_LIMIT = 4_096
# Of the buffer through which short texts go in and out: each call of a WebAssembly function takes 50 µs.
_BUFFER_BYTES = 16_384
# Of round_trip.wat.
_FAILED, _NO_TEXT = -1, -2
_START_FUEL = 10**9
# Kept for QuickJS to end a script itself, which it does every 10,000 operations: then it is known where it was.
STOP_FUEL = 10**8


class Instance:
    """One engine. For one thread at a time."""

    def __init__(self, limits: ScriptLimits, seed: str, call: HostCall, is_stopped: Callable[[], bool]) -> None:
        """`seed` decides what Math.random() gives; `is_stopped` ends a running script."""
        guest = load_guest()
        self._limits = limits
        self._call = call
        self._random = random.Random(seed)  # noqa: S311 (a test repeats what it did)
        self._seeding = True
        self._store = wasmtime.Store(guest.engine)
        self._store.set_limits(memory_size=limits.memory_bytes, instances=2, memories=1, tables=10)
        self._store.set_fuel(_START_FUEL)
        instance = self._link(guest.engine, is_stopped).instantiate(self._store, guest.module)
        self._exports: dict[str, Any] = dict(instance.exports(self._store))
        self._memory = self._exports["memory"]
        self._invoke("set_memory_limit", limits.memory_bytes)
        self._out, self._words = self._allocate(4), self._allocate(8)
        self._buffer = self._allocate(_BUFFER_BYTES)
        self._round_trip = self._link_round_trip(guest)
        self._bind("__host")

    def start(self, environment: str) -> None:
        """Evaluate the script whose value is the function that `run` calls."""
        self._run_function = self._evaluate(environment)
        self._this = self._invoke("new_undefined")
        self._seeding = False

    @property
    def fuel_left(self) -> int:
        """Of what was set; negative if what is kept for ending scripts was used."""
        return int(self._store.get_fuel()) - STOP_FUEL

    def set_fuel(self, fuel: int) -> None:
        """What `run` may use from now on."""
        self._store.set_fuel(fuel + STOP_FUEL)

    def run(self, order: str) -> str:
        """Call the function with a text, and then the promises that wait; the text that it returns.

        Raises:
            ScriptStopped: with the stack of a loop that QuickJS itself could end; without one, no fuel is left.
            InvalidValue: the result is not a text, or one that is too long.
            Trap: for everything else that ends a script.
        """
        length = self._run(order.encode())
        if length == _FAILED:
            raise ScriptStopped(self._exception_stack())
        if length == _NO_TEXT:
            raise UnusableValue("the result is not a text")
        text = _decode(self._read(self._buffer, length)) if length >= 0 else self._take_last_text()
        if self.fuel_left < 0:
            raise ScriptStopped("")
        return text

    def _run(self, order: bytes) -> int:
        with self._placed(order, self._limits.answer_bytes) as place:
            arguments = (self._run_function, self._this, place, len(order), self._buffer, _BUFFER_BYTES, self._words)
            return int(self._round_trip(self._store, *arguments))

    def close(self) -> None:
        self._store.close()

    def _link_round_trip(self, guest: Guest) -> Any:
        linker = wasmtime.Linker(guest.engine)
        for needed in guest.round_trip.imports:
            linker.define(self._store, needed.module, str(needed.name), self._exports[str(needed.name)])
        return linker.instantiate(self._store, guest.round_trip).exports(self._store)["run"]

    def _link(self, engine: wasmtime.Engine, is_stopped: Callable[[], bool]) -> wasmtime.Linker:
        linker = wasmtime.Linker(engine)
        i32, i64 = ValType.i32(), ValType.i64()

        def define(module: str, name: str, parameters: list[ValType], function: Callable[..., int]) -> None:
            def charged(*arguments: int) -> int:
                self._store.set_fuel(max(0, self._store.get_fuel() - _CALL_FUEL))
                return function(*arguments)

            linker.define_func(module, name, FuncType(parameters, [i32]), charged)

        def refuse(*_: int) -> int:
            return _BAD_DESCRIPTOR

        define(_WASI, "random_get", [i32, i32], self._fill_random)
        define(_WASI, "clock_time_get", [i32, i64, i32], self._tell_time)
        define(_WASI, "environ_get", [i32, i32], lambda *_: 0)
        define(_WASI, "environ_sizes_get", [i32, i32], self._tell_empty_environment)
        define(_WASI, "fd_close", [i32], refuse)
        define(_WASI, "fd_fdstat_get", [i32, i32], refuse)
        define(_WASI, "fd_seek", [i32, i64, i32, i32], refuse)
        define(_WASI, "fd_write", [i32] * 4, refuse)
        linker.define_func(_WASI, "proc_exit", FuncType([i32], []), _refuse_exit)
        define("env", "host_interrupt", [], lambda: int(is_stopped() or self._store.get_fuel() < STOP_FUEL))
        define("env", "host_module_normalize", [i32] * 5, lambda *_: -1)
        define("env", "host_module_load", [i32] * 3, lambda *_: -1)
        define("env", "host_call", [i32] * 5, self._answer)
        return linker

    def _fill_random(self, place: int, size: int) -> int:
        if not 0 <= size <= _RANDOM_LIMIT:
            return _BAD_DESCRIPTOR
        self._write(place, self._random.randbytes(size))
        return 0

    def _tell_time(self, clock: int, precision: int, place: int) -> int:
        """The time; while the engine starts, a time of the seed, which is what Math.random() begins with."""
        now = self._random.getrandbits(60) if self._seeding else time.time_ns()
        self._write(place, struct.pack("<Q", now))
        return 0

    def _tell_empty_environment(self, count: int, size: int) -> int:
        self._write(count, bytes(4))
        self._write(size, bytes(4))
        return 0

    def _answer(self, _name: int, _length: int, _this: int, count: int, arguments: int) -> int:
        """A call of `__host`; every failure is in its answer, none crosses the engine."""
        try:
            self._store.set_fuel(max(0, self._store.get_fuel() - _HOST_CALL_FUEL))
            handles = struct.unpack(f"<{count}i", self._read(arguments, 4 * count))
            return self._new_string(self._answer_texts(handles), self._limits.answer_bytes)
        except Exception:
            return -1

    def _answer_texts(self, handles: Sequence[int]) -> bytes:
        try:
            name, request = (self._text_of(handle) for handle in handles)
        except UnusableValue as error:
            return json.dumps({"error": str(error)}).encode()
        return self._call(name, request).encode()

    def _bind(self, name: str) -> None:
        content = name.encode()
        place = self._put(content)
        function, target = self._invoke("new_function", place, len(content)), self._invoke("global_object")
        self._invoke("set_prop", target, place, len(content), function)
        for handle in (function, target):
            self._invoke("free_value", handle)
        self._invoke("qjs_free", place, len(content))

    def _evaluate(self, source: str) -> int:
        content = source.encode()
        place = self._put(content)
        if self._invoke("eval_code", place, len(content), self._out) != 0:
            raise ScriptStopped(self._exception_stack())
        (handle,) = struct.unpack("<i", self._read(self._out, 4))
        self._invoke("qjs_free", place, len(content))
        return int(handle)

    def _exception_stack(self) -> str:
        """The stack of the last exception, which no script could catch; empty if it has none."""
        # A stopped script may have used all of it, and reading its stack needs some.
        self._store.set_fuel(STOP_FUEL)
        name = b"stack"
        self._write(self._buffer, name)
        if self._invoke("last_exception", self._out) != 0:
            return ""
        (exception,) = struct.unpack("<i", self._read(self._out, 4))
        if self._invoke("get_prop", exception, self._buffer, len(name), self._out) != 0:
            return ""
        try:
            return self._text_of(*struct.unpack("<i", self._read(self._out, 4)))
        except UnusableValue:  # a script decides what the stack is: Error.prepareStackTrace
            return ""

    def _new_string(self, content: bytes, limit: int) -> int:
        with self._placed(content, limit) as place:
            return int(self._invoke("new_string", place, len(content)))

    @contextmanager
    def _placed(self, content: bytes, limit: int) -> Iterator[int]:
        """The place of a text in the engine's memory, while a function takes it."""
        if len(content) > limit:
            raise UnusableValue(f"a value is longer than {limit} bytes")
        place = self._buffer if len(content) <= _BUFFER_BYTES else self._allocate(len(content))
        self._write(place, content)
        yield place
        if place != self._buffer:
            self._invoke("qjs_free", place, len(content))

    def _text_of(self, handle: int) -> str:
        """The text that a handle holds; its length is checked before it is copied."""
        if self._invoke("get_string", handle) != 0:
            raise UnusableValue("the result is not a text")
        return self._take_last_text()

    def _take_last_text(self) -> str:
        length = self._invoke("qjs_last_len")
        if not 0 <= length <= self._limits.value_bytes:
            self._invoke("qjs_result_free")
            raise UnusableValue(f"the value is longer than {self._limits.value_bytes} bytes")
        content = self._read(self._invoke("qjs_last_ptr"), length) if length else b""
        self._invoke("qjs_result_free")
        return _decode(content)

    def _put(self, content: bytes) -> int:
        place = self._allocate(len(content)) if content else 0
        if content:
            self._write(place, content)
        return place

    def _allocate(self, size: int) -> int:
        place = self._invoke("qjs_alloc", size)
        if place == 0:
            raise MemoryError
        return int(place)

    def _write(self, place: int, content: bytes) -> None:
        self._memory.write(self._store, content, place)

    def _read(self, place: int, size: int) -> bytes:
        return bytes(self._memory.read(self._store, place, place + size))

    def _invoke(self, name: str, *arguments: int) -> Any:
        return self._exports[name](self._store, *arguments)


def _decode(content: bytes) -> str:
    """A text of a script, well-formed."""
    return well_formed(content.decode(errors="replace"))


def _refuse_exit(_: int) -> None:
    raise wasmtime.WasmtimeError("the engine ended itself")
