"""`mobiletest mcp`: tools for coding agents, used by the client of the official SDK over stdin and stdout."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.server import MCPServer

from mobiletest_cli.api import Api as CliApi
from mobiletest_cli.configuration import Server
from mobiletest_cli.errors import USAGE
from mobiletest_cli.mcp_server.server import build_server
from tests.e2e.cli.conftest import BROKEN, LOG_IN, Shell
from tests.e2e.cli.test_run import SLOW
from tests.e2e.client import Api, created
from tests.e2e.world import UNKNOWN, World, paced_app_model
from tests.eventually import eventually

WRITING = {"run_flow", "rerun_failed", "cancel_execution", "apply_fix", "heal_step", "mark_failure", "comment_run"}


@dataclass
class Agent:
    """Calls tools."""

    client: Client

    async def call(self, tool: str, **arguments: Any) -> Any:
        """The structured answer of a tool."""
        answer = await self.client.call_tool(tool, arguments)
        assert not answer.is_error, answer.content
        return answer.structured_content

    async def refused(self, tool: str, **arguments: Any) -> str:
        """The error that a tool ends with."""
        answer = await self.client.call_tool(tool, arguments)
        assert answer.is_error, answer.content
        return str(answer.content[0].text)  # type: ignore[union-attr]


@asynccontextmanager
async def agent_of(shell: Shell, *, allow_run: bool = True) -> AsyncIterator[Agent]:
    """An agent of the project of the shell, whose server is in this process."""
    api = CliApi(Server(shell.environ["MOBILETEST_URL"], shell.environ["MOBILETEST_API_KEY"]), patience=0)
    try:
        async with connected(build_server(api, shell.folder, allow_run=allow_run)) as agent:
            yield agent
    finally:
        api.close()


@asynccontextmanager
async def agent_of_process(shell: Shell, *arguments: str) -> AsyncIterator[Agent]:
    """An agent that has started the server in the folder of the shell."""
    program = shell.program("mcp", *arguments)
    server = StdioServerParameters(command=program[0], args=list(program[1:]), env=shell.environment, cwd=shell.folder)
    async with connected(server) as agent:
        yield agent


@asynccontextmanager
async def connected(server: MCPServer | StdioServerParameters) -> AsyncIterator[Agent]:
    async with Client(server) as client:
        yield Agent(client)


@pytest.fixture
async def project(shell: Shell, world: World) -> Shell:
    """A folder with a flow that passes and one that fails."""
    shell.write({"flows/log-in.yaml": LOG_IN, "flows/basket.yaml": BROKEN, "app.apk": "app", "../outside.yaml": LOG_IN})
    await world.upload(await world.app(name="Shop"), shell.folder / "app.apk", version="1.0")
    return shell


async def test_only_tools_that_read_are_there_without_permission(project: Shell) -> None:
    async with agent_of_process(project) as agent:
        tools = (await agent.client.list_tools()).tools
        assert all(tool.annotations and tool.annotations.read_only_hint for tool in tools)
        assert all(tool.description for tool in tools)
        assert not WRITING & {tool.name for tool in tools}
        assert "Unknown tool" in await agent.refused("run_flow", paths=["flows"])
    async with agent_of(project) as agent:
        tools = (await agent.client.list_tools()).tools
        assert {tool.name for tool in tools if not tool.annotations.read_only_hint} == WRITING  # type: ignore[union-attr]


async def test_an_agent_runs_flows_and_reads_the_failure(project: Shell) -> None:
    """From the flows of the project to the step that failed, the screen as elements, and its picture."""
    async with agent_of_process(project, "--allow-run") as agent:
        seen: list[tuple[float, float | None]] = []

        async def progress(done: float, total: float | None, _: str | None) -> None:
            seen.append((done, total))

        answer = await agent.client.call_tool("run_flow", {"paths": ["flows"]}, progress_callback=progress)
        execution: Any = answer.structured_content
        assert seen[-1] == (2, 2)
        assert "1 passed, 1 failed of 2 runs" in execution["summary"]
        assert "which ran their built-in model instead of the build" in execution["simulation"]
        [run] = execution["not_passed"]
        assert run["simulation"].startswith("A simulated device ran its built-in model instead of build ")
        assert (run["test"], run["outcome"], "(simulated)" in run["device"]) == ("Open the basket", "failed", True)
        assert (run["flow"], run["failed_at"], run["run_from"]) == ("basket.yaml", "basket.yaml:5:3", [])
        failure = await agent.client.call_tool("read_failure", {"execution": execution["id"]})
        text, picture = failure.content
        shown = json.loads(text.text)  # type: ignore[union-attr]
        assert shown["failed_step"]["index"] == 1
        assert "Nothing of this name" in shown["failed_step"]["step"]
        assert shown["steps_before"] == ["0. launchApp [passed] at basket.yaml:4:3"]
        assert shown["failed_step"]["written_at"] == "basket.yaml:5:3"
        assert 'text="Log in"' in shown["screen"]
        assert (picture.type, picture.mime_type) == ("image", "image/png")  # type: ignore[union-attr]
        gate = await agent.call("get_gate", execution=execution["id"])
        assert (gate["result"], gate["reasons"][0]["test"]) == ("block", "Open the basket")
        assert gate["covers"].startswith("Covers ")
        assert "not_run" not in gate
        build = await agent.call("get_gate", build=run["build"], app="Shop")
        assert (build["result"], build["not_run"]) == ("block", [])
        assert "attached test" in build["covers"]
        assert "either execution or build" in await agent.refused("get_gate")
        again = await agent.call("rerun_failed", execution=execution["id"])
        assert [run["test"] for run in again["not_passed"]] == ["Open the basket"]


async def test_an_agent_looks_around(project: Shell) -> None:
    ran = (await project.run("run", "flows", "--json")).document["execution"]["id"]
    async with agent_of(project) as agent:
        [app] = (await agent.call("list_apps"))["apps"]
        assert (app["name"], app["attached_tests"]) == ("Shop", 2)
        assert [build["version"] for build in (await agent.call("list_builds", app="Shop"))["builds"]] == ["1.0"]
        tagged = await agent.call("list_tests", app="Shop", tag="smoke")
        assert [test["name"] for test in tagged["tests"]] == ["Log in"]
        first = await agent.call("list_tests", limit=1)
        assert (len(first["tests"]), "more than 1" in first["more"]) == (1, True)
        test = await agent.call("get_test", test="Log in")
        assert {"position": 1, "step": "launchApp"} in test["steps"]
        assert [each["id"] for each in (await agent.call("list_executions", app="Shop"))["executions"]] == [ran]
        assert [run["test"] for run in (await agent.call("get_execution", execution=ran))["not_passed"]] == [
            "Open the basket"
        ]
        assert (await agent.call("wait_for_execution", execution=ran))["success"] is False

        async def known() -> bool:
            history = await agent.call("test_history", test="Open the basket", result="failed")
            classes = [each["classification"] for each in history["classifications"]]
            return ([run["success"] for run in history["runs"]], classes) == ([False], ["insufficient_data"])

        await eventually(known)
        coverage = await agent.call("get_coverage", app="Shop")
        assert [(each["test_name"], each["last_status"]) for each in coverage["not_passed"]] == [
            ("Open the basket", "failed")
        ]


async def test_an_agent_tells_people_what_is_known(project: Shell) -> None:
    """It comments a run and marks its failure, which those who read the failure see."""
    ran = (await project.run("run", "flows", "--json")).document["execution"]["id"]
    async with agent_of(project) as agent:

        async def failed() -> bool:
            return bool((await agent.call("list_failures", app="Shop", search="of this name"))["failures"])

        await eventually(failed)
        [failure] = (await agent.call("list_failures", state="open"))["failures"]
        assert (failure["state"], failure["last_seen"]["execution_id"]) == ("open", ran)
        marking = {"app": "Shop", "fingerprint": failure["fingerprint"], "ticket_url": "https://tickets.example/1"}
        assert (await agent.call("mark_failure", **marking, state="known"))["state"] == "known"

        async def marked() -> bool:
            [known] = (await agent.call("list_failures"))["failures"]
            return bool(known.get("written") == "known, https://tickets.example/1")

        await eventually(marked)
        await agent.call("comment_run", execution=ran, test="Open the basket", text="Renamed in SHOP-1")
        read = await agent.client.call_tool("read_failure", {"execution": ran})
        shown = json.loads(read.content[0].text)  # type: ignore[union-attr]
        assert [comment["text"] for comment in shown["comments"]] == ["Renamed in SHOP-1"]
        gate = await agent.call("get_gate", execution=ran)
        assert [reason["fingerprint"] for reason in gate["reasons"]] == [failure["fingerprint"]]


async def test_executions_are_filtered_as_in_the_api(project: Shell) -> None:
    ran = await project.run("run", "flows", "--json", "--ci-branch", "feature/x", "--ci-commit", "a" * 40)
    id = ran.document["execution"]["id"]
    async with agent_of(project) as agent:
        for matching in ({"commit_sha": "aaaaaaaaa"}, {"branch": "feature/"}, {"result": "failed"}, {"sort": "oldest"}):
            assert [each["id"] for each in (await agent.call("list_executions", **matching))["executions"]] == [id]
        others: list[dict[str, Any]] = [{"branch": "feature/", "exact": True}, {"pr_number": 1}, {"result": "flaky"}]
        for other in (*others, {"started_by": "nobody"}, {"created_before": "2026-01-01T00:00:00Z"}):
            assert (await agent.call("list_executions", **other))["executions"] == []


async def test_builds_are_compared(project: Shell) -> None:
    await project.run("run", "flows", "--ci-branch", "main")
    mended = LOG_IN.replace("Log in\ntags: [smoke]", "Open the basket")
    project.write({"flows/basket.yaml": mended, "next.apk": "next"})
    await project.run("run", "flows", "--file", "next.apk", "--build", "2.0", "--ci-branch", "feature/x")
    async with agent_of(project) as agent:

        async def fixed() -> bool:
            compared = await agent.call("compare_builds", app="Shop", build="2.0", base="1.0")
            return bool(compared["fixed"] == ["Open the basket"])

        await eventually(fixed)
        compared = await agent.call("compare_builds", app="Shop", branch="feature/x")
        assert (compared["build"], compared["base"], compared["fixed"]) == ("2.0", "1.0", ["Open the basket"])
        assert "no build of this app" in await agent.refused("compare_builds", app="Shop", pr_number=1)
        [app] = (await agent.call("list_apps"))["apps"]
        assert (app["result"], app["build"], app["newly_failing"]) == ("passing", "2.0 (feature/x)", 0)


async def test_a_fix_is_tried_on_the_screen_of_the_failure(project: Shell) -> None:
    """Nothing is changed by a proposal; a test with a file is changed there."""
    ran = (await project.run("run", "flows", "--json")).document["execution"]["id"]
    async with agent_of(project) as agent:
        bad = await agent.call("propose_fix", execution=ran, step="Tap on the basket")
        assert (bad["resolves"], bad["reason"]) == (False, "not_found")
        good = await agent.call("propose_fix", execution=ran, step={"tapOn": "Log in"}, test="Open the basket")
        assert (good["resolves"], good["action"], good["element"]["text"]) == (True, "tap", "Log in")
        assert "basket.yaml" in good["test"]["how_to_change"]
        resolved = await agent.call("resolve_step", step="Tap on Log in", execution=ran)
        assert resolved["action"] == "tap"
        again = await agent.call("recheck_step", test="Open the basket", position=2)
        assert (again["runs"], again["failed"]["does_not_hold"] > 0) == (1, True)
        changed = await agent.call("recheck_step", test="Open the basket", position=2, step={"tapOn": "Log in"})
        assert changed["failed"]["holds"] == again["failed"]["does_not_hold"]
        step = {"extendedWaitUntil": {"visible": "Nothing of this name", "timeout": 50}}
        refused = await agent.refused("apply_fix", test="Open the basket", position=2, current=step, step="launchApp")
        assert "Change the file" in refused


async def test_a_failure_of_another_kind_has_no_proposal(project: Shell, world: World) -> None:
    app, test = await world.app(), await world.test(["launchApp", {"assertVisible": "Nothing of this name"}])
    await world.build(app, "1.0")
    await world.attach(app, test)
    run = await world.only_run(await world.run(await world.workflow(test)))
    async with agent_of(project) as agent:
        healing = await agent.call("heal_step", execution=run["execution_id"], run=run["id"])
        assert (healing["state"], healing["reason"] != "") == ("none", True)


async def test_a_step_is_replaced_if_it_is_unchanged(project: Shell, api: Api) -> None:
    test = created(await api.post("/tests", {"name": "Shop", "steps": ["Tap on A", "Tap on B"]}))
    async with agent_of(project) as agent:
        fix = {"test": "Shop", "position": 1, "current": "Tap on B", "step": "Tap on C"}
        assert (await agent.call("apply_fix", **fix))["version_number"] == 2
        assert created(await api.get(f"/tests/{test['id']}"))["steps"] == ["Tap on A", "Tap on C"]
        assert "is not the one that was given" in await agent.refused("apply_fix", **fix)
        assert "is not the one" in await agent.refused("apply_fix", **{**fix, "position": 7})


async def test_flows_are_validated_offline(project: Shell) -> None:
    project.write({"typo/flow.yaml": "appId: a\n---\n- tapon: Log in\n"})
    async with agent_of(project) as agent:
        assert (await agent.call("validate_flow", path="flows"))["valid"] is True
        expected = {"file": "flow.yaml", "line": 3, "column": 3, "severity": "error"}
        for where in ({"path": "typo"}, {"text": "appId: a\n---\n- tapon: Log in\n"}):
            answer = await agent.call("validate_flow", **where)
            assert (answer["valid"], len(answer["problems"])) == (False, 1)
            assert answer["problems"][0].items() >= expected.items()


async def test_files_outside_of_the_project_are_refused(project: Shell) -> None:
    (project.folder / "link.yaml").symlink_to("../outside.yaml")
    async with agent_of(project) as agent:
        for path in ("..", "../outside.yaml", "link.yaml", "/etc/hosts"):
            assert "is outside of the project" in await agent.refused("validate_flow", path=path)
            assert "is outside of the project" in await agent.refused("run_flow", paths=[path])
        assert "is outside" in await agent.refused("run_flow", paths=["flows"], app_file="../outside.yaml")


async def test_mistakes_are_errors_that_say_what_to_do(project: Shell, api: Api) -> None:
    reader = created(await api.post("/settings/api-keys", {"name": "reader", "scopes": ["read"]}))["key"]
    async with agent_of(project) as agent:
        assert 'no app is called "Nowhere"' in await agent.refused("list_builds", app="Nowhere")
        assert "Execution not found" in await agent.refused("get_execution", execution=UNKNOWN)
        assert "less than or equal to 100" in await agent.refused("list_apps", limit=1000)
        assert "nothing is selected" in await agent.refused("run_flow")
    project.environ["MOBILETEST_API_KEY"] = reader
    async with agent_of(project) as agent:
        refused = await agent.refused("run_flow", paths=["flows"])
        assert "mobiletest whoami" in refused
        assert reader not in refused
    project.environ["MOBILETEST_URL"] = "http://127.0.0.1:1"
    async with agent_of(project) as agent:
        assert "cannot be reached" in await agent.refused("list_apps")


async def test_a_call_that_is_cancelled_leaves_the_server_at_work(project: Shell) -> None:
    """The execution goes on; another tool cancels it."""
    project.write({"slow/flow.yaml": SLOW})
    (project.folder / "slow.apk").write_bytes(paced_app_model(seconds=1.2))
    async with agent_of(project) as agent:
        with anyio.move_on_after(60) as scope:

            async def running(*_: Any) -> None:
                scope.cancel()

            arguments = {"paths": ["slow"], "app_file": "slow.apk", "build": "3.0"}
            await agent.client.call_tool("run_flow", arguments, progress_callback=running)
        assert scope.cancelled_caught
        [execution] = (await agent.call("list_executions"))["executions"]
        assert execution["status"] in ("queued", "running")
        left = await agent.call("wait_for_execution", execution=execution["id"], wait_seconds=0)
        assert "it goes on" in left["not_ended"]
        await agent.call("cancel_execution", execution=execution["id"])
        assert (await agent.call("wait_for_execution", execution=execution["id"]))["status"] == "cancelled"


async def test_the_key_does_not_come_from_the_stream_of_the_protocol(shell: Shell) -> None:
    ended = await shell.run("mcp", "--api-key-stdin", stdin="mt_key\n")
    assert (ended.code, ended.out) == (USAGE, "")
    assert "the MCP server needs stdin for its protocol" in ended.err
