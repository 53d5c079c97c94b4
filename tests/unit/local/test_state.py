"""The state folder: who holds it, what it keeps, who may read it."""

import json
import stat
import subprocess
from pathlib import Path

import pytest

from deploy.local.child import Child, ChildSpec
from deploy.local.state import AlreadyRunning, Organisation, State


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


async def test_logs_are_private(state: State) -> None:
    child = Child(ChildSpec("speaker", ["echo", "something"], state.log("speaker")))
    child.start()
    await child.ended(within=10)
    assert stat.S_IMODE(state.log("speaker").stat().st_mode) == 0o600
    state.log("speaker").chmod(0o644)
    state.prepare()
    assert stat.S_IMODE((state.logs / "speaker.log.1").stat().st_mode) == 0o600
