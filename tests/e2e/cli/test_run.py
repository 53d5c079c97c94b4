"""`mobiletest run`: from an app file and a folder of flows to a verdict, with every exit code."""

import asyncio
import re
import signal
from datetime import datetime
from xml.etree import ElementTree

import pytest
from junitparser import JUnitXml

from mobiletest_cli.errors import (
    CANCELLED,
    FAILED,
    INTERRUPTED,
    INVALID_FILE,
    NO_VERDICT,
    NOT_FOUND,
    OK,
    TERMINATED,
    TIMEOUT,
    USAGE,
)
from tests.e2e.cli.conftest import BROKEN, LOG_IN, Shell
from tests.e2e.client import Api, created, fresh
from tests.e2e.world import World, paced_app_model
from tests.eventually import eventually

SLOW = "appId: com.example.paced\nname: Slow\n---\n- launchApp\n" + "- assertVisible: Log in\n" * 50


@pytest.fixture
def project(shell: Shell) -> Shell:
    """A folder with an app file and a flow that passes."""
    shell.write({".maestro/log-in.yaml": LOG_IN, "app.apk": fresh("app")})
    return shell


async def slow_project(shell: Shell) -> Shell:
    """A folder whose only flow takes a minute."""
    shell.write({".maestro/slow.yaml": SLOW})
    (shell.folder / "app.apk").write_bytes(paced_app_model(seconds=1.2))
    return shell


async def test_verbose_prints_the_steps_before_the_result(shell: Shell) -> None:
    shell.write({".maestro/slow.yaml": SLOW[: SLOW.index("- assert")] + "- assertVisible: Log in\n" * 2})
    (shell.folder / "app.apk").write_bytes(paced_app_model(seconds=1.0))
    ended = await shell.ok("run", "--file", "app.apk", "--build", "1.0.0", ".maestro", "--verbose")
    lines = [line.strip() for line in ended.err.splitlines() if "Slow: " in line]
    assert [line.partition(" after ")[0] for line in lines] == [
        "▶ Slow: running",
        *(f"Slow: step {number} passed" for number in (1, 2, 3)),
        "✓ Slow: passed",
    ]
    assert all("(simulated): " in line for line in lines[1:-1])


async def test_a_new_user_gets_a_verdict_with_one_command(project: Shell, api: Api) -> None:
    """The app is registered, the build uploaded, the flow imported, run and reported."""
    ended = await project.run("run", "--file", "app.apk", "--build", "1.0.0", ".maestro")
    assert ended.code == OK, ended.err
    assert 'Registered the Android app "project".' in ended.err
    assert "Imported project: 1 new, 0 changed, 0 unchanged." in ended.err
    assert "(simulated)" in ended.out
    assert "All results come from simulated devices, which ran their built-in model instead of the build" in ended.out
    assert "Gate: Passed: the only run passed. Simulated devices ran their built-in model" in ended.out
    [app] = created(await api.get("/apps"))["items"]
    assert (app["name"], app["platform"], app["versions_count"], app["attached_tests"]) == ("project", "Android", 1, 1)
    again = await project.ok("run", "--file", "app.apk", "--build", "1.0.0")
    assert "Build 1.0.0 of project is on the server." in again.err
    assert "0 new, 0 changed, 1 unchanged" in again.err
    assert created(await api.get("/executions"))["total"] == 2


async def test_variables_of_the_shell_reach_the_flow_unless_the_command_names_them(project: Shell) -> None:
    project.write({"flows/who.yaml": "- launchApp\n- assertTrue: ${MAESTRO_WHO == 'ada' && MAESTRO_WHERE == 'here'}\n"})
    project.environ |= {"MAESTRO_WHO": "ada", "MAESTRO_WHERE": "there", "MAESTRO_OTHER": "x"}
    ended = await project.ok("run", "--file", "app.apk", "--build", "1.0.0", "-e", "MAESTRO_WHERE=here", "flows")
    assert "From the environment: MAESTRO_WHO." in ended.err


