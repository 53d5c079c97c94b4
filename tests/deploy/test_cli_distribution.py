"""The distribution of the command line: installed from the server with pip, in an environment without the server."""

import asyncio
import os
import shutil
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from aiohttp import web
from yarl import URL

from services.chassis.version import VERSION
from services.gateway.cli_wheel import CliWheel

ROOT = Path(__file__).parents[2]
# The tests of a version run in one process, so that each environment is installed once.
VERSIONS = [pytest.param(f"3.{minor}", marks=pytest.mark.xdist_group(f"Python 3.{minor}")) for minor in range(11, 14)]
pytestmark = pytest.mark.parametrize("installed", VERSIONS, indirect=True)
IMPORT_ALL = """
import importlib, pkgutil, mobiletest_cli
for module in pkgutil.walk_packages(mobiletest_cli.__path__, "mobiletest_cli."):
    if not {"mcp_server", "local_run"} & set(module.name.split(".")) and not module.name.endswith("__main__"):
        importlib.import_module(module.name)
"""


def find_python(version: str) -> str | None:
    """An interpreter of this version: our own, one of pyenv, or one on the PATH."""
    if f"{sys.version_info.major}.{sys.version_info.minor}" == version:
        return sys.executable
    pyenv = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser()
    built = sorted(pyenv.glob(f"versions/{version}.*/bin/python"))
    return str(built[-1]) if built else shutil.which(f"python{version}")


@pytest.fixture(scope="session")
def environments() -> dict[str, Path]:
    """What has been installed: pytest comes back to a version in random order."""
    return {}


@pytest.fixture(scope="session")
def installed(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, environments: dict[str, Path]
) -> Path:
    """The folder of the programs of an environment that has the distribution only."""
    python = find_python(request.param)
    if python is None:
        pytest.skip(f"this machine has no Python {request.param}")
    if python not in environments:
        environments[python] = install(python, tmp_path_factory.mktemp("cli"))
    return environments[python]


def install(python: str, environment: Path) -> Path:
    subprocess.run([python, "-m", "venv", environment], check=True)
    programs = environment / "bin"
    pip = [str(programs / "pip"), "install", "--quiet", "--disable-pip-version-check"]
    with serve_wheel() as url:
        code = "import sys, urllib.request as u; print(u.urlopen(sys.argv[1]).url)"
        find = [str(programs / "python"), "-c", code, url]
        package = subprocess.run(find, check=True, capture_output=True, text=True).stdout.strip()
        wrong = subprocess.run([*pip, f"{package[:-4]}0000"], check=False, capture_output=True, text=True)
        assert (wrong.returncode, "DO NOT MATCH THE HASHES" in wrong.stderr) == (1, True), wrong.stderr
        subprocess.run([*pip, package], check=True)
    return programs


@contextmanager
def serve_wheel() -> Iterator[str]:
    """The address of /cli/ of a server of our own, with the handlers of the gateway."""
    loop = asyncio.new_event_loop()
    application = web.Application()
    for route in CliWheel().routes:
        for path in (route.path, f"{route.path}/"):
            application.router.add_route(route.method, path, route.handler)
    runner = web.AppRunner(application)
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(runner.setup(), loop).result()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        asyncio.run_coroutine_threadsafe(site.start(), loop).result()
        yield str(URL.build(scheme="http", host="127.0.0.1", port=runner.addresses[0][1], path="/cli/"))
    finally:
        asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def run(program: Path, *arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([program, *arguments], cwd=folder, capture_output=True, text=True, check=False)


def test_it_has_the_version_of_the_server(installed: Path, tmp_path: Path) -> None:
    assert run(installed / "mobiletest", "--version", folder=tmp_path).stdout == f"mobiletest {VERSION}\n"


def test_it_runs_without_the_server(installed: Path, tmp_path: Path) -> None:
    shown = run(installed / "mobiletest", "--help", folder=tmp_path)
    assert (shown.returncode, "Exit codes:" in shown.stdout) == (0, True)
    packages = run(installed / "pip", "list", "--format=freeze", folder=tmp_path).stdout
    assert not {"aiohttp", "grpcio", "motor", "pymongo", "aiokafka"} & {
        line.partition("==")[0] for line in packages.split()
    }


def test_every_module_can_be_imported(installed: Path, tmp_path: Path) -> None:
    imported = run(installed / "python", "-c", IMPORT_ALL, folder=tmp_path)
    assert (imported.returncode, imported.stderr) == (0, "")


def test_a_missing_server_is_said(installed: Path, tmp_path: Path) -> None:
    url = ("--url", "http://127.0.0.1:1", "--patience", "0", "--api-key-stdin")
    asked = subprocess.run(
        [installed / "mobiletest", "apps", "list", *url], input="mt_key", capture_output=True, text=True, check=False
    )
    assert (asked.returncode, "cannot be reached" in asked.stderr) == (8, True), asked.stderr


def test_the_mcp_server_says_what_to_install(installed: Path, tmp_path: Path) -> None:
    asked = run(installed / "mobiletest", "mcp", folder=tmp_path)
    extra = tomllib.loads((ROOT / "cli/pyproject.toml").read_text())["project"]["optional-dependencies"]["mcp"]
    assert (asked.returncode, f"-m pip install '{extra[0]}'" in asked.stderr) == (2, True), asked.stderr


def test_it_validates_flows_offline(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "flow.yaml").write_text("appId: a\n---\n- tapon: Log in\n")
    shown = run(installed / "mobiletest", "tests", "validate", "flow.yaml", folder=tmp_path)
    assert (shown.returncode, shown.stdout.splitlines()[0]) == (
        10,
        'flow.yaml:3:3: error: unknown command "tapon"; did you mean tapOn?',
    )


def test_help_imports_nothing_slow(installed: Path, tmp_path: Path) -> None:
    shown = run(installed / "python", "-X", "importtime", "-m", "mobiletest_cli", "--help", folder=tmp_path)
    imported = {line.rpartition("|")[2].strip() for line in shown.stderr.splitlines()}
    assert "mobiletest_cli.app" in imported
    assert not {"httpx", "rich", "yaml", "re2"} & imported
