"""Executions and reports: what is printed for people and for programs."""

import asyncio
import sys
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from mobiletest_cli.errors import FAILED, INVALID_FILE, NOT_FOUND, OK, USAGE
from tests.e2e.cli.conftest import LOG_IN, Shell
from tests.e2e.client import Api, created
from tests.eventually import eventually

COMMIT = "a" * 40
CI_RUN = {"BUILDKITE": "true", "BUILDKITE_BUILD_ID": "job-1"}


@pytest.fixture(scope="module")
def execution(read_shop: Shell) -> str:
    """The id of an execution in which a test failed, which passes on build 2.0."""

    async def prepare() -> str:
        where = ("--ci-branch", "feature/ü", "--ci-commit", COMMIT, "--ci-pr", "12", "--name", "Nightly")
        ci = replace(read_shop, environ={**read_shop.environ, **CI_RUN})
        ran = await ci.run("run", "--file", "app.apk", "--json", *where)
        assert ran.code == FAILED, ran.out
        mended = LOG_IN.replace("Log in\ntags: [smoke]", "Open the basket")
        read_shop.write({".maestro/basket.yaml": mended, "next.apk": "2.0"})
        await read_shop.ok("run", "--file", "next.apk", "--build", "2.0")

        async def compared() -> bool:
            return bool((await read_shop.document("compare", "2.0", "1.0"))["fixed"])

        await eventually(compared)
        return str(ran.document["execution"]["id"])

    return asyncio.run(prepare())


async def test_executions_are_listed_and_shown(read_shop: Shell, execution: str) -> None:
    shown = (await read_shop.ok("status", execution)).out
    assert ("Open the basket" in shown, "1 passed, 1 failed of 2 runs." in shown) == (True, True)
    assert (await read_shop.document("status", execution))["execution"]["success"] is False
    assert execution in (await read_shop.ok("executions", "--app", "Shop")).out
    assert len((await read_shop.document("executions", "--limit", "1"))["items"]) == 1


FILTERS = [
    ("--branch", "FEATURE/", "other"),
    ("--commit", COMMIT[:9], "other"),
    ("--pr", "12", "13"),
    ("--ci-run", "job-", "other"),
    ("--name", "night", "other"),
    ("--started-by", "boots", "other"),
    ("--result", "failed", "flaky"),
    ("--app", "Shop", None),
    ("--since", "2026-01-01", "2199-01-01"),
    ("--until", "2199-01-01", "2026-01-01"),
]


@pytest.mark.parametrize(("option", "matching", "other"), FILTERS, ids=[option for option, _, _ in FILTERS])
async def test_executions_are_filtered(
    read_shop: Shell, execution: str, option: str, matching: str, other: str | None
) -> None:
    executions = (await read_shop.document("executions", option, matching))["items"]
    assert execution in [each["id"] for each in executions]
    if other is not None:
        assert "No execution matches." in (await read_shop.ok("executions", option, other)).err


async def test_executions_are_sorted_and_matched_exactly(read_shop: Shell, execution: str) -> None:
    oldest = (await read_shop.document("executions", "--sort", "oldest", "--limit", "1"))["items"]
    assert [each["id"] for each in oldest] == [execution]
    assert (await read_shop.document("executions", "--branch", "feature/", "--exact"))["items"] == []
    exact = await read_shop.document("executions", "--branch", "feature/ü", "--exact")
    assert execution in [each["id"] for each in exact["items"]]


async def test_comments_are_written_read_and_deleted(read_shop: Shell, execution: str) -> None:
    assert "There are no comments." in (await read_shop.ok("comments", execution)).err
    several = await read_shop.run("comments", execution, "--add", "x")
    assert (several.code, "about one run, and these are 2" in several.err) == (USAGE, True)
    written = await read_shop.ok("comments", execution, "Open the basket", "--add", "No network\n##[error]: SHOP-1")
    id = written.out.strip()
    [listed] = (await read_shop.document("comments", execution))["items"]
    assert (listed["id"], listed["text"]) == (id, "No network\n##[error]: SHOP-1")
    shown = (await read_shop.ok("comments", execution)).out
    assert shown.startswith("Open the basket\n  comment of ")
    assert f": No network #\\#[error]: SHOP-1 ({id})\n" in shown
    assert f"({id})" in (await read_shop.ok("logs", execution)).out
    [run] = (await read_shop.document("logs", execution))["items"]
    assert [each["id"] for each in run["comments"]] == [id]
    assert f"1 comment: mobiletest comments {execution}" in (await read_shop.ok("status", execution)).out
    assert "Deleted the comment." in (await read_shop.ok("comments", execution, "--delete", id)).err
    gone = await read_shop.run("comments", execution, "--delete", id)
    assert (gone.code, f'there is no comment "{id}"' in gone.err) == (NOT_FOUND, True)
    assert (await read_shop.document("comments", execution))["items"] == []


