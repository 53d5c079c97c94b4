"""Tests, workflows, secrets and keys: what is printed for people and for programs, and mistakes."""

import pytest

from mobiletest_cli.errors import INVALID_FILE, NOT_FOUND, USAGE
from tests.e2e.cli.conftest import Shell
from tests.e2e.cli.test_resource_commands import document, ok
from tests.e2e.cli.test_run import BROKEN, LOG_IN
from tests.e2e.world import UNKNOWN, World


@pytest.fixture
async def pushed(shell: Shell, world: World) -> Shell:
    """A folder with two flows, which are tests of the app "Shop"."""
    shell.write({".maestro/log-in.yaml": LOG_IN, ".maestro/basket.yaml": BROKEN})
    await world.app(name="Shop")
    await ok(shell, "tests", "push")
    return shell


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["tests", "list", "--app", "Nobody"], NOT_FOUND, 'no app is called "Nobody"'),
        (["tests", "push", "nowhere"], INVALID_FILE, "nowhere"),
        (["tests", "push", "--app", "Nobody"], NOT_FOUND, 'no app is called "Nobody"'),
        (["tests", "pull", "copy", "--app", "Nobody"], NOT_FOUND, 'no app is called "Nobody"'),
        (["tests", "pull"], USAGE, "folder"),
        (["tests", "show", UNKNOWN], NOT_FOUND, "not found"),
        (["tests", "show", "Log"], NOT_FOUND, "Log in"),
        (["tests", "runs", "Nobody"], NOT_FOUND, 'no test is called "Nobody"'),
        (["tests", "runs", "Log in", "--limit", "many"], USAGE, "--limit"),
        (["tests", "history", "Nobody"], NOT_FOUND, 'no test is called "Nobody"'),
        (["tests", "delete", "Log in"], USAGE, "nobody can be asked to confirm this"),
        (["tests", "validate", "nowhere"], INVALID_FILE, "nowhere"),
        (["workflows", "show", "Nobody"], NOT_FOUND, 'no workflow is called "Nobody"'),
        (["workflows", "delete", "Nobody", "--yes"], NOT_FOUND, 'no workflow is called "Nobody"'),
        (["secrets", "delete", "NOBODY"], USAGE, "nobody can be asked to confirm this"),
        (["secrets", "delete", "NOBODY", "--yes"], NOT_FOUND, "not found"),
        (["keys", "create", "ci", "--scope", "everything"], USAGE, "scopes"),
        (["keys", "create", "ci", "--expires", "soon"], USAGE, '"soon" is not a day or time'),
        (["keys", "create", "ci", "--expires", "0001-01-01"], USAGE, "0001-01-01"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
async def test_mistakes_are_said_for_people_and_for_programs(
    pushed: Shell, arguments: list[str], code: int, message: str
) -> None:
    ended = await pushed.run(*arguments)
    assert (ended.code, ended.out, "Traceback" in ended.err) == (code, "", False), ended.err
    assert message in ended.err
    structured = await pushed.run(*arguments, "--json")
    error = structured.document["error"]
    assert (structured.code, error["exit_code"], structured.err) == (code, code, "")
    assert message in f"{error['message']} {error['hint']}"


async def test_what_is_pulled_is_what_was_pushed(pushed: Shell) -> None:
    written = await document(pushed, "tests", "pull", "copy")
    assert sorted(written["items"]) == ["copy/basket.yaml", "copy/log-in.yaml"]
    again = await document(pushed, "tests", "push", "copy", "--workspace", "Shop")
    assert [again[f"{kind}_count"] for kind in ("created", "changed", "unchanged")] == [0, 0, 2]
    assert (await document(pushed, "tests", "pull", "copy"))["items"] == []


async def test_only_the_tests_of_an_app_or_a_workspace_are_pulled(pushed: Shell) -> None:
    await ok(pushed, "apps", "create", "Bank", "--platform", "iOS")
    pushed.write({"bank/pay.yaml": LOG_IN.replace("Log in", "Pay")})
    await ok(pushed, "tests", "push", "bank", "--app", "Bank")
    by_app = await document(pushed, "tests", "pull", "one", "--app", "Bank")
    by_workspace = await document(pushed, "tests", "pull", "two", "--workspace", "Bank")
    assert (by_app["items"], by_workspace["items"]) == (["one/pay.yaml"], ["two/pay.yaml"])
    assert "Pay" in (await ok(pushed, "tests", "list", "--app", "Bank")).out
    unknown = await pushed.run("tests", "pull", "three", "--workspace", "Nobody")
    assert (unknown.code, '"Nobody"' in unknown.err) == (NOT_FOUND, True), unknown.err


async def test_a_folder_in_the_place_of_a_flow_is_said(pushed: Shell) -> None:
    pushed.write({"copy/log-in.yaml/file": "", "file": ""})
    for arguments in (("copy",), ("copy", "--force"), ("file",)):
        ended = await pushed.run("tests", "pull", *arguments)
        assert (ended.code, "Traceback" in ended.err) == (INVALID_FILE, False), ended.err
        assert ended.err.startswith(f"error: {arguments[0]}/"), ended.err


async def test_a_test_is_shown_as_a_flow_or_a_document(pushed: Shell) -> None:
    shown = await document(pushed, "tests", "show", "Log in")
    assert (shown["name"], shown["tags"]) == ("Log in", ["smoke"])
    assert "There are no tests" in (await ok(pushed, "tests", "list", "--tag", "nightly")).err
    assert "smoke" in (await ok(pushed, "tests", "list", "--search", "log")).out
    assert (await ok(pushed, "tests", "history", "Log in")).out.splitlines()[0].split() == [
        "Version",
        "Created",
        "Steps",
    ]
    assert (await document(pushed, "tests", "runs", "Log in", "--limit", "1"))["items"] == []
    assert (await document(pushed, "tests", "delete", shown["id"], "--yes"))["id"] == shown["id"]


async def test_names_that_two_tests_have_are_ambiguous(pushed: Shell) -> None:
    await ok(pushed, "tests", "push", "--workspace", "Other")
    ended = await pushed.run("tests", "show", "Log in")
    assert (ended.code, '2 tests are called "Log in"' in ended.err) == (USAGE, True), ended.err


async def test_a_workflow_survives_its_test(pushed: Shell) -> None:
    """Or the test cannot be deleted: in both cases the workflow can be shown."""
    await ok(pushed, "workflows", "create", "Nightly", "--test", "Log in", "--test", "Open the basket")
    await pushed.run("tests", "delete", "Open the basket", "--yes")
    assert "Log in" in (await ok(pushed, "workflows", "show", "Nightly")).out
    unconfirmed = await pushed.run("workflows", "delete", "Nightly")
    assert (unconfirmed.code, "Confirm it with --yes" in unconfirmed.err) == (USAGE, True)
    assert "Nightly" in (await ok(pushed, "workflows", "list", "--search", "night")).out


@pytest.mark.parametrize("name", ["SHOP?", "SHOP#1", "../apps", "SHOP/1", "SHOP%20"])
async def test_a_secret_of_a_wrong_name_is_no_other_secret(shell: Shell, name: str) -> None:
    refused = await shell.run("secrets", "set", name, stdin="ada")
    assert (refused.code, "Traceback" in refused.err) == (USAGE, False), refused.err
    assert (await document(shell, "secrets", "list"))["items"] == []


async def test_a_secret_is_not_deleted_by_a_longer_name(shell: Shell) -> None:
    await ok(shell, "secrets", "set", "SHOP", stdin="ada")
    assert (await shell.run("secrets", "delete", "SHOP?old", "--yes")).code in (USAGE, NOT_FOUND)
    assert [secret["name"] for secret in (await document(shell, "secrets", "list"))["items"]] == ["SHOP"]


async def test_secrets_and_keys_are_changed_by_programs(shell: Shell) -> None:
    put = await shell.run("secrets", "set", "SHOP", "--json", stdin="lovelace")
    assert (put.document["name"], "lovelace" in put.out + put.err) == ("SHOP", False)
    assert "SHOP" in (await ok(shell, "secrets", "list")).out
    assert (await document(shell, "secrets", "delete", "SHOP", "--yes"))["name"] == "SHOP"
    assert "There are no secrets" in (await ok(shell, "secrets", "list")).err
    made = await document(shell, "keys", "create", "ci", "--scope", "read", "--scope", "execute")
    assert (made["key"][:3], sorted(made["scopes"])) == ("mt_", ["execute", "read"])
    assert "ci" in (await ok(shell, "keys", "list")).out
    assert (await document(shell, "keys", "delete", made["id"], "--yes"))["id"] == made["id"]
