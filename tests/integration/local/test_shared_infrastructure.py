"""pytest itself: workers share one server, and missing infrastructure is a skip at home and a failure in CI."""

import asyncio
import os
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
PARTS = str(ROOT / "tests/integration/local/test_servers.py")


async def pytest_run(*arguments: str, **environ: str) -> tuple[int, str]:
    """Exit code and output of a pytest process that has no infrastructure of ours in its environment."""
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


async def test_missing_infrastructure_fails_in_ci() -> None:
    code, output = await pytest_run(MOBILETEST_TEST_SOURCE="given", CI="true")
    assert code == 1
    assert "MOBILETEST_MONGO_URI is not set" in output
    assert "3 errors in" in output


async def test_xdist_workers_share_the_servers(mongo_uri: str, kafka_bootstrap: str) -> None:
    given = {"MOBILETEST_MONGO_URI": mongo_uri, "MOBILETEST_KAFKA_BOOTSTRAP": kafka_bootstrap}
    code, output = await pytest_run("-n", "2", **given)
    assert code == 0, output
    assert "3 passed" in output


async def test_without_docker_containers_are_missing_infrastructure() -> None:
    code, output = await pytest_run(MOBILETEST_TEST_SOURCE="containers", DOCKER_HOST="unix:///nowhere")
    assert code == 0
    assert "3 skipped" in output
