"""The distribution of the command line: installed with pip in an environment of its own, without the server."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the programs of an environment that has the distribution only."""
    environment = tmp_path_factory.mktemp("cli")
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    programs = environment / "bin"
    pip = [str(programs / "pip"), "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, str(ROOT / "cli")], check=True)
    return programs


def run(program: Path, *arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([program, *arguments], cwd=folder, capture_output=True, text=True, check=False)


def test_it_runs_without_the_server(installed: Path, tmp_path: Path) -> None:
    shown = run(installed / "mobiletest", "--help", folder=tmp_path)
    assert (shown.returncode, "Exit codes:" in shown.stdout) == (0, True)
    packages = run(installed / "pip", "list", "--format=freeze", folder=tmp_path).stdout
    assert not {"aiohttp", "grpcio", "motor", "pymongo", "aiokafka"} & {
        line.partition("==")[0] for line in packages.split()
    }


def test_it_validates_flows_offline(installed: Path, tmp_path: Path) -> None:
    """With the parser of the server, which the distribution contains."""
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
