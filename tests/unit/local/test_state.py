"""The state folder: who holds it, what it keeps, who may read it."""

import errno
import json
import os
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest

from deploy.local.child import Child, ChildSpec
from deploy.local.state import AlreadyRunning, Organisation, State, UnusableState, explain
from services.chassis.version import VERSION

NOBODY = 65534


@pytest.fixture
def state(tmp_path: Path) -> State:
    state = State(tmp_path)
    state.prepare()
    return state


def test_the_folder_can_be_locked_once(state: State) -> None:
    with state.locked(), pytest.raises(AlreadyRunning, match="not ready yet"), State(state.folder).locked():
        pass


def test_files_with_secrets_are_private(state: State) -> None:
    state.token("gateway")
    state.save_organisation(Organisation("org", "mt_key"))
    state.write_ready({"url": "http://127.0.0.1:1", "api_key": "mt_key"})
    for name in ("tokens/gateway", "organisation.json", "ready.json"):
        assert stat.S_IMODE((state.folder / name).stat().st_mode) == 0o600


def test_a_shell_can_read_the_variables_of_a_service(state: State) -> None:
    token = "it's $HOME; `id`"
    state.write_environment("reporting", {"MOBILETEST_SERVICE_TOKEN": token})
    file = state.environments / "reporting.env"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    read = subprocess.run(["sh", "-c", f'. "{file}"; printf %s "$MOBILETEST_SERVICE_TOKEN"'], stdout=-1, check=True)
    assert read.stdout.decode() == token


def test_the_ready_file_is_replaced_atomically_and_deleted(state: State) -> None:
    state.write_ready({"url": "http://127.0.0.1:1"})
    state.write_ready({"url": "http://127.0.0.1:2"})
    assert json.loads((state.folder / "ready.json").read_text()) == {"url": "http://127.0.0.1:2"}
    state.forget_ready()
    state.forget_ready()
    assert not (state.folder / "ready.json").exists()


def test_a_new_run_deletes_the_ready_file_and_keeps_one_older_log(state: State) -> None:
    state.write_ready({"url": "http://127.0.0.1:1"})
    state.log("catalog").write_text("old")
    state.prepare()
    assert not (state.folder / "ready.json").exists()
    assert not state.log("catalog").exists()
    assert (state.logs / "catalog.log.1").read_text() == "old"


def test_the_folder_is_private(tmp_path: Path) -> None:
    state = State(tmp_path / "state")
    state.folder.mkdir(mode=0o755)
    with state.locked():
        assert stat.S_IMODE(state.folder.stat().st_mode) == 0o700


@contextmanager
def another_user() -> Iterator[None]:
    """Somebody who is not root, and not the owner of what was there before."""
    if os.geteuid():
        pytest.skip("only root can become somebody else")
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_folder_that_can_hold_the_state_is_accepted(state: State) -> None:
    state.check()
    State(state.folder / "new" / "folder").check()


def test_a_file_is_refused_where_a_folder_is_expected(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    for folder in (file, file / "state"):
        with pytest.raises(UnusableState, match=rf"{file} is a file, not a folder: remove it, .*MOBILETEST_STATE_DIR"):
            State(folder).check()


def test_a_folder_of_somebody_else_names_both() -> None:
    with another_user():
        with pytest.raises(UnusableState, match=r"^/usr belongs to root, not to nobody: start it as the owner, or"):
            State(Path("/usr")).check()
        with pytest.raises(UnusableState, match=r"^/usr cannot be written: change its permissions, or choose"):
            State(Path("/usr/state-of-mobiletest")).check()


@pytest.mark.parametrize(("version", "is_newer"), [("0.1.9", False), (VERSION, False), ("99.0.0", True), ("", False)])
def test_the_state_of_a_newer_version_is_left_alone(state: State, version: str, is_newer: bool) -> None:
    (state.folder / "version").write_text(version)
    with pytest.raises(UnusableState, match="newer than this one") if is_newer else nullcontext():
        state.check()


def test_a_start_leaves_its_version(state: State) -> None:
    assert (state.folder / "version").read_text() == VERSION


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "the disk of /state is full: free some space, or choose"),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), "the disk of /state is full: free some space, or choose"),
        (OSError(errno.EROFS, "Read-only file system", "/state/a"), "/state/a cannot be used (Read-only file system)"),
    ],
)
def test_errors_of_the_system_are_one_line(error: OSError, text: str) -> None:
    said = str(explain(Path("/state"), error))
    assert said.startswith(text)
    assert "\n" not in said


async def test_logs_are_private(state: State) -> None:
    child = Child(ChildSpec("speaker", ["echo", "something"], state.log("speaker")))
    child.start()
    await child.ended(within=10)
    assert stat.S_IMODE(state.log("speaker").stat().st_mode) == 0o600
    state.log("speaker").chmod(0o644)
    state.prepare()
    assert stat.S_IMODE((state.logs / "speaker.log.1").stat().st_mode) == 0o600
