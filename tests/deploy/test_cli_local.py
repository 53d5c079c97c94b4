"""The command line with its extra `local` gives a verdict without a server; without it, it says what to install."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FLOW = "appId: com.example.shop\n---\n- launchApp\n- assertVisible: Log in\n- evalScript: ${output.sum = 1 + 1}\n"
ARGUMENTS = ("run", "--local", "--device", "simulated", "flow.yaml")


def install(folder: Path, extra: str) -> Path:
    """The command in an environment of its own."""
    [wheel] = (ROOT / "gen" / "wheels").glob("mobiletest_cli-*.whl")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    pip = [str(folder / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check", f"{wheel}{extra}"]
    subprocess.run(pip, check=True)
    return folder / "bin" / "mobiletest"


def run(program: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    (folder / "flow.yaml").write_text(FLOW)
    return subprocess.run([program, *ARGUMENTS], cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.xdist_group("local command line")
def test_with_the_extra_it_gives_a_verdict(tmp_path: Path) -> None:
    ended = run(install(tmp_path / "environment", "[local]"), tmp_path)
    assert (ended.returncode, "1 passed of 1 run" in ended.stdout) == (0, True), ended.stderr
    assert "simulated" in ended.stdout


@pytest.mark.xdist_group("local command line")
def test_without_the_extra_it_says_what_to_install(tmp_path: Path) -> None:
    ended = run(install(tmp_path / "environment", ""), tmp_path)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "-m pip install 'aiohttp" in ended.stderr
