"""The executor's settings."""

from datetime import timedelta

import pytest

from services.chassis.settings import load
from services.executor.settings import Settings


@pytest.fixture(autouse=True)
def token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOBILETEST_SERVICE_TOKEN", "t" * 20)


def test_the_defaults_are_the_documented_limits() -> None:
    settings = load(Settings)
    assert (settings.serves, settings.works) == (True, True)
    limits = settings.limits
    assert (limits.queue_timeout, limits.run_timeout) == (timedelta(hours=1), timedelta(minutes=30))
    assert (limits.lease_ttl, settings.step_timeout_seconds) == (timedelta(seconds=15), 30.0)


@pytest.mark.parametrize(("role", "serves", "works"), [("api", True, False), ("worker", False, True)])
def test_the_role_selects_what_runs(monkeypatch: pytest.MonkeyPatch, role: str, serves: bool, works: bool) -> None:
    monkeypatch.setenv("MOBILETEST_EXECUTOR_ROLE", role)
    settings = load(Settings)
    assert (settings.serves, settings.works) == (serves, works)


def test_an_invalid_setting_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("MOBILETEST_EXECUTOR_ROLE", "both")
    monkeypatch.setenv("MOBILETEST_EXECUTOR_SLOTS", "0")
    with pytest.raises(SystemExit) as raised:
        load(Settings)
    assert raised.value.code == 2
    errors = capsys.readouterr().err
    assert "MOBILETEST_EXECUTOR_ROLE" in errors
    assert "MOBILETEST_EXECUTOR_SLOTS" in errors


def test_draining_leaves_time_to_hand_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOBILETEST_SHUTDOWN_GRACE_SECONDS", "30")
    assert load(Settings).drain_seconds == 25.0
    monkeypatch.setenv("MOBILETEST_SHUTDOWN_GRACE_SECONDS", "2")
    assert load(Settings).drain_seconds == 0.0


@pytest.mark.parametrize(("listen", "url"), [("0.0.0.0:8090", None), ("[::]:8090", None), ("10.0.0.5:8090", "lab:1")])
def test_hubs_must_be_able_to_reach_the_files(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], listen: str, url: str | None
) -> None:
    monkeypatch.setenv("MOBILETEST_EXECUTOR_FILES_LISTEN", listen)
    if url is not None:
        monkeypatch.setenv("MOBILETEST_EXECUTOR_FILES_URL", url)
    with pytest.raises(SystemExit):
        load(Settings)
    assert "MOBILETEST_EXECUTOR_FILES_URL" in capsys.readouterr().err


def test_the_file_server_address_is_validated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOBILETEST_EXECUTOR_FILES_LISTEN", "10.0.0.5:8090")
    assert load(Settings).executor_files_url is None
    monkeypatch.setenv("MOBILETEST_EXECUTOR_FILES_LISTEN", "0.0.0.0:8090")
    monkeypatch.setenv("MOBILETEST_EXECUTOR_FILES_URL", "http://10.0.0.5:8090")
    assert load(Settings).executor_files_url == "http://10.0.0.5:8090"
