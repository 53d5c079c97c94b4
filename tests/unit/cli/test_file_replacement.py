"""A file is written completely or not at all."""

import os
from pathlib import Path

import pytest

from mobiletest_cli.errors import INVALID_FILE, CliError
from mobiletest_cli.file_replacement import replacing


def write(path: Path, content: bytes) -> None:
    with replacing(path) as file:
        file.write(content)


def test_folders_are_made(tmp_path: Path) -> None:
    write(tmp_path / "a" / "b.xml", b"new")
    assert (tmp_path / "a" / "b.xml").read_bytes() == b"new"


def test_a_file_that_is_replaced_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.touch()
    path.chmod(0o640)
    write(path, b"new")
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_failure_keeps_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "a.xml"
    path.write_bytes(b"old")
    with pytest.raises(TypeError), replacing(path) as file:
        file.write(b"new" + None)  # type: ignore[operator]
    assert [each.name for each in tmp_path.iterdir()] == ["a.xml"]
    assert path.read_bytes() == b"old"


def test_the_file_behind_a_link_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "link.xml").symlink_to("target.xml")
    write(tmp_path / "link.xml", b"new")
    assert (tmp_path / "link.xml").is_symlink()
    assert (tmp_path / "target.xml").read_bytes() == b"new"


def test_a_pipe_stays_a_pipe(tmp_path: Path) -> None:
    """As /dev/stdout may be one."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write(pipe, b"new")
        assert os.read(reader, 10) == b"new"
    finally:
        os.close(reader)
    assert pipe.is_fifo()


@pytest.mark.parametrize(("path", "why"), [("/dev/full", "No space left on device"), ("/", "Is a directory")])
def test_what_cannot_be_written_is_said(path: str, why: str) -> None:
    with pytest.raises(CliError, match=f"{path}: cannot be written: {why}") as refused:
        write(Path(path), b"new")
    assert refused.value.exit_code == INVALID_FILE
