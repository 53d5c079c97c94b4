"""The stack of deploy/compose, on Apache Kafka and MongoDB in containers, used as a customer does.

Their images are those that the Compose file names, or MOBILETEST_MONGO_IMAGE and MOBILETEST_KAFKA_IMAGE.
"""

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from deploy.local.layout import python_path
from tests.images.docker import ROOT, Result, compose, run

FILE = ROOT / "deploy" / "compose" / "compose.yaml"
TOKENS = dict(line.split("=", 1) for line in run("sh", str(ROOT / "deploy" / "tokens.sh")).stdout.splitlines())
PATIENCE_SECONDS = "180"
SERVICES = ("gateway", "catalog", "executor-api", "executor-worker", "reporting")


@dataclass(frozen=True)
class Project:
    """A Compose project of our own, on any free port."""

    binary: str

    @property
    def url(self) -> str:
        return f"http://{self('port', 'gateway', '8080').stdout.strip()}"

    def __call__(self, *arguments: str, check: bool = True) -> Result:
        settings = {**TOKENS, "MOBILETEST_PORT": "0", "MOBILETEST_SIMULATED_DEVICES": "true"}
        prefix = (self.binary, "--project-name", "mobiletest-suite", "--progress", "quiet", "--file", str(FILE))
        return run(*prefix, *arguments, env=settings, check=check)


@pytest.fixture(scope="module")
def project() -> Iterator[Project]:
    """The stack, with all its containers healthy."""
    stack = Project(compose())
    try:
        started = stack("up", "--no-build", "--detach", "--wait", "--wait-timeout", PATIENCE_SECONDS, check=False)
        assert started.returncode == 0, started.stderr + stack("logs", "--tail", "5", *SERVICES).stdout
        yield stack
    finally:
        stack("down", "--volumes", "--timeout", "5")


@pytest.mark.timeout(400)
def test_the_example_workspace_runs_and_the_services_stop_on_a_signal(project: Project) -> None:
    """Through REST: apps, builds, tests, a workflow on each build, its verdicts. Then SIGTERM, and exit code 0."""
    made = project("exec", "-T", "catalog", "python", "-m", "services.catalog", "bootstrap", "--name", "Suite").stdout
    key = json.loads(made.splitlines()[-1])["api_key"]
    address = {"MOBILETEST_URL": project.url, "MOBILETEST_API_KEY": key}
    loaded = run(sys.executable, "-m", "examples.load", env={**address, "PYTHONPATH": python_path()})
    assert loaded.returncode == 0, loaded.stdout + loaded.stderr + project("logs", "--tail", "20", *SERVICES).stdout
    print(loaded.stdout)
    project("stop")
    listed = [json.loads(line) for line in project("ps", "--all", "--format", "json").stdout.splitlines()]
    codes = {each["Service"]: each["ExitCode"] for each in listed if each["Service"] in SERVICES}
    assert codes == dict.fromkeys(SERVICES, 0)