async def test_what_is_broken_is_asked_by_branch(read_shop: Shell, execution: str) -> None:
    branch = ("compare", "--branch", "feature/ü")
    missing = await read_shop.run("compare", "--branch", "other")
    assert (missing.code, 'no build of this app was tested on the branch "other"' in missing.err) == (NOT_FOUND, True)
    alone = await read_shop.run(*branch)
    assert (alone.code, "no earlier build" in alone.err) == (NOT_FOUND, True)
    newest = await read_shop.ok("compare", "--base-branch", "feature/ü")
    assert newest.out.startswith("2.0 compared with 1.0 (feature/ü, aaaaaaaaa):\n")
    assert "fixed" in newest.out
    [listed] = [each for each in (await read_shop.document("apps", "branches"))["items"] if each["kind"] == "branch"]
    assert (listed["name"], listed["builds"][0]["version"]) == ("feature/ü", "1.0")
    assert "pull request 12" in (await read_shop.ok("apps", "branches", "Shop")).out


async def test_apps_are_listed_by_their_health(read_shop: Shell, execution: str) -> None:
    [app] = (await read_shop.document("apps", "health"))["items"]
    assert (app["name"], app["result"], app["build"]["version"]) == ("Shop", "passing", "2.0")
    assert "passing" in (await read_shop.ok("apps", "health", "--platform", "android")).out
    assert "There are no apps" in (await read_shop.ok("apps", "health", "--search", "Nothing")).err


async def test_a_failure_is_marked_as_known(read_shop: Shell, execution: str) -> None:
    async def listed() -> bool:
        return bool((await read_shop.document("failures", "list", "--search", "of this name"))["items"])

    await eventually(listed)
    [failure] = (await read_shop.document("failures", "list", "--app", "Shop"))["items"]
    fingerprint = failure["fingerprint"]
    table = (await read_shop.ok("failures", "list")).out
    assert all(text in table for text in (fingerprint, "open", "Nothing of this name"))
    ticket = "https://tickets.example/SHOP-1"
    marked = await read_shop.ok("failures", "mark", fingerprint, "known", "--ticket", ticket, "--owner", "Ada")
    assert marked.out == f"known, {ticket}, owner Ada\n"

    async def known() -> bool:
        return [each["fingerprint"] for each in await of_state("known")] == [fingerprint]

    async def of_state(state: str) -> list[Any]:
        return list((await read_shop.document("failures", "list", "--state", state))["items"])

    await eventually(known)
    shown = (await read_shop.ok("failures", "show", fingerprint)).out
    assert f"written: known, {ticket}, owner Ada\n" in shown
    assert "on build 1.0 of feature/ü, execution " in shown
    assert all(name in shown for name in ("Open the basket", "1.0"))
    assert (await read_shop.document("failures", "show", fingerprint))["triage"]["state"] == "known"
    assert await of_state("open") == []
    without = await read_shop.document("failures", "mark", fingerprint, "--ticket", "", "--note", "Slow")
    assert (without["ticket_url"], without["note"], without["owner"]) == (None, "Slow", "Ada")

    async def compared() -> bool:
        return "(known, Slow, owner Ada)" in (await read_shop.ok("compare", "1.0", "2.0")).out

    await eventually(compared)


async def test_a_test_is_classified_and_timed(read_shop: Shell, execution: str) -> None:
    [classified] = (await read_shop.document("tests", "runs", "Open the basket"))["classifications"]
    sentence = f"{classified['classification'].replace('_', ' ')}: {classified['classification_detail']}\n"
    assert (await read_shop.ok("tests", "runs", "Open the basket")).out.endswith(sentence)
    names = [each["test_name"] for each in (await read_shop.document("durations"))["items"]]
    assert sorted(names) == ["Log in", "Open the basket"]
    assert "2.0" in (await read_shop.ok("durations", "Shop", "--limit", "1")).out


