"""The scripts in examples/ci, taken out of the files and run as each CI system runs them."""

import asyncio
import os
import re
import shutil
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from junitparser import JUnitXml

from mobiletest_cli import __version__
from mobiletest_cli.errors import FAILED, OK, TERMINATED, USAGE
from tests.e2e.cli.ci_jobs import APP, SYSTEMS, Job, System, bitrise, github, gitlab, jenkins
from tests.e2e.cli.conftest import INHERITED, ROOT, Ended, Shell
from tests.e2e.cli.test_run import when_it_runs
from tests.e2e.client import Api, created, fresh
from tests.e2e.world import World

WHEEL = f"mobiletest_cli-{__version__}-py3-none-any.whl"
MODEL = """app_model: 1
app: {id: com.example.shop}
pace: {step: 0ms}
start: home
screens: {home: {elements: [{type: text, text: Log in}]}}
"""
FLOW = "appId: com.example.shop\nname: Log in\n---\n- launchApp\n- assertVisible: Log in\n"
BROKEN = FLOW.replace("assertVisible: Log in", "extendedWaitUntil: {visible: Nothing, timeout: 50}")
HOSTILE = 'it\'s "a" $(touch executed) `touch executed`; touch executed & * \\'

# The command from this checkout, an installer that notes what it was asked for, and `python3 -m venv`.
PROGRAMS = {
    "mobiletest": '#!/bin/sh\nexec {python} -m mobiletest_cli "$@"\n',
    "pip": "#!/bin/sh\nfor last; do :; done\nprintf '%s\\n' \"$last\" >>{folder}/installed\n",
    "python3": '#!/bin/bash\n[ "$1" = -c ] && exec {python} "$@"\n'
    'for last; do :; done\nmkdir -p "$last/bin"\ncp {folder}/{pip,mobiletest} "$last/bin"\n',
}


@dataclass
class Agent:
    """A machine of a CI system, with the project checked out and the secrets in the environment."""

    shell: Shell
    programs: Path

    async def start(self, job: Job) -> asyncio.subprocess.Process:
        """A job that runs, as the leader of its process group."""
        path = {"PATH": f"{self.programs}:{INHERITED['PATH']}", "PYTHONPATH": str(ROOT / "cli")}
        return await asyncio.create_subprocess_exec(
            *job.shell,
            "-c",
            job.script,
            cwd=self.shell.folder,
            env=INHERITED | path | job.environ | self.shell.environ,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
            preexec_fn=_heed_interrupts,
        )

    async def run(self, job: Job) -> Ended:
        """A job that ended, and has not shown the key in its log or a file."""
        process = await self.start(job)
        out, err = (output.decode() for output in await process.communicate())
        written = [file.read_text() for file in self.shell.folder.rglob("*") if file.is_file()]
        assert self.shell.environ["MOBILETEST_API_KEY"] not in "".join([out, err, *written])
        return Ended(process.returncode or 0, out, err)

    @property
    def installed(self) -> list[str]:
        """What was installed, one for each call."""
        return (self.programs / "installed").read_text().splitlines()