async def test_flows_run_in_the_order_of_the_folder_and_end_with_a_failure(project: Shell) -> None:
    """What is not run is skipped in JUnit, and the flows outside of the order run."""
    order = "executionOrder: {continueOnFailure: false, flowsOrder: [z_first, a_second]}"
    flows = {"z_first": "- launchApp\n- assertVisible: Nope\n", "a_second": "- launchApp\n", "other": "- launchApp\n"}
    project.write({"flows/config.yaml": order, **{f"flows/{name}.yaml": text for name, text in flows.items()}})
    options = ("--build", "1.0.0", "--retries", "0", "--junit", "junit.xml", "--no-gate")
    ended = await project.run("run", "--file", "app.apk", *options, "flows", "--json")
    assert ended.code == FAILED, ended.err
    runs = {run["test_name"]: run for run in ended.document["runs"]}
    first, second, other = runs["z_first"], runs["a_second"], runs["other"]
    assert (first["success"], second["status"], other["success"]) == (False, "cancelled", True)
    assert second["failure"]["category"] == "cancelled_after_failure"
    assert datetime.fromisoformat(other["started_at"]) >= datetime.fromisoformat(first["completed_at"])
    cases = {case.name: case.result for suite in JUnitXml.fromfile(str(project.folder / "junit.xml")) for case in suite}
    assert [type(each).__name__ for each in cases["a_second"]] == ["Skipped"]
    assert 'Not run: "z_first" before it' in cases["a_second"][0].message
    alone = await project.run("run", "--file", "app.apk", "--build", "1.0.0", "flows/a_second.yaml")
    assert alone.code == OK, alone.err


async def test_the_json_is_one_document_with_what_ci_says(project: Shell) -> None:
    names = ("CI_COMMIT_BRANCH", "CI_COMMIT_REF_NAME")
    project.environ |= {"CI": "true", "GITLAB_CI": "true", "CI_COMMIT_SHA": "4f2c1d9", **dict.fromkeys(names, "größe")}
    ended = await project.run("run", "--file", "app.apk", "--build", "1", "--json", "--env", "USER=ada", "--ci-pr", "7")
    document, execution = ended.document, ended.document["execution"]
    assert (ended.code, ended.err, document["exit_code"], execution["source"]) == (OK, "", OK, "ci")
    assert [run["test_name"] for run in document["runs"]] == ["Log in"]
    assert (document["gate"]["result"], document["import"]["created_count"]) == ("pass", 1)
    assert execution["run_config"]["env"] == {"USER": "ada"}
    ci = execution["ci"]
    assert (ci["system"], ci["commit_sha"], ci["branch"], ci["pr_number"]) == ("gitlab", "4f2c1d9", "größe", 7)


