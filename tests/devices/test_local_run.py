"""`mobiletest run --local` on a real browser, and on an Appium server."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from deploy.devices.hubs import Hub, chromium_capabilities
from mobiletest_cli.errors import FAILED, OK
from tests.devices.conftest import FAKE_APP
from tests.unit.cli.local_shell import LocalShell


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> LocalShell:
    return LocalShell(tmp_path, capsys)


def capabilities(values: dict[str, object]) -> Sequence[str]:
    return [part for name, value in values.items() for part in ("--capability", f"{name}={json.dumps(value)}")]


def test_a_flow_runs_in_a_browser(shell: LocalShell, pages: str) -> None:
    """The chromedriver is started and ended by the command."""
    shell.write(
        a=f"url: {pages}/playground.html\n---\n- launchApp\n- assertVisible: Press me\n",
        b=f"url: {pages}/playground.html\n---\n- launchApp\n- assertTrue: ${{false}}\n",
    )
    browser = ("run", "--local", "--device", "chrome", *capabilities(chromium_capabilities()))
    ended = shell.call(*browser, "--artifacts", "kept", "--json")
    runs = {run["test_name"]: run for run in ended.document["runs"]}
    assert {name: run["success"] for name, run in runs.items()} == {"a": True, "b": False}, ended.err
    assert runs["a"]["attempts"][0]["simulated"] is False
    assert ended.code == FAILED
    assert list((shell.folder / "kept").rglob("*.png"))


def test_a_flow_runs_on_an_appium_server(shell: LocalShell, appium: Hub) -> None:
    shell.write(a="appId: com.example.fake\n---\n- assertVisible: Accounts\n")
    names = {"platformName": "Fake", "appium:automationName": "Fake", "appium:deviceName": "Fake"}
    hub = ("run", "--local", "--device", appium.url, "--app", str(FAKE_APP), *capabilities({**names}))
    ended = shell.call(*hub)
    assert ended.code == OK, ended.out + ended.err