def _heed_interrupts() -> None:
    """As under the agents of CI systems: tests in the background ignore interrupts, and their children would, too."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture
async def agent(shell: Shell, world: World, tmp_path: Path) -> Agent:
    """The app is registered, with a build: a model does not say its version, as an .apk does. The key has no more
    scopes than examples/ci/README.md asks for.
    """
    await upload(world, await world.app(name="Shop"), MODEL)
    key = await world.api.post("/settings/api-keys", {"name": "ci", "scopes": ["read", "write", "execute"]})
    shell.environ["MOBILETEST_API_KEY"] = created(key)["key"]
    programs = tmp_path / "programs"
    programs.mkdir()
    for name, text in PROGRAMS.items():
        (programs / name).write_text(text.replace("{python}", sys.executable).replace("{folder}", str(programs)))
        (programs / name).chmod(0o755)
    (programs / "pipx").symlink_to("pip")
    shell.write({APP: MODEL, ".maestro/log-in.yaml": FLOW})
    return Agent(shell, programs)


async def upload(world: World, app: Any, model: str) -> None:
    created(await world.api.upload(app["id"], model.encode(), "app.apk", version=fresh("1.0.0").replace(" ", "-")))


async def newest(api: Api) -> Any:
    """The newest execution."""
    listed = created(await api.get("/executions"))["items"][0]
    return created(await api.get(f"/executions/{listed['id']}"))


@pytest.mark.parametrize("system", SYSTEMS)
async def test_tests_that_pass_and_fail_end_the_job_and_leave_junit(agent: Agent, api: Api, system: System) -> None:
    """The job that passes is one of three shards, with enough flows that each has one."""
    many = {f".maestro/{n}.yaml": FLOW.replace("Log in\n---", f"Flow {n}\n---") for n in range(30)}
    for flows, shard, code in ((many, (2, 3), OK), ({".maestro/log-in.yaml": BROKEN}, (1, 1), FAILED)):
        shutil.rmtree(agent.shell.folder / ".maestro")
        agent.shell.write(flows)
        job = system(agent.shell.folder, shard)
        ended = await agent.run(job)
        assert ended.code == code, ended.err
        execution = await newest(api)
        assert (execution["ci"]["system"], execution["shard"]) == (system.__name__, f"{shard[0]}/{shard[1]}")
        [suite] = JUnitXml.fromfile(str(agent.shell.folder / job.junit))
        assert {case.is_passed for case in suite} == {code == OK}
    assert len(agent.installed) == 2
    wheel = re.escape(f"{agent.shell.environ['MOBILETEST_URL']}/cli/{WHEEL}")
    assert all(re.fullmatch(wheel + "#sha256=[0-9a-f]{64}", package) for package in agent.installed), agent.installed


async def test_github_gets_outputs(agent: Agent, api: Api) -> None:
    inputs = {
        "gate": "false",
        "retries": "",
        "report": "out/report.md",
        "tags": "smoke",
        "args": "--retries=1\n--quiet",
    }
    agent.shell.write({".maestro/log-in.yaml": BROKEN.replace("---", "tags: [smoke]\n---")})
    ended = await agent.run(github(agent.shell.folder, (1, 1), **inputs))
    execution = await newest(api)
    assert (ended.code, execution["run_config"]["execution_mode"]["retries"]) == (FAILED, 1)
    assert "Gate:" not in ended.out
    outputs = (agent.shell.folder / "output").read_text()
    assert outputs == f"execution-id={execution['id']}\nexit-code={FAILED}\n"
    assert "Log in" in (agent.shell.folder / "out" / "report.md").read_text()


async def test_inputs_are_not_executed(agent: Agent, api: Api) -> None:
    """Names of files and values of variables reach the command as they are."""
    app, flows = f"{HOSTILE.replace('/', '')}.apk", f"flows {HOSTILE}"
    agent.shell.write({app: MODEL, f"{flows}/log-in.yaml": FLOW, "--env=FILES=found": ""})
    inputs = {"file": app, "flows": flows, "package": HOSTILE}
    for job in (
        github(agent.shell.folder, (1, 1), env=f"NOTE={HOSTILE}\nFILES=*", **inputs),
        gitlab(agent.shell.folder, (1, 1), options=f"--env=NOTE={HOSTILE}\n--env=FILES=*\n", **inputs),
    ):
        ended = await agent.run(job)
        assert ended.code == OK, ended.err
        config = (await newest(api))["run_config"]
        assert config["env"] == {"NOTE": HOSTILE, "FILES": "*"}
    assert agent.installed == [HOSTILE, HOSTILE]
    broken = await agent.run(github(agent.shell.folder, (1, 1), timeout="60\ntouch executed", cancel_previous="true"))
    assert broken.code == USAGE
    assert not list(agent.shell.folder.rglob("executed"))


async def test_bitrise_does_not_execute_the_name_of_the_app(agent: Agent) -> None:
    job = bitrise(agent.shell.folder, (1, 1))
    agent.shell.write({f"{HOSTILE}.apk": MODEL})
    job.environ["BITRISE_APK_PATH"] = str(agent.shell.folder / f"{HOSTILE}.apk")
    ended = await agent.run(job)
    assert ended.code == OK, ended.err
    assert not list(agent.shell.folder.rglob("executed"))


@pytest.mark.parametrize("system", [github, jenkins, bitrise])
async def test_a_cancelled_job_cancels_the_execution(agent: Agent, api: Api, world: World, system: System) -> None:
    """GitHub signals the shell with SIGINT, Jenkins all processes with SIGTERM."""
    slow = FLOW + "- assertVisible: Log in\n" * 50
    model = MODEL.replace("0ms", "1200ms")
    await upload(world, created(await api.get("/apps"))["items"][0], model)
    agent.shell.write({APP: model, ".maestro/log-in.yaml": slow})
    process = await agent.start(system(agent.shell.folder, (1, 1)))
    await when_it_runs(process, "Log in")
    if system is jenkins:
        os.killpg(process.pid, signal.SIGTERM)
    else:
        process.send_signal(signal.SIGINT if system is github else signal.SIGTERM)
    _, err = await process.communicate()
    execution = await newest(api)
    assert (await world.ended(execution["id"]))["status"] == "cancelled", err.decode()
    if system is github:
        outputs = (agent.shell.folder / "output").read_text()
        assert (process.returncode, outputs.splitlines()[1]) == (TERMINATED, f"exit-code={TERMINATED}")