async def test_the_end_of_an_execution_is_its_exit_code(read_shop: Shell, execution: str) -> None:
    waited = await read_shop.run("wait", execution, "--no-gate", "--json")
    assert (waited.code, waited.document["execution"]["id"]) == (FAILED, execution)
    gate = await read_shop.run("gate", execution, "--json")
    assert (gate.code, gate.document["result"]) == (FAILED, "block")
    people = await read_shop.run("gate", execution, "--base-branch", "main")
    assert (people.code, people.out.startswith("Gate: ")) == (FAILED, True)
    assert "\n  Covers 2 tests on build " in people.out
    ended = await read_shop.run("cancel", execution)
    assert (ended.code, "has ended" in ended.err) == (USAGE, True)
    assert (await read_shop.run("cancel", execution, "--json")).document["error"]["status"] == 409


async def test_the_base_branch_is_that_of_the_project_or_of_ci(
    read_shop: Shell, execution: str, tmp_path: Path
) -> None:
    """As `run` takes it, so that `wait` says what `run` would have said."""
    ci = replace(read_shop, environ={**read_shop.environ, "GITLAB_CI": "true", "CI_DEFAULT_BRANCH": "trunk"})
    project = replace(ci, folder=tmp_path)
    project.write({"mobiletest.yaml": "base_branch: release\n"})
    for shell, branch in ((ci, "trunk"), (project, "release")):
        waited = await shell.run("wait", execution, "--json")
        asked = await shell.run("gate", execution, "--json")
        assert (waited.document["gate"]["base_branch"], asked.document["base_branch"]) == (branch, branch)
        assert f"or of {branch}, has a verdict" in (await shell.run("compare", "2.0", "--app", "Shop")).err
    assert (await project.run("gate", execution, "--json", "--base-branch", "x")).document["base_branch"] == "x"


async def test_later_gates_of_a_run_have_its_base_branch(shop: Shell, api: Api, tmp_path: Path) -> None:
    """Also where neither the project nor CI says it, and by the API."""
    ended = await shop.run("run", "--file", "app.apk", "--build", "1.0", "--base-branch", "release", "--json")
    path = f"executions/{ended.document['execution']['id']}"
    elsewhere = replace(
        shop, folder=tmp_path, environ={**shop.environ, "GITLAB_CI": "true", "CI_DEFAULT_BRANCH": "trunk"}
    )
    asked = await elsewhere.run("gate", path.partition("/")[2], "--json")
    waited = await elsewhere.run("wait", path.partition("/")[2], "--json")
    answers = (ended.document["gate"], asked.document, waited.document["gate"], created(await api.get(f"/{path}/gate")))
    assert [answer["base_branch"] for answer in answers] == ["release"] * 4
    assert created(await api.get(f"/{path}"))["ci"]["base_branch"] == "release"


async def test_the_gate_of_a_build_is_asked_by_its_version(read_shop: Shell, execution: str) -> None:
    """Its newest execution passed both tests; the first build has a failure."""
    passed = await read_shop.run("gate", "--build", "2.0", "--app", "Shop")
    assert (passed.code, passed.out.startswith("Gate: Passed: all 2 attached tests passed.")) == (OK, True)
    failed = await read_shop.run("gate", "--build", "1.0", "--app", "Shop", "--json")
    assert (failed.code, failed.document["build_version"], failed.document["passed_tests"]) == (FAILED, "1.0", 1)
    for arguments in ((), (execution, "--build", "2.0")):
        refused = await read_shop.run("gate", *arguments)
        assert (refused.code, "either the id of an execution or --build" in refused.err) == (USAGE, True)


async def test_logs_show_steps_and_download_artifacts(read_shop: Shell, execution: str) -> None:
    failing = (await read_shop.ok("logs", execution)).out
    assert ("Open the basket: failed" in failing, "Log in: passed" in failing) == (True, False)
    assert "[failed," in (await read_shop.ok("logs", execution, "Open the basket")).out
    assert "Log in: passed" in (await read_shop.ok("logs", execution, "Log in")).out
    [run] = (await read_shop.document("logs", execution))["items"]
    assert run["test_name"] == "Open the basket"
    written = await read_shop.ok("logs", execution, "--artifacts", "evidence")
    files = [path for path in (read_shop.folder / "evidence").rglob("*") if path.is_file()]
    assert any(path.suffix == ".png" for path in files)
    assert all(path.stat().st_size for path in files)
    assert written.err.count("Wrote ") == len(files)
    unknown = await read_shop.run("logs", execution, "Nobody")
    assert (unknown.code, "It has: Log in, Open the basket" in unknown.err) == (NOT_FOUND, True)
    blocked = await read_shop.run("logs", execution, "--artifacts", "app.apk")
    assert (blocked.code, "cannot be written" in blocked.err) == (INVALID_FILE, True)