async def test_a_failure_is_shown_with_step_reason_and_link(project: Shell) -> None:
    """To people, in files, and to GitHub as annotation and summary."""
    summary = project.folder / "summary.md"
    project.write({".maestro/basket.yaml": BROKEN})
    project.environ |= {"CI": "true", "GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(summary)}
    arguments = ["--junit", "out/junit.xml", "--report", "out/report.md", "--artifacts", "out/artifacts"]
    ended = await project.run("run", "--file", "app.apk", "--build", "1", *arguments)
    assert ended.code == FAILED, ended.err
    assert "Open the basket (.maestro/basket.yaml): failed at step 2:" in ended.out
    assert '"Nothing of this name" did not appear' in ended.out
    assert f"screen and steps: {project.environ['MOBILETEST_URL']}/executions/" in ended.out
    assert "blocks  Open the basket (not run before)" in ended.out
    [suite] = JUnitXml.fromfile(str(project.folder / "out" / "junit.xml"))
    assert {case.name: case.is_passed for case in suite} == {"Log in": True, "Open the basket": False}
    assert "Open the basket" in (project.folder / "out" / "report.md").read_text()
    [folder] = (project.folder / "out" / "artifacts").iterdir()  # of the run that failed, not of the other one
    assert list(folder.glob("*.png"))
    assert "::error file=.maestro/basket.yaml,line=5,col=3,title=" in ended.out
    assert "Open the basket" in summary.read_text()


@pytest.mark.parametrize("system", [{"DRONE": "true", "DRONE_REPO": "o/r", "DRONE_BRANCH": "main"}, {}])
async def test_a_failure_of_one_pull_request_is_not_known_on_main_in_another(
    project: Shell, system: dict[str, str]
) -> None:
    """The variables of Drone name the target of a pull request as its branch; those of others are not known."""
    project.write({".maestro/other.yaml": LOG_IN.replace("name: Log in", "name: Other")})
    project.environ |= {"CI": "true"} | system
    await project.ok("run", "--file", "app.apk", "--build", "1", "--ci-branch", "main")
    project.write({".maestro/log-in.yaml": BROKEN.replace("Open the basket", "Log in")})
    for number in ("7", "8"):
        project.environ |= {"DRONE_PULL_REQUEST": number, "DRONE_SOURCE_BRANCH": f"b{number}"} if system else {}
        ended = await project.run("run", "--file", "app.apk", "--build", number, "--retries", "0")
        assert (ended.code, "blocks  Log in (newly broken)" in ended.out) == (FAILED, True), ended.out


async def test_an_unknown_branch_is_said_once_with_the_flags_to_use(project: Shell) -> None:
    project.environ |= {"CI": "true", "BUILD_NUMBER": "7"}
    said = (
        "warning: the branch and commit under test are not known (this CI system is not known): the run counts for "
        "no branch. Give --ci-branch NAME and --ci-commit SHA\n"
    )
    ended = await project.run("run", "--file", "app.apk", "--build", "1", "--json")
    assert (ended.code, ended.err) == (OK, said)
    assert ended.document["execution"]["ci"]["branch"] is None
    ended = await project.run("run", "--file", "app.apk", "--build", "1", "--json", "--ci-branch", "pay")
    assert (ended.code, ended.err, ended.document["execution"]["ci"]["branch"]) == (OK, "", "pay")
    doctor = await project.run("doctor")
    assert (doctor.code, "PROBLEM  ci: ci\n         Give --ci-branch NAME and" in doctor.out) == (OK, True), doctor.out


def created_id(text: str) -> str:
    """The id of the execution whose link was printed."""
    return text.split("/executions/", 1)[1].split()[0]


async def test_a_variable_is_declared_secret(project: Shell) -> None:
    """Its value comes from the environment, and is shown nowhere."""
    said = "- evalScript: ${console.log(GREETING + ROUTE)}\n"
    project.write(
        {".maestro/log-in.yaml": LOG_IN + said, "mobiletest.yaml": "env: {ROUTE: {value: x-77, secret: true}}"}
    )
    project.environ |= {"GREETING": "correct horse"}
    ended = await project.run("run", "--file", "app.apk", "--build", "1", "-s", "GREETING", "--json", *FILES)
    assert ended.code == OK, ended.out
    execution = ended.document["execution"]
    masked = {"value": "***", "secret": True}
    assert execution["run_config"]["env"] == {"GREETING": masked, "ROUTE": masked}
    steps = await project.ok("logs", execution["id"], "Log in", "--json")
    assert "${GREETING}${ROUTE}" in steps.out
    for text in (
        ended.out,
        steps.out,
        (project.folder / "out.xml").read_text(),
        (project.folder / "out.md").read_text(),
    ):
        assert "correct horse" not in text
        assert "x-77" not in text
    for wrong, hint in (("NOBODY", "export NOBODY=..."), ("GREETING=x", "Export GREETING, and give --secret GREETING")):
        refused = await project.run("run", "-s", wrong)
        assert (refused.code, hint in refused.err) == (USAGE, True), refused.err


async def test_the_gate_may_let_failures_pass(project: Shell) -> None:
    other = LOG_IN.replace("name: Log in", "name: Other")
    project.write({".maestro/log-in.yaml": BROKEN, ".maestro/other.yaml": other})
    first = await project.run("run", "--file", "app.apk", "--build", "1")
    assert first.code == FAILED
    assert (await project.run("quarantine", "Open the basket", "--reason", "SHOP-12")).code == OK

    async def passes() -> bool:  # reporting learns of the quarantine from an event
        return (await project.run("run", "--build", "1", "--app", "project")).code == OK

    await eventually(passes)
    strict = await project.run("run", "--build", "1", "--app", "project", "--no-gate")
    assert strict.code == FAILED


async def test_tags_names_and_files_select_flows(project: Shell) -> None:
    project.write({".maestro/other.yaml": LOG_IN.replace("Log in\ntags: [smoke]", "Other")})
    base = ["run", "--file", "app.apk", "--build", "1", "--json"]
    for selection in (["--tag", "smoke"], ["--test", "Log in"], [".maestro/log-in.yaml"]):
        ended = await project.run(*base, *selection)
        assert [run["test_name"] for run in ended.document["runs"]] == ["Log in"], ended.out
    ended = await project.run(*base, "--exclude-tag", "smoke", "--name", "Nightly")
    assert [run["test_name"] for run in ended.document["runs"]] == ["Other"], ended.out
    execution = ended.document["execution"]
    assert (execution["name"], execution["source"]) == ("Nightly", "cli")
    assert (await project.run(*base, "--tag", "smoke", "--exclude-tag", "smoke")).code == NOT_FOUND
    assert (await project.run(*base, "--tag", "nothing")).code == NOT_FOUND
    assert (await project.run(*base, "--test", "Nobody")).code == NOT_FOUND


async def test_two_flows_of_one_name_are_two_tests_everywhere(shell: Shell) -> None:
    """A reader that merges them may lose the failure."""
    flow = "appId: com.example.probe\nproperties: {{team: checkout}}\n---\n- launchApp\n- assertVisible: {}\n"
    shell.write({"config.yaml": 'flows: ["**"]', "app.apk": fresh("app")})
    shell.write({"auth/login.yaml": flow.format("Log in"), "profile/login.yaml": flow.format("never there")})
    ended = await shell.run("run", "--file", "app.apk", "--build", "1", "--retries", "0", *FILES, ".")
    assert ended.code == FAILED, ended.err
    document = ElementTree.parse(shell.folder / "out.xml")  # noqa: S314 - our own
    names = {
        case.get("file"): (case.get("classname"), case.find("failure") is None) for case in document.iter("testcase")
    }
    assert names == {
        "auth/login.yaml": ("project.Android.auth/login", True),
        "profile/login.yaml": ("project.Android.profile/login", False),
    }
    assert len(document.findall(".//testcase/properties/property[@name='team'][@value='checkout']")) == 2
    for text in (ended.out, (shell.folder / "out.md").read_text().replace("\\", "")):
        assert "login (auth/login.yaml)" in text
        assert "login (profile/login.yaml)" in text
    execution = created_id(ended.err)
    one = await shell.ok("logs", execution, "profile/login.yaml", "--json")
    assert [run["source_path"] for run in one.document["items"]] == ["profile/login.yaml"]


async def test_a_failure_names_the_line_of_its_step_wherever_it_is_read(shell: Shell, api: Api) -> None:
    """In a file that a file runs, in a hook, and in an expression."""
    header = "appId: com.example.probe\n"
    shell.write(
        {
            "e2e/config.yaml": "flows: '*'",
            "e2e/nested.yaml": f"{header}---\n- launchApp\n- runFlow: parts/cart.yaml\n",
            "e2e/parts/cart.yaml": "- runFlow:\n    label: Pay\n    file: ../../shared/pay.yaml\n",
            "shared/pay.yaml": "# The button is missing.\n- assertVisible: never there\n",
            "e2e/hook.yaml": f"{header}onFlowStart:\n  - launchApp\n  - assertVisible: not here\n---\n- back\n",
            "e2e/expression.yaml": f"{header}---\n- inputText:\n    text: ${{output.missing.name}}\n",
            "app.apk": fresh("app"),
        }
    )
    shell.environ |= {"CI": "true", "GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": str(shell.folder)}
    ended = await shell.run("run", "--app", "app.apk", "--build", "1", "--retries", "0", *FILES, "e2e")
    assert ended.code == FAILED, ended.err
    places = {
        "e2e/nested.yaml": ("shared/pay.yaml", 2, 3, "4"),
        "e2e/hook.yaml": ("e2e/hook.yaml", 4, 5, "4"),
        "e2e/expression.yaml": ("e2e/expression.yaml", 4, 11, "4"),
    }
    chain = "\n  run from e2e/parts/cart.yaml:1:3\n  run from e2e/nested.yaml:4:3\n"
    document = ElementTree.parse(shell.folder / "out.xml")  # noqa: S314 - our own
    cases = {case.get("file"): case for case in document.iter("testcase")}
    report = (shell.folder / "out.md").read_text().replace("\\", "")
    for flow, (file, line, column, line_of_flow) in places.items():
        text = cases[flow].findtext("failure") or ""
        assert (text.partition(": ")[0], cases[flow].get("line")) == (f"{file}:{line}:{column}", line_of_flow)
        assert f"::error file={file},line={line},col={column},title=" in ended.out
        assert f"| {file}:{line}:{column}: " in report
        assert (chain in text) == (flow == "e2e/nested.yaml")
    assert "run from e2e/parts/cart.yaml:1:3%0A  run from e2e/nested.yaml:4:3%0A" in ended.out
    runs = (await api.get(f"/executions/{created_id(ended.err)}/runs")).body["items"]
    (nested,) = [run for run in runs if run["source_path"] == "nested.yaml"]
    assert nested["failure"]["position"] == {"file": "../shared/pay.yaml", "line": 2, "column": 3}
    assert [place["file"] for place in nested["failure"]["run_from"]] == ["parts/cart.yaml", "nested.yaml"]
    whole = (await api.get(f"/executions/{nested['execution_id']}/runs/{nested['id']}")).body
    assert [(step["kind"], step["position"]["line"]) for step in whole["attempts"][-1]["steps"]] == [
        ("launchApp", 3),
        ("runFlow", 4),
        ("runFlow", 1),
        ("assertVisible", 2),
    ]
    shown = await shell.ok("logs", created_id(ended.err), "nested.yaml")
    assert "] ../shared/pay.yaml:2:3: " in shown.out


async def test_shards_run_every_flow_once(project: Shell) -> None:
    flows = {f".maestro/{n}.yaml": LOG_IN.replace("Log in\ntags", f"Flow {n}\ntags") for n in range(4)}
    project.write(flows)
    names = []
    for index in (1, 2):
        ended = await project.run("run", "--file", "app.apk", "--build", "1", "--shard", f"{index}/2", "--json")
        assert ended.code == OK
        names += [run["test_name"] for run in ended.document["runs"]]
    assert sorted(names) == ["Flow 0", "Flow 1", "Flow 2", "Flow 3", "Log in"]


async def test_a_shard_without_tests_writes_documents_without_tests(project: Shell) -> None:
    """CI systems take a missing file for a lost one."""
    tests = []
    for index in (1, 2):  # of which one has the only flow
        ended = await project.run("run", "--file", "app.apk", "--build", "1", "--shard", f"{index}/2", "--json", *FILES)
        document = JUnitXml.fromfile(str(project.folder / "out.xml"))
        assert (ended.code, document.name) == (OK, "project")
        assert [suite.tests for suite in document] == [document.tests] == [len(ended.document["runs"])]
        report = (project.folder / "out.md").read_text()
        assert report.startswith(f"## project: {'passed' if document.tests else 'no tests'}\n\n")
        tests.append(document.tests)
    assert sorted(tests) == [0, 1]


async def test_a_workflow_and_a_named_test_run_without_a_folder(shell: Shell, world: World) -> None:
    app, test = await world.app(), await world.test()
    await world.build(app, "1.0.0")
    await world.attach(app, test)
    workflow = await world.workflow(test)
    for arguments in (["--workflow", workflow["name"]], ["--test", test["name"]], ["--test", test["id"]]):
        ended = await shell.run("run", *arguments, "--json")
        assert ended.code == OK, ended.out
        assert [run["test_id"] for run in ended.document["runs"]] == [test["id"]]


async def test_infrastructure_failures_are_not_failed_tests(project: Shell) -> None:
    """A flow that the device cannot run ends without a verdict."""
    project.write({".maestro/log-in.yaml": "appId: a\n---\n- launchApp\n- tapOn: {css: '#pay'}\n"})
    ended = await project.run("run", "--file", "app.apk", "--build", "1")
    assert ended.code == NO_VERDICT, ended.out


async def test_without_waiting_the_id_is_printed(project: Shell, world: World) -> None:
    ended = await project.run("run", "--file", "app.apk", "--build", "1", "--no-wait")
    assert ended.code == OK
    assert (await world.ended(ended.out.strip()))["success"] is True
    status = await project.run("status", ended.out.strip())
    assert "Log in" in status.out


def results(shell: Shell) -> tuple[dict[str, str], str]:
    """The message of each testcase that was skipped, and the Markdown report; both files are removed."""
    junit, report = shell.folder / "out.xml", shell.folder / "out.md"
    [suite] = JUnitXml.fromfile(str(junit))
    skipped = {case.name: case.result[0].message for case in suite if case.is_skipped}, report.read_text()
    junit.unlink()
    report.unlink()
    return skipped


FILES = ["--junit", "out.xml", "--report", "out.md"]


async def test_the_execution_continues_after_the_wait_ends(shell: Shell, api: Api) -> None:
    """What there is then is shown and written: unfinished runs say so."""
    await slow_project(shell)
    base = ["run", "--file", "app.apk", "--build", "1", "--timeout", "1", *FILES]
    ended = await shell.run(*base)
    assert ended.code == TIMEOUT
    execution = created_id(ended.err)
    assert f"mobiletest wait {execution}" in ended.err
    assert re.search(r"^Slow +(queued|running) ", ended.out, re.MULTILINE)
    skipped, report = results(shell)
    assert skipped["Slow"].startswith("The run has not ended: it is ")
    assert "**1 of 1 runs has not ended.**" in report
    assert created(await api.get(f"/executions/{execution}"))["status"] in ("queued", "running")
    again = await shell.run("wait", execution, "--timeout", "1", *FILES, "--json")
    document = again.document
    assert (again.code, document["exit_code"], document["error"]["exit_code"]) == (TIMEOUT, TIMEOUT, TIMEOUT)
    assert [run["success"] for run in document["runs"]] == [None]
    assert list(results(shell)[0]) == ["Slow"]
    waiting = await shell.start("wait", execution, *FILES)
    await when_it_runs(waiting)
    waiting.send_signal(signal.SIGTERM)
    await waiting.communicate()
    assert (waiting.returncode, list(results(shell)[0])) == (TERMINATED, ["Slow"])
    waiting = await shell.start("wait", execution)
    await when_it_runs(waiting)
    await shell.ok("cancel", execution)
    await waiting.communicate()
    assert waiting.returncode == CANCELLED
    tolerated = await shell.ok(*base, "--no-fail-on-timeout")
    assert list(results(shell)[0]) == ["Slow"]
    await shell.ok("cancel", created_id(tolerated.err))


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, INTERRUPTED), (signal.SIGTERM, TERMINATED)])
async def test_a_signal_cancels_the_execution(shell: Shell, world: World, number: signal.Signals, code: int) -> None:
    await slow_project(shell)
    process = await shell.start("run", "--file", "app.apk", "--build", "1", *FILES)
    execution = created_id(await when_it_runs(process))
    process.send_signal(number)
    out, rest = await process.communicate()
    assert process.returncode == code, rest.decode()
    assert f"error: stopped by {number.name}" in rest.decode()
    assert re.search(r"^Slow +cancelled ", out.decode(), re.MULTILINE)
    assert list(results(shell)[0]) == ["Slow"]
    assert (await world.ended(execution))["status"] == "cancelled"
    again = await shell.start("rerun", execution, *FILES)
    execution = created_id(await when_it_runs(again))
    again.send_signal(number)
    await again.communicate()
    assert (again.returncode, list(results(shell)[0])) == (code, ["Slow"])
    assert (await world.ended(execution))["status"] == "cancelled"


