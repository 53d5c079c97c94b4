"""What the arguments of `mobiletest run` name: apps, app files and flows."""

from pathlib import Path

import pytest

from mobiletest_cli.commands.run import app_files
from mobiletest_cli.output import Output
from mobiletest_cli.selection import is_app_file


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with an app file, an app model, flows, and a folder with the name of an app."""
    for name in ("app.apk", "model.yaml", "Shop/flow.yaml", "com.example.app/flow.yaml", "Xcode.app/Info.plist"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_app_takes_a_name_and_files_are_recognised_by_their_ending(capsys: pytest.CaptureFixture[str]) -> None:
    paths = [Path("app.apk"), Path("Shop"), Path("model.yaml")]
    assert app_files(Output(), [Path("other")], ["Shop"], paths) == (
        [Path("other"), Path("app.apk")],
        ["Shop"],
        [Path("Shop"), Path("model.yaml")],
    )
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", ["app.apk", "model.yaml", "missing.ipa"])
def test_a_file_that_is_given_as_an_app_is_taken_with_a_notice(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert app_files(Output(), (), ["Shop", name], ()) == ([Path(name)], ["Shop"], [])
    assert f"give the file {name} as --file {name}" in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("path", ["com.example.app", "Shop", "model.yaml", "flow.yml", "x" * 300])
def test_flows_and_their_folders_are_not_taken_for_app_files(path: str) -> None:
    assert not is_app_file(Path(path))


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("path", ["app.APK", "a.ipa", "a.aab", "a.zip", "a.tar.gz", "Xcode.app"])
def test_endings_of_app_files_are_known(path: str) -> None:
    assert is_app_file(Path(path))
