"""The commands for apps, builds, tests, workflows, secrets and reports."""

import sys
from pathlib import Path
from typing import Any

import pytest

from mobiletest_cli.errors import FAILED, INVALID_FILE, NOT_FOUND, OK, USAGE
from tests.e2e.cli.conftest import Ended, Shell
from tests.e2e.cli.test_run import BROKEN, LOG_IN
from tests.e2e.client import fresh
from tests.e2e.world import World
from tests.eventually import eventually


@pytest.fixture
async def shop(shell: Shell, world: World) -> Shell:
    """An organisation with the app "Shop", and a folder with two flows and an app file."""
    shell.write({".maestro/log-in.yaml": LOG_IN, ".maestro/basket.yaml": BROKEN, "app.apk": fresh("app")})
    await world.app(name="Shop", description="Sells mugs")
    return shell


async def ok(shell: Shell, *arguments: str, stdin: str = "") -> Ended:
    """A command that succeeded."""
    ended = await shell.run(*arguments, stdin=stdin)
    assert ended.code == OK, (arguments, ended.out, ended.err)
    return ended


async def document(shell: Shell, *arguments: str) -> Any:
    """The JSON of a command that succeeded, which prints nothing else."""
    ended = await ok(shell, *arguments, "--json")
    assert ended.err == ""
    return ended.document


async def test_apps_are_listed_shown_and_deleted(shop: Shell) -> None:
    await ok(shop, "apps", "create", "Bank", "--platform", "iOS")
    assert [app["name"] for app in (await document(shop, "apps", "list", "--platform", "iOS"))["items"]] == ["Bank"]
    assert [app["name"] for app in (await document(shop, "apps", "list", "--search", "sho"))["items"]] == ["Shop"]
    assert "Shop (Android)" in (await ok(shop, "apps", "show", "Shop")).out
    unconfirmed = await shop.run("apps", "delete", "Bank")
    assert (unconfirmed.code, "Confirm it with --yes" in unconfirmed.err) == (USAGE, True)
    assert 'Deleted the app "Bank".' in (await ok(shop, "apps", "delete", "Bank", "--yes")).err
    missing = await shop.run("apps", "show", "Bank", "--json")
    assert (missing.code, missing.document["error"]["exit_code"]) == (NOT_FOUND, NOT_FOUND)


async def test_names_that_two_apps_have_are_ambiguous(shop: Shell) -> None:
    await ok(shop, "apps", "create", "Shop", "--platform", "iOS")
    ended = await shop.run("apps", "show", "Shop")
    assert (ended.code, '2 apps are called "Shop"' in ended.err) == (USAGE, True), ended.err


async def test_a_build_is_uploaded_once_downloaded_and_deleted(shop: Shell) -> None:
    first = await document(shop, "builds", "upload", "app.apk", "--build", "1.0", "--current")
    again = await ok(shop, "builds", "upload", "app.apk")
    assert again.out.strip() == first["id"]
    assert "Build 1.0 of Shop is on the server." in again.err
    listed = await ok(shop, "builds", "list", "--app", "Shop")
    assert "current" in listed.out
    assert "Wrote copy.apk." in (await ok(shop, "builds", "download", "1.0", "--output", "copy.apk")).err
    assert (shop.folder / "copy.apk").read_bytes() == (shop.folder / "app.apk").read_bytes()
    kept = await shop.run("builds", "download", "1.0")
    assert (kept.code, "app.apk: exists already" in kept.err) == (INVALID_FILE, True)
    nowhere = await shop.run("builds", "download", "1.0", "--output", "copy.apk/file")
    assert (nowhere.code, "cannot be written" in nowhere.err) == (INVALID_FILE, True)
    assert (await shop.run("builds", "download", "9.9")).code == NOT_FOUND
    await ok(shop, "builds", "delete", "1.0", "--yes")
    assert (await document(shop, "builds", "list"))["items"] == []


async def test_the_current_build_is_set(shop: Shell) -> None:
    for version in ("1.0", "2.0"):
        shop.write({"app.apk": fresh("app")})
        await ok(shop, "builds", "upload", "app.apk", "--build", version)
    await ok(shop, "builds", "set-current", "1.0")
    [app] = (await document(shop, "apps", "list"))["items"]
    assert app["current_version"] == "1.0"


async def test_flows_are_pushed_and_pulled(shop: Shell) -> None:
    tried = await document(shop, "tests", "push", "--dry-run")
    assert (tried["created_count"], (await document(shop, "tests", "list"))["items"]) == (2, [])
    pushed = await ok(shop, "tests", "push")
    assert "Imported Shop: 2 new, 0 changed, 0 unchanged." in pushed.err
    shop.write({".maestro/log-in.yaml": LOG_IN + "- back\n"})
    assert (await document(shop, "tests", "push"))["changed_count"] == 1
    assert [test["name"] for test in (await document(shop, "tests", "list", "--tag", "smoke"))["items"]] == ["Log in"]
    await ok(shop, "tests", "pull", "copy")
    assert sorted(path.name for path in (shop.folder / "copy").iterdir()) == ["basket.yaml", "log-in.yaml"]
    assert (await ok(shop, "tests", "validate", "copy")).err == "No problems.\n"
    again = await document(shop, "tests", "push", "copy", "--workspace", "Shop")
    assert again["created_count"] == 0
    shop.write({"copy/log-in.yaml": "mine"})
    kept = await shop.run("tests", "pull", "copy")
    assert (kept.code, "copy/log-in.yaml: differs from the server" in kept.err) == (INVALID_FILE, True)
    assert (shop.folder / "copy/log-in.yaml").read_text() == "mine"
    await ok(shop, "tests", "pull", "copy", "--force")
    assert "launchApp" in (shop.folder / "copy/log-in.yaml").read_text()
    versions = (await document(shop, "tests", "history", "Log in"))["items"]
    assert sorted(version["version_number"] for version in versions)[:2] == [1, 2]
    assert "- launchApp" in (await ok(shop, "tests", "show", "Log in")).out
    await ok(shop, "tests", "delete", "Log in", "--yes")
    assert (await shop.run("tests", "show", "Log in")).code == NOT_FOUND


