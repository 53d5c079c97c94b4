"""The compiled script engine of an installed command line is kept by its user, and nobody else's is loaded."""

import stat
from pathlib import Path

import pytest

from mobiletest_automation.scripting.guest import load_guest, load_kept_module


def test_it_is_kept_for_the_next_time(tmp_path: Path) -> None:
    folder, engine = tmp_path / "new" / "mobiletest", load_guest().engine
    load_kept_module(engine, folder)
    [kept] = folder.iterdir()
    written = kept.stat()
    load_kept_module(engine, folder)
    assert [(file.stat().st_ino, file.stat().st_mtime_ns) for file in folder.iterdir()] == [
        (written.st_ino, written.st_mtime_ns)
    ]
    assert (stat.S_IMODE(folder.stat().st_mode), stat.S_IMODE(written.st_mode)) == (0o700, 0o600)


@pytest.mark.parametrize("of_folder", [False, True])
def test_what_others_can_write_is_not_loaded(tmp_path: Path, *, of_folder: bool) -> None:
    """A file that was changed would run as machine code: it is made again, or, in a folder of others, left alone."""
    folder, engine = tmp_path / "mobiletest", load_guest().engine
    load_kept_module(engine, folder)
    [kept] = folder.iterdir()
    kept.write_bytes(b"forged")
    (folder if of_folder else kept).chmod(0o777)
    assert load_kept_module(engine, folder).exports
    assert (kept.read_bytes() == b"forged") is of_folder
