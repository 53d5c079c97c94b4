"""The Docker client on the command line, and the images that deploy/images/build.sh makes."""

import os
import shutil
import subprocess
from pathlib import Path

from tests.conftest import skip_or_fail

ROOT = Path(__file__).resolve().parents[2]
IMAGE = "mobiletest:dev"
HOW = "`make containers` has one, and the images"
# What Kubernetes grants our pods.
CONFINED = (
    "--rm",
    "--read-only",
    "--cap-drop=ALL",
    "--security-opt=no-new-privileges",
    "--tmpfs=/tmp",
    "--network=none",
)

Result = subprocess.CompletedProcess[str]


def run(*arguments: str, env: dict[str, str] | None = None, check: bool = False) -> Result:
    """A command and what it printed. CalledProcessError with `check`, when it fails."""
    return subprocess.run(arguments, capture_output=True, text=True, check=check, env={**os.environ, **(env or {})})


def in_image(*command: str) -> Result:
    """A command in a container of our image, confined as in the cluster."""
    return run("docker", "run", *CONFINED, IMAGE, *command)


def compose() -> str:
    """The path of Compose. Without it the test is skipped, in CI it fails."""
    path = shutil.which("docker-compose", path=str(ROOT / "build" / "tools"))
    return path or skip_or_fail(f"no docker-compose in build/tools; {HOW}")


def need_image() -> None:
    """Skips the test, or fails it in CI, unless there is a daemon that has our image."""
    if shutil.which("docker") is None or run("docker", "image", "inspect", IMAGE).returncode:
        skip_or_fail(f"no Docker daemon that has the image; {HOW}")