async def test_results_are_reported(shop: Shell) -> None:
    """Runs of a test, matrix, coverage, comparison, flaky tests and executions, for people and for programs."""
    assert (
        "It has not been run yet."
        in (await ok(shop, "tests", "push")).err + (await ok(shop, "tests", "runs", "Log in")).err
    )
    ran = await shop.run("run", "--app", "app.apk", "--build", "1.0", "--json")
    assert ran.code == FAILED, ran.out
    shop.write({".maestro/basket.yaml": LOG_IN.replace("Log in\ntags: [smoke]", "Open the basket"), "app.apk": "2.0"})
    await ok(shop, "run", "--app", "app.apk", "--build", "2.0")

    async def compared() -> bool:
        return bool([row["test_name"] for row in (await document(shop, "compare", "2.0", "1.0"))["fixed"]])

    await eventually(compared)
    assert "Open the basket" in (await ok(shop, "compare", "2.0")).out
    assert "failed" in (await ok(shop, "tests", "runs", "Open the basket")).out
    matrix = (await ok(shop, "matrix")).out
    assert ("1.0" in matrix, "2.0" in matrix) == (True, True)
    assert len((await document(shop, "matrix", "Shop"))["tests"]) == 2
    assert (await document(shop, "coverage"))["total"] == 2
    assert "Log in" in (await ok(shop, "coverage")).out
    assert (await document(shop, "flaky"))["items"] == []
    assert "No test is flaky." in (await ok(shop, "flaky")).err
    execution = ran.document["execution"]["id"]
    assert execution in (await ok(shop, "executions", "--app", "Shop")).out
    assert len((await document(shop, "executions", "--limit", "1"))["items"]) == 1
    ended = await shop.run("cancel", execution)
    assert (ended.code, "has ended" in ended.err) == (USAGE, True)
    everything = await document(shop, "status", execution)
    assert everything["execution"]["success"] is False
    assert (await shop.run("compare", "3.0")).code == NOT_FOUND


async def test_an_execution_is_opened_in_the_browser(shop: Shell) -> None:
    ran = await shop.run("run", "--app", "app.apk", "--build", "1.0", "--json")
    execution = ran.document["execution"]["id"]
    browser = shop.folder / "browser"
    browser.write_text(f'#!{sys.executable}\nimport sys\nopen("opened", "w").write(sys.argv[1])\n')
    browser.chmod(0o755)
    shop.environ["BROWSER"] = f"{browser} %s"
    await ok(shop, "open", execution)

    async def opened() -> bool:
        address = f"{shop.environ['MOBILETEST_URL']}/api/v1/executions/{execution}"
        return written(shop.folder / "opened") == address

    await eventually(opened)


def written(path: Path) -> str | None:
    """The text of a file; None if there is none."""
    return path.read_text() if path.exists() else None


async def test_workflows_are_created_shown_and_deleted(shop: Shell) -> None:
    await ok(shop, "tests", "push")
    made = await document(shop, "workflows", "create", "Nightly", "--test", "Log in", "--tag", "smoke")
    assert [each["name"] for each in (await document(shop, "workflows", "list"))["items"]] == ["Nightly"]
    assert "Log in" in (await ok(shop, "workflows", "show", "Nightly")).out
    assert (await document(shop, "workflows", "show", made["id"]))["tags"] == ["smoke"]
    assert (await shop.run("workflows", "create", "Other", "--test", "Nobody")).code == NOT_FOUND
    await ok(shop, "workflows", "delete", "Nightly", "--yes")
    assert "There are no workflows" in (await ok(shop, "workflows", "list")).err


async def test_secrets_are_never_shown(shop: Shell) -> None:
    await ok(shop, "secrets", "set", "SHOP_PASSWORD", stdin="lovelace\n")
    listed = await document(shop, "secrets", "list")
    assert [secret["name"] for secret in listed["items"]] == ["SHOP_PASSWORD"]
    assert "lovelace" not in str(listed)
    empty = await shop.run("secrets", "set", "SHOP_PASSWORD", stdin="")
    assert (empty.code, "is empty" in empty.err) == (USAGE, True)
    await ok(shop, "secrets", "delete", "SHOP_PASSWORD", "--yes")
    assert (await shop.run("secrets", "delete", "SHOP_PASSWORD", "--yes")).code == NOT_FOUND


async def test_a_quarantine_has_a_reason_and_an_end(shop: Shell) -> None:
    await ok(shop, "tests", "push")
    without = await shop.run("quarantine", "Log in")
    assert (without.code, "needs a reason" in without.err) == (USAGE, True)
    wrong = await shop.run("quarantine", "Log in", "--reason", "SHOP-1", "--until", "soon")
    assert (wrong.code, '"soon" is not a day or time' in wrong.err) == (USAGE, True)
    put = await document(shop, "quarantine", "Log in", "--reason", "SHOP-1")
    assert put["quarantine"]["reason"] == "SHOP-1"
    assert "is not in quarantine" in (await ok(shop, "quarantine", "Log in", "--remove")).err


async def test_without_a_name_the_only_app_is_meant(shop: Shell) -> None:
    await ok(shop, "matrix")
    await ok(shop, "apps", "create", "Bank", "--platform", "iOS")
    ended = await shop.run("matrix")
    assert (ended.code, ended.err.splitlines()[0]) == (USAGE, "error: no app is named")
