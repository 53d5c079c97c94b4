"""The engine of scripts is compiled into a file, for the image, and loaded from it."""

from pathlib import Path

import wasmtime

from mobiletest_automation.scripting import guest


def test_a_compiled_engine_is_loaded_instead_of_compiled(tmp_path: Path) -> None:
    engine = guest.load_guest().engine
    other = wasmtime.Module(engine, '(module (func (export "of the file")))').serialize()
    (tmp_path / "engine.cwasm").write_bytes(other)
    assert [each.name for each in guest.load_module(engine, tmp_path / "engine.cwasm").exports] == ["of the file"]


def test_an_engine_is_compiled_for_every_cpu_of_the_architecture(tmp_path: Path) -> None:
    guest.save_module(tmp_path / "engine.cwasm")
    module = wasmtime.Module.deserialize_file(guest.load_guest().engine, str(tmp_path / "engine.cwasm"))
    assert "eval_code" in {each.name for each in module.exports}
    assert [path.name for path in tmp_path.iterdir()] == ["engine.cwasm"]


def test_without_a_compiled_engine_that_fits_it_is_compiled(tmp_path: Path) -> None:
    """Quickly, for an engine that does not optimize."""
    config = wasmtime.Config()
    config.cranelift_opt_level = "none"
    path = tmp_path / "engine.cwasm"
    path.write_bytes(b"of another wasmtime")
    assert "eval_code" in {each.name for each in guest.load_module(wasmtime.Engine(config), path).exports}
