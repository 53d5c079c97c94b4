"""Shared servers of a pytest run; missing ones skip tests, and in CI fail them."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from tests.conftest import skip_or_fail
from tests.infrastructure import Infrastructure, Unavailable

ROOT = Path(__file__).parents[3]
PARTS = str(ROOT / "tests/integration/local/test_servers.py")


async def pytest_run(*arguments: str, **environ: str) -> tuple[int, str]:
    """Exit code and output of a pytest process without the variables of this run."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("MOBILETEST_", "PYTEST_"))}
    inherited.pop("CI", None)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "pytest", "-p", "no:cacheprovider", PARTS, *arguments),
        cwd=ROOT,
        env={**inherited, **environ},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    return process.returncode or 0, output.decode()


async def test_missing_infrastructure_skips_with_the_reason() -> None:
    code, output = await pytest_run(MOBILETEST_TEST_SOURCE="given")
    assert code == 0
    assert "3 skipped" in output
    assert "MOBILETEST_MONGO_URI is not set" in output


def test_missing_infrastructure_fails_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="no broker"):
        skip_or_fail("no broker")


async def test_xdist_workers_share_the_servers(mongo_uri: str, kafka_bootstrap: str) -> None:
    given = {"MOBILETEST_MONGO_URI": mongo_uri, "MOBILETEST_KAFKA_BOOTSTRAP": kafka_bootstrap}
    code, output = await pytest_run("-n", "2", **given)
    assert code == 0, output
    assert "3 passed" in output


async def test_without_docker_containers_are_missing_infrastructure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere")
    async with Infrastructure({"MOBILETEST_TEST_SOURCE": "containers"}) as infrastructure:
        with pytest.raises(Unavailable, match="no mongo"):
            await infrastructure.mongo()
