"""The executor's settings."""

from datetime import timedelta

import pytest

from services.chassis.settings import load
from services.executor.settings import Settings


def settings(monkeypatch: pytest.MonkeyPatch, **variables: str) -> Settings:
    monkeypatch.setenv("MOBILETEST_SERVICE_TOKEN", "t" * 20)
    for name, value in variables.items():
        monkeypatch.setenv(f"MOBILETEST_{name}", value)
    return load(Settings)


def test_the_defaults_are_the_documented_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    defaults = settings(monkeypatch)
    limits = defaults.limits
    assert (limits.queue_timeout, limits.run_timeout) == (timedelta(hours=1), timedelta(minutes=30))
    assert (limits.lease_ttl, defaults.step_timeout_seconds) == (timedelta(seconds=15), 30.0)


@pytest.mark.parametrize(
    ("variables", "setting", "value"),
    [
        ({}, "serves", True),
        ({}, "works", True),
        ({"EXECUTOR_ROLE": "api"}, "serves", True),
        ({"EXECUTOR_ROLE": "api"}, "works", False),
        ({"EXECUTOR_ROLE": "worker"}, "serves", False),
        ({"EXECUTOR_ROLE": "worker"}, "works", True),
        # Draining leaves time to hand back.
        ({"SHUTDOWN_GRACE_SECONDS": "30"}, "drain_seconds", 25.0),
        ({"SHUTDOWN_GRACE_SECONDS": "2"}, "drain_seconds", 0.0),
        ({"EXECUTOR_FILES_LISTEN": "10.0.0.5:8090"}, "executor_files_url", None),
        ({"EXECUTOR_FILES_LISTEN": "0.0.0.0:8090", "EXECUTOR_FILES_URL": "http://10.0.0.5:8090"},
         "executor_files_url", "http://10.0.0.5:8090"),
    ],
)  # fmt: skip
def test_what_variables_set(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], setting: str, value: object
) -> None:
    assert getattr(settings(monkeypatch, **variables), setting) == value


@pytest.mark.parametrize(
    ("variables", "named"),
    [
        ({"EXECUTOR_ROLE": "both", "EXECUTOR_SLOTS": "0"}, ["EXECUTOR_ROLE", "EXECUTOR_SLOTS"]),
        # Hubs must be able to reach the files.
        ({"EXECUTOR_FILES_LISTEN": "0.0.0.0:8090"}, ["EXECUTOR_FILES_URL"]),
        ({"EXECUTOR_FILES_LISTEN": "[::]:8090"}, ["EXECUTOR_FILES_URL"]),
        ({"EXECUTOR_FILES_LISTEN": "10.0.0.5:8090", "EXECUTOR_FILES_URL": "lab:1"}, ["EXECUTOR_FILES_URL"]),
    ],
)
def test_an_invalid_setting_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], variables: dict[str, str], named: list[str]
) -> None:
    with pytest.raises(SystemExit) as raised:
        settings(monkeypatch, **variables)
    assert raised.value.code == 2
    errors = capsys.readouterr().err
    assert all(f"MOBILETEST_{name}" in errors for name in named)