async def test_only_what_failed_is_run_again(read_shop: Shell, execution: str) -> None:
    again = await read_shop.run("rerun", execution, "--failed", "--no-gate", "--json", "--junit", "again.xml")
    assert (again.code, [run["test_name"] for run in again.document["runs"]]) == (FAILED, ["Open the basket"])
    assert "Open the basket" in (read_shop.folder / "again.xml").read_text()
    single = await read_shop.run("rerun", execution, "Log in", "--json")
    assert (single.code, [run["test_name"] for run in single.document["runs"]]) == (OK, ["Log in"])
    started = (await read_shop.ok("rerun", execution, "--no-wait")).out.strip()
    assert (await read_shop.run("wait", started, "--no-gate", "--quiet")).code == FAILED


async def test_reports_are_printed_for_people_and_for_programs(read_shop: Shell, execution: str) -> None:
    assert "Open the basket" in (await read_shop.ok("compare", "2.0", "1.0")).out
    unknown = await read_shop.run("compare", "2.0")
    assert (unknown.code, "or of main, has a verdict; name one with base" in unknown.err) == (NOT_FOUND, True)
    assert "Open the basket" in (await read_shop.ok("compare", "2.0", "--base-branch", "feature/ü")).out
    matrix = (await read_shop.ok("matrix", "shop")).out
    assert (await read_shop.ok("matrix", "--app", "shop")).out == matrix
    assert all(text in matrix for text in ("1.0", "2.0", "passed", "failed"))
    assert len((await read_shop.document("matrix", "Shop", "--builds", "2"))["tests"]) == 2
    assert "Log in" in (await read_shop.ok("coverage")).out
    covered = (await read_shop.document("coverage", "Shop"))["items"]
    assert {item["test_name"]: bool(item["last_status"]) for item in covered} == {
        "Log in": True,
        "Open the basket": True,
    }
    assert "failed" in (await read_shop.ok("tests", "runs", "Open the basket")).out
    failed = (await read_shop.document("tests", "runs", "Open the basket", "--result", "failed"))["items"]
    assert {run["success"] for run in failed} == {False}
    assert (await read_shop.document("tests", "runs", "Open the basket", "--result", "cancelled"))["items"] == []
    runs = (await read_shop.document("tests", "runs", "Log in", "--limit", "1"))["items"]
    assert [run["success"] for run in runs] == [True]
    assert (await read_shop.document("flaky"))["items"] == []


async def test_an_execution_is_opened_in_the_browser(read_shop: Shell, execution: str) -> None:
    """By a process: the library remembers which browser there is."""
    browser = read_shop.folder / "browser"
    browser.write_text(f'#!{sys.executable}\nimport sys\nopen("opened", "w").write(sys.argv[1])\n')
    browser.chmod(0o755)
    process = await read_shop.execute("env", f"BROWSER={browser} %s", *read_shop.program("open", execution))
    await process.communicate()
    opened = read_shop.folder / "opened"
    address = f"{read_shop.environ['MOBILETEST_URL']}/executions/{execution}"
    await eventually(lambda: opened.exists() and opened.read_text() == address)


async def test_a_quarantine_ends(read_shop: Shell) -> None:
    until = (datetime.now().astimezone() + timedelta(days=30)).date().isoformat()
    put = await read_shop.ok("quarantine", "Log in", "--reason", "SHOP-1", "--until", until)
    assert f'"Log in" is in quarantine until {until} 23:59:59.' in put.out
    again = await read_shop.document("quarantine", "Log in", "--reason", "SHOP-2")
    assert again["quarantine"]["reason"] == "SHOP-2"
    assert (await read_shop.document("tests", "show", "Log in"))["quarantine"]["reason"] == "SHOP-2"
    assert "is not in quarantine" in (await read_shop.ok("quarantine", "Log in", "--remove")).err
    assert (await read_shop.document("tests", "show", "Log in"))["quarantine"] is None