async def when_it_runs(process: asyncio.subprocess.Process, test: str = "Slow") -> str:
    """What the command printed until it said that the test runs."""
    assert process.stderr is not None
    printed = ""
    while f"{test}: running" not in printed:
        line = await process.stderr.readline()
        assert line, f"it ended: {printed}"
        printed += line.decode()
    return printed


async def test_steps_of_the_command_are_said_in_their_order(project: Shell) -> None:
    ended = await project.ok("run", "--file", "app.apk", "--build", "1")
    said = [line.split()[0] for line in ended.err.splitlines() if line]
    assert said[:6] == ["Validated", "Registered", "Uploading", "Uploaded", "Imported", "Queued:"], ended.err


@pytest.mark.parametrize(
    ("arguments", "refusal"),
    [
        ((), 'typo.yaml:3:3: error: unknown command "tapon"'),
        (("--tag", "nightly", ".maestro/log-in.yaml"), "no flow has a name or tag of: nightly"),
        (("--test", "Sign up", "--workflow", "Nightly"), "--workflow starts the tests of the workflow"),
        (("--workflow", "Nightly"), 'no workflow is called "Nightly"'),
    ],
)
async def test_what_is_refused_changes_nothing(
    project: Shell, api: Api, arguments: tuple[str, ...], refusal: str
) -> None:
    """No app is registered, nothing is uploaded, and no flow is imported."""
    project.write({".maestro/typo.yaml": "appId: a\n---\n- tapon: Log in\n"})
    ended = await project.run("run", "--file", "app.apk", "--build", "1", *arguments)
    assert (ended.code != OK, refusal in ended.err) == (True, True), ended.err
    totals = [created(await api.get(path))["total"] for path in ("/apps", "/tests", "/executions")]
    assert totals == [0, 0, 0]


