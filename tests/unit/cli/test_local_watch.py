"""`--watch`: which files lead to another run, how runs follow each other, and how they end."""

import os
import signal
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from mobiletest_cli.errors import FAILED, INTERRUPTED, OK, TERMINATED, USAGE, CliError
from mobiletest_cli.interruption import Interrupted
from mobiletest_cli.local_run.watch import WatchedFiles, run_on_change
from mobiletest_cli.output import Output
from mobiletest_cli.workspace import Workspace
from tests.unit.cli.local_shell import PASSING, LocalShell


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory: a flow, one that it runs and one of another folder, and an app."""
    (tmp_path / "flows/more").mkdir(parents=True)
    (tmp_path / "flows/a.yaml").write_text("appId: a\n---\n- runFlow: more/sub.yaml\n")
    (tmp_path / "flows/more/sub.yaml").write_text("appId: a\n---\n- back\n")
    (tmp_path / "flows/b.yaml").write_text("appId: a\n---\n- back\n")
    (tmp_path / "app.apk").write_text("app")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def stop() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def append(path: Path) -> Callable[[], None]:
    def change() -> None:
        with path.open("a") as file:
            file.write("# more\n")

    return change


class Watch:
    """Runs that end with the codes in turn; `pauses` happen between them in turn, and then Ctrl-C."""

    def __init__(self, codes: list[int], *pauses: Callable[[], None]) -> None:
        self._codes = codes
        self._pauses = [*pauses]
        self.during: Callable[[], None] = lambda: None
        self.runs = 0

    def run(self) -> int:
        self.runs += 1
        self.during()
        return self._codes.pop(0)

    def sleep(self, seconds: float) -> None:
        (self._pauses.pop(0) if self._pauses else stop)()

    def start(self, *paths: Path, without: Path | None = None) -> int:
        files = WatchedFiles(paths, [Path("app.apk")], without=without)
        return run_on_change(Output(), files, self.run, sleep=self.sleep)


def keep() -> None:
    """Nothing changes."""


@pytest.mark.parametrize("name", ["flows/a.yaml", "flows/more/sub.yaml", "app.apk"])
def test_a_change_of_a_flow_a_file_that_it_uses_or_the_app_leads_to_a_run(folder: Path, name: str) -> None:
    watch = Watch([OK, FAILED], keep, append(folder / name), keep)
    assert (watch.start(Path("flows/a.yaml")), watch.runs) == (FAILED, 2)


def test_other_files_lead_to_no_run(folder: Path) -> None:
    def write() -> None:
        append(folder / "flows/b.yaml")()
        append(folder / "flows/.a.yaml.swp")()
        append(folder / "flows/junit.xml")()

    watch = Watch([OK], write, keep)
    assert (watch.start(Path("flows/a.yaml")), watch.runs) == (OK, 1)


def test_a_new_flow_of_a_folder_leads_to_a_run_but_not_what_runs_write(folder: Path) -> None:
    def write_picture() -> None:
        (folder / "flows/kept").mkdir()
        append(folder / "flows/kept/screen.png")()

    watch = Watch([OK, OK], write_picture, append(folder / "flows/more/new.yaml"), keep)
    assert (watch.start(Path("flows"), without=Path("flows/kept")), watch.runs) == (OK, 2)


def test_changes_during_a_run_lead_to_one_more(folder: Path) -> None:
    changes = [append(folder / "flows/a.yaml"), append(folder / "app.apk")]

    def change() -> None:
        while changes:
            changes.pop()()

    watch = Watch([OK, FAILED], keep)
    watch.during = change
    assert (watch.start(Path("flows/a.yaml")), watch.runs) == (FAILED, 2)


def test_files_that_are_still_written_are_waited_for(folder: Path) -> None:
    write = append(folder / "app.apk")
    watch = Watch([OK, OK], write, write, write, keep)
    assert (watch.start(Path("flows/a.yaml")), watch.runs) == (OK, 2)


def test_a_flow_that_was_missing_leads_to_a_run(folder: Path) -> None:
    watch = Watch([FAILED, OK], append(folder / "flows/new.yaml"), keep)
    assert (watch.start(Path("flows/new.yaml")), watch.runs) == (OK, 2)


def test_a_subflow_that_was_missing_leads_to_a_run(folder: Path) -> None:
    (folder / "flows/more/sub.yaml").unlink()
    watch = Watch([FAILED, OK], append(folder / "flows/more/sub.yaml"), keep)
    assert (watch.start(Path("flows/a.yaml")), watch.runs) == (OK, 2)


@pytest.mark.usefixtures("folder")
def test_ctrl_c_while_files_are_listed_ends_the_command() -> None:
    def find(paths: Sequence[Path]) -> Workspace:
        raise Interrupted(signal.SIGINT)

    files = WatchedFiles([Path("flows")], find=find)
    with pytest.raises(Interrupted):
        files.read_states()


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("artifacts", [".", "flows"])
def test_artifacts_around_the_flows_are_refused(artifacts: str) -> None:
    with pytest.raises(CliError, match="flows is in the folder of --artifacts"):
        WatchedFiles([Path("flows")], without=Path(artifacts))


@pytest.mark.parametrize("code", [INTERRUPTED, TERMINATED])
def test_a_run_that_is_interrupted_is_the_last_one(folder: Path, code: int) -> None:
    watch = Watch([code, OK])
    watch.during = append(folder / "app.apk")
    assert (watch.start(Path("flows/a.yaml")), watch.runs) == (code, 1)


@pytest.mark.usefixtures("folder")
def test_sigterm_has_its_own_exit_code() -> None:
    watch = Watch([FAILED], lambda: os.kill(os.getpid(), signal.SIGTERM))
    assert watch.start(Path("flows/a.yaml")) == TERMINATED


def test_json_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shell = LocalShell(tmp_path, capsys)
    shell.write(a=PASSING)
    ended = shell.run("--watch", "--json")
    assert (ended.code, ended.document["error"]["message"]) == (
        USAGE,
        "--json is one document, and --watch runs again and again",
    )
