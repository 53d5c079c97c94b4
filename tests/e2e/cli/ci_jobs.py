"""The jobs of examples/ci, as each CI system starts them: for a folder, and a shard as index and count."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.ci_examples import bitrise_script, circleci_job, github_steps, gitlab_configuration, jenkins_script
from tests.unit.cli.ci_environments import BITRISE, CIRCLECI, GITHUB, GITLAB, JENKINS

APP = "app/build/outputs/apk/debug/app-debug.apk"


@dataclass(frozen=True)
class Job:
    """What a CI system runs: its shell, the script, the environment, and the JUnit file that results."""

    shell: tuple[str, ...]
    script: str
    environ: dict[str, str]
    junit: str


def github(folder: Path, shard: tuple[int, int], **inputs: str) -> Job:
    named = {name.replace("_", "-"): text for name, text in inputs.items()}
    given = {"file": APP, "shard": f"{shard[0]}/{shard[1]}", **named}
    steps = github_steps(given)
    environ = {name: value for step in steps for name, value in step["env"].items()}
    script = "\n".join(step["run"] for step in steps)
    shell = ("bash", "--noprofile", "--norc", "-eo", "pipefail")
    return Job(shell, script, GITHUB | environ | {"GITHUB_OUTPUT": str(folder / "output")}, "mobiletest.xml")


def gitlab(_: Path, shard: tuple[int, int], **inputs: str) -> Job:
    [job] = gitlab_configuration({"file": APP, "shards": shard[1], **inputs}).values()
    assert (job["parallel"], job["artifacts"]["when"]) == (shard[1], "always")
    nodes = {"CI_NODE_INDEX": str(shard[0]), "CI_NODE_TOTAL": str(shard[1])}
    variables = {name: variable["value"] for name, variable in job["variables"].items()}
    return Job(("sh", "-e"), "\n".join(job["script"]), GITLAB | nodes | variables, job["artifacts"]["reports"]["junit"])


def jenkins(folder: Path, shard: tuple[int, int]) -> Job:
    nodes = {"SHARD": str(shard[0]), "SHARDS": str(shard[1])}
    environ = JENKINS | nodes | {"WORKSPACE_TMP": str(folder.with_name("project@tmp"))}
    return Job(("sh", "-xe"), jenkins_script(), environ, f"mobiletest-{shard[0]}.xml")


def circleci(_: Path, shard: tuple[int, int]) -> Job:
    commands, environ = circleci_job()
    nodes = {"CIRCLE_NODE_INDEX": str(shard[0] - 1), "CIRCLE_NODE_TOTAL": str(shard[1])}
    script = "\n".join(commands)
    return Job(("bash", "-eo", "pipefail"), script, CIRCLECI | environ | nodes, "test-results/mobiletest/junit.xml")


def bitrise(folder: Path, shard: tuple[int, int]) -> Job:
    script, environ = bitrise_script()
    for name in ("results", "deploy"):
        (folder / name).mkdir(exist_ok=True)
    paths = {
        "BITRISE_TEST_RESULT_DIR": str(folder / "results"),
        "BITRISE_DEPLOY_DIR": str(folder / "deploy"),
        "BITRISE_APK_PATH": str(folder / APP),
    }
    nodes = {"BITRISE_IO_PARALLEL_INDEX": str(shard[0] - 1), "BITRISE_IO_PARALLEL_TOTAL": str(shard[1])}
    return Job(("bash",), script, BITRISE | environ | paths | nodes, "results/mobiletest/junit.xml")


System = Callable[[Path, tuple[int, int]], Job]

SYSTEMS: list[System] = [github, gitlab, jenkins, circleci, bitrise]