async def test_the_line_of_a_typo_is_shown(shell: Shell) -> None:
    shell.write({".maestro/typo.yaml": "appId: a\n---\n- tapon: Log in\n"})
    problem = '.maestro/typo.yaml:3:3: error: unknown command "tapon"; did you mean tapOn?'
    expected = f"{problem}\n    3 | - tapon: Log in\n      |   ^"
    assert expected in (await shell.run("run")).err
    offline = await shell.run("tests", "validate")
    assert (offline.code, expected in offline.out) == (INVALID_FILE, True)
    document = (await shell.run("tests", "validate", "--json")).document
    assert [(item["file"], item["line"], item["column"]) for item in document["items"]] == [("typo.yaml", 3, 3)]


async def test_a_project_file_says_what_to_run(project: Shell) -> None:
    project.write({"mobiletest.yaml": "app: Shop\nfolder: .maestro\nenv: {USER: ada}\ngate: false\n"})
    missing = await project.run("run")
    assert missing.code == NOT_FOUND
    assert (await project.run("apps", "create", "Shop", "--platform", "Android")).code == OK
    ended = await project.run("run", "--file", "app.apk", "--build", "1", "--json", "-e", "MORE=1")
    assert (ended.code, ended.document["gate"]) == (OK, None)
    assert ended.document["execution"]["run_config"]["env"] == {"USER": "ada", "MORE": "1"}
    project.write({"mobiletest.yaml": "ap: Shop\n"})
    wrong = await project.run("run")
    assert (wrong.code, 'mobiletest.yaml:1: unknown key "ap"' in wrong.err) == (INVALID_FILE, True)


