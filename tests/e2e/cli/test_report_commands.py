"""Executions and reports: what is printed for people and for programs, and mistakes."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from mobiletest_cli.errors import FAILED, INVALID_FILE, NOT_FOUND, OK, USAGE
from tests.e2e.cli.conftest import Shell
from tests.e2e.cli.test_resource_commands import document, ok
from tests.e2e.cli.test_run import BROKEN, LOG_IN
from tests.e2e.client import fresh
from tests.e2e.world import UNKNOWN, World
from tests.eventually import eventually


@pytest.fixture
async def shop(shell: Shell, world: World) -> Shell:
    """The app "Shop" with build 1.0 and two tests that have not been run."""
    shell.write({".maestro/log-in.yaml": LOG_IN, ".maestro/basket.yaml": BROKEN, "app.apk": fresh("app")})
    await world.upload(await world.app(name="Shop"), shell.folder / "app.apk", version="1.0")
    await ok(shell, "tests", "push")
    return shell


async def run_of(shop: Shell, *options: str) -> Any:
    """An execution that failed."""
    ended = await shop.run("run", "--app", "app.apk", "--json", *options)
    assert ended.code == FAILED, ended.out
    return ended.document["execution"]["id"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        *(([name, UNKNOWN], NOT_FOUND, "not found") for name in ("status", "logs", "cancel", "rerun", "gate", "open")),
        *(
            ([name, "first?"], USAGE, "is not the id of an execution")
            for name in ("status", "wait", "logs", "cancel", "rerun", "gate")
        ),
        (["executions", "--app", "Nobody"], NOT_FOUND, 'no app is called "Nobody"'),
        (["executions", "--limit", "0"], USAGE, "--limit"),
        (["wait", UNKNOWN, "--timeout", "0"], USAGE, "--timeout"),
        (["matrix", "Nobody"], NOT_FOUND, 'no app is called "Nobody"'),
        (["matrix", "--builds", "1"], USAGE, "--builds"),
        (["coverage", "Nobody"], NOT_FOUND, 'no app is called "Nobody"'),
        (["flaky", "Nobody"], NOT_FOUND, 'no app is called "Nobody"'),
        (["compare", "9.9"], NOT_FOUND, 'the app "Shop" has no build "9.9"'),
        (["compare", "1.0", "9.9"], NOT_FOUND, 'the app "Shop" has no build "9.9"'),
        (["quarantine", "Nobody", "--reason", "SHOP-1"], NOT_FOUND, 'no test is called "Nobody"'),
        (["quarantine", "Log in", "--reason", "SHOP-1", "--until", "2001-01-01"], USAGE, "until"),
        (["quarantine", "Log in", "--reason", "SHOP-1", "--until", "0001-01-01"], USAGE, "0001-01-01"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
async def test_mistakes_are_said_for_people_and_for_programs(
    shop: Shell, arguments: list[str], code: int, message: str
) -> None:
    ended = await shop.run(*arguments)
    assert (ended.code, ended.out, "Traceback" in ended.err) == (code, "", False), ended.err
    assert message in ended.err
    structured = await shop.run(*arguments, "--json")
    error = structured.document["error"]
    assert (structured.code, error["exit_code"], structured.err) == (code, code, "")
    assert message in error["message"]


async def test_an_execution_is_looked_at(shop: Shell) -> None:
    assert "There are no executions" in (await ok(shop, "executions")).err
    execution = await run_of(shop, "--ci-branch", "feature/ü", "--ci-commit", "a" * 40)
    shown = (await ok(shop, "status", execution)).out
    assert ("Open the basket" in shown, "1 passed, 1 failed of 2 runs." in shown) == (True, True)
    for option, value in (("--branch", "feature/ü"), ("--commit", "a" * 40)):
        assert [each["id"] for each in (await document(shop, "executions", option, value))["items"]] == [execution]
        assert (await document(shop, "executions", option, "other"))["items"] == []
    waited = await shop.run("wait", execution, "--no-gate", "--json")
    assert (waited.code, waited.document["execution"]["id"]) == (FAILED, execution)
    ended = await shop.run("cancel", execution, "--json")
    assert (ended.code, ended.document["error"]["status"]) == (USAGE, 409)


async def test_logs_show_steps_and_download_artifacts(shop: Shell) -> None:
    execution = await run_of(shop)
    failing = (await ok(shop, "logs", execution)).out
    assert ("Open the basket: failed" in failing, "Log in: passed" in failing) == (True, False)
    assert "Log in: passed" in (await ok(shop, "logs", execution, "Log in")).out
    assert [run["test_name"] for run in (await document(shop, "logs", execution))["items"]] == ["Open the basket"]
    written = await ok(shop, "logs", execution, "--artifacts", "evidence")
    files = [path for path in (shop.folder / "evidence").rglob("*") if path.is_file()]
    assert (len(files) > 0, all(path.stat().st_size for path in files)) == (True, True)
    assert written.err.count("Wrote ") == len(files)
    unknown = await shop.run("logs", execution, "Nobody")
    assert (unknown.code, "It has: Log in, Open the basket" in unknown.err) == (NOT_FOUND, True)
    blocked = await shop.run("logs", execution, "--artifacts", "app.apk")
    assert (blocked.code, "cannot be written" in blocked.err) == (INVALID_FILE, True)


async def test_only_what_failed_is_run_again(shop: Shell) -> None:
    execution = await run_of(shop)
    again = await shop.run("rerun", execution, "--failed", "--no-gate", "--json", "--junit", "again.xml")
    assert (again.code, again.document["execution"]["counts"]["total"]) == (FAILED, 1)
    assert "Open the basket" in (shop.folder / "again.xml").read_text()
    started = (await ok(shop, "rerun", execution, "--no-wait")).out.strip()
    assert (await shop.run("wait", started, "--no-gate", "--quiet")).code == FAILED


async def test_the_gate_answers_with_its_code(shop: Shell) -> None:
    execution = await run_of(shop)
    gate = await shop.run("gate", execution, "--json")
    assert gate.code == {"pass": OK, "block": FAILED}[gate.document["result"]]
    people = await shop.run("gate", execution, "--base-branch", "main")
    assert (people.out.startswith("Gate: "), people.code in (OK, FAILED)) == (True, True)


async def test_one_build_is_compared_with_nothing(shop: Shell) -> None:
    await run_of(shop)
    ended = await shop.run("compare", "1.0")
    assert (ended.code, ended.out) == (NOT_FOUND, ""), ended
    assert "no earlier build of this app has a verdict" in ended.err


async def test_reports_are_printed_for_people_and_for_programs(shop: Shell) -> None:
    await run_of(shop)

    async def reported() -> bool:
        cells = [test["cells"] for test in (await document(shop, "matrix", "--builds", "2"))["tests"]]
        return sum(cell["total_runs"] for row in cells for cell in row) == 2

    await eventually(reported)
    matrix = (await ok(shop, "matrix", "shop")).out
    assert ("1.0" in matrix, "passed" in matrix, "failed" in matrix) == (True, True, True)
    covered = (await document(shop, "coverage", "Shop"))["items"]
    assert {item["test_name"]: item["last_status"] for item in covered} == {
        "Log in": "passed",
        "Open the basket": "failed",
    }
    assert [run["success"] for run in (await document(shop, "tests", "runs", "Log in"))["items"]] == [True]


async def test_a_quarantine_ends(shop: Shell) -> None:
    until = (datetime.now().astimezone() + timedelta(days=30)).date().isoformat()
    put = await ok(shop, "quarantine", "Log in", "--reason", "SHOP-1", "--until", until)
    assert f'"Log in" is in quarantine until {until} 23:59:59.' in put.out
    assert (await document(shop, "tests", "show", "Log in"))["quarantine"]["reason"] == "SHOP-1"
    await document(shop, "quarantine", "Log in", "--remove")
    assert (await document(shop, "tests", "show", "Log in"))["quarantine"] is None
