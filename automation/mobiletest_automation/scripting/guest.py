"""The script engine as a WebAssembly module: QuickJS-ng, compiled when the services are built.

    python -m mobiletest_automation.scripting.guest

writes the compiled module (`make proto` and the image's build call it).
"""

import hashlib
import os
import platform
import stat
import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import wasmtime

from mobiletest_automation.scripting.limits import DEFAULT_LIMITS, ScriptsUnavailable

# Only its file is used. Its own Python layer limits neither memory nor native loops.
PACKAGE = "quickjs_rs"
FILE = "_guest.wasm"
# Of the file whose exports `instance.py` was written for.
SHA256 = "647ab11ae29cc6d39a6d17d3aa1e7a6a0b5fb9c44b4864475a18bc644f926050"

# Machine code, as trusted as the code of the services, and like it not writable by them in an image.
COMPILED = Path(__file__).parents[3] / "gen" / f"script-engine-{SHA256[:16]}.cwasm"
# Where an installed command line, which has no such file, keeps its own.
USER_FOLDER = "~/.cache/mobiletest"
_ROUND_TRIP = Path(__file__).with_name("round_trip.wat")
_UNUSED_FEATURES = (
    *("wasm_threads", "shared_memory", "wasm_memory64", "wasm_multi_memory", "wasm_component_model"),
    *("wasm_gc", "gc_support", "wasm_exceptions", "wasm_function_references", "wasm_tail_call", "wasm_relaxed_simd"),
)


@dataclass(frozen=True, slots=True)
class Guest:
    """The compiled modules, and the engine that runs them."""

    engine: wasmtime.Engine
    module: wasmtime.Module
    # What calls the functions of an instance of `module`: it shares its memory.
    round_trip: wasmtime.Module


@cache
def load_guest() -> Guest:
    """Load the compiled file, or this user's; compile, which takes a second, if none is for this CPU and wasmtime.

    Without threads of its own, so that a process that has loaded it can fork.

    Raises:
        ScriptsUnavailable: it cannot be compiled or loaded here.
    """
    engine = _engine()
    round_trip = wasmtime.Module(engine, _ROUND_TRIP.read_text())
    folder = Path(os.path.expanduser(USER_FOLDER))
    module = load_module(engine, COMPILED) if COMPILED.is_file() else load_kept_module(engine, folder)
    return Guest(engine, module, round_trip)


def load_kept_module(engine: wasmtime.Engine, folder: Path) -> wasmtime.Module:
    """The module from a file in the folder, where it is kept once it was compiled.

    Only what belongs to this user, and nobody else can write, is loaded.

    Raises:
        ScriptsUnavailable: it cannot be compiled or loaded here.
    """
    kept = folder / f"{COMPILED.stem}-{version('wasmtime')}.cwasm"
    if _is_own(folder) and _is_own(kept):
        return load_module(engine, kept)
    module = _compile(engine)
    if not folder.is_absolute():  # the user has no home
        return module
    with suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if _is_own(folder):
            part = folder / f".{os.getpid()}"
            part.touch(mode=0o600)
            part.write_bytes(module.serialize())
            part.replace(kept)
    return module


def _is_own(path: Path) -> bool:
    try:
        status = path.lstat()
    except OSError:
        return False
    is_plain = stat.S_ISDIR(status.st_mode) or stat.S_ISREG(status.st_mode)
    return is_plain and status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def load_module(engine: wasmtime.Engine, compiled: Path) -> wasmtime.Module:
    """The module from this file, or else compiled now.

    Raises:
        ScriptsUnavailable: it cannot be compiled or loaded here.
    """
    if compiled.is_file():
        with suppress(wasmtime.WasmtimeError):  # which checks versions, settings and what the CPU can do
            return wasmtime.Module.deserialize_file(engine, str(compiled))
    return _compile(engine)


def save_module(compiled: Path) -> None:
    """Write the file for `load_module`.

    On Linux it runs on every CPU of this architecture, because an image is built on one machine and runs on others.

    Raises:
        ScriptsUnavailable: it cannot be compiled or loaded here.
    """
    part = compiled.with_suffix(f".{os.getpid()}")
    target = f"{platform.machine()}-unknown-linux-gnu" if sys.platform == "linux" else None
    part.write_bytes(_compile(_engine(target)).serialize())
    part.replace(compiled)


def _compile(engine: wasmtime.Engine) -> wasmtime.Module:
    content = _read_file()
    if hashlib.sha256(content).hexdigest() != SHA256:
        raise ScriptsUnavailable(f"scripts cannot run on this machine: {PACKAGE}/{FILE} is not the pinned one")
    return wasmtime.Module(engine, content)


def _engine(target: str | None = None) -> wasmtime.Engine:
    """For this machine, or to compile for `target`."""
    config = wasmtime.Config()
    if target is not None:
        config.target = target
    config.consume_fuel = True
    config.parallel_compilation = False
    config.max_wasm_stack = DEFAULT_LIMITS.stack_bytes
    for feature in _UNUSED_FEATURES:
        setattr(config, feature, False)
    return wasmtime.Engine(config)


def _read_file() -> bytes:
    spec = find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise ScriptsUnavailable(f"scripts cannot run on this machine: {PACKAGE} is not installed")
    return Path(spec.submodule_search_locations[0], FILE).read_bytes()


if __name__ == "__main__":
    save_module(COMPILED)