async def test_a_report_that_cannot_be_written_is_said_after_the_verdict(project: Shell) -> None:
    project.write({"file": ""})
    ended = await project.run("run", "--file", "app.apk", "--build", "1", "--junit", "file/junit.xml")
    assert ended.code == INVALID_FILE
    assert "file/junit.xml: cannot be written" in ended.err
    assert "1 passed of 1 run" in ended.out


async def test_two_sets_of_variables_are_two_experiments(shell: Shell, api: Api) -> None:
    """One shop is broken and stays so: neither is its test flaky, nor does the other shop's pass let it through."""
    app = "app_model: 1\napp: {id: com.example.gate, name: Gate, version: 1.0.0}\nstart: home\n"
    screens = "screens: {home: {title: Home, elements: [{type: text, text: Steady}]}}\n"
    flow = "appId: com.example.gate\nname: Shop\n---\n- launchApp\n"
    flow += "- extendedWaitUntil: {visible: '${WANT}', timeout: 50}\n"
    shell.write({"app.yaml": app + screens, "flows/shop.yaml": flow})
    started = ("--app", "Shop", "--retries", "0", "flows")
    await shell.ok("apps", "create", "Shop", "--platform", "Android")
    for build in ("1", "2", "3"):
        passed = await shell.run("run", "--file", "app.yaml", "--build", build, "-e", "WANT=Steady", *started)
        failed = await shell.run("run", "--build", build, "-e", "WANT=Neverland", *started)
        assert (passed.code, failed.code) == (OK, FAILED), (passed.out, failed.out, failed.err)
        assert "Gate: Blocked" in failed.out
        assert "Shop (WANT=Neverland)" in failed.out
        assert "WANT=Neverland: Fails here" in failed.out
    assert "1/2 (WANT=Neverland)" in (await shell.ok("matrix", "Shop")).out
    assert "Shop (WANT=Neverland)" in (await shell.ok("compare", "3", "2")).out
    [created_app] = created(await api.get("/apps"))["items"]
    matrix = created(await api.get(f"/apps/{created_app['id']}/test_matrix"))
    [row] = matrix["tests"]
    assert (row["classification"], row["flaky_score"], len(row["cells"])) == ("broken", 0, 3)
    assert row["classification_detail"].startswith("WANT=Neverland: Failed 3 times in a row")
    cell = row["cells"][0]
    assert (cell["total_runs"], cell["failed_runs"]) == (2, 1)
    assert [(each["variant"], each["success"]) for each in cell["variants"]] == [
        ("WANT=Neverland", False),
        ("WANT=Steady", True),
    ]
    assert cell["failure_details"][0]["variant"] == "WANT=Neverland"
