"""Apps, builds, tests, workflows and secrets: what is printed for people and for programs."""

import pytest

from mobiletest_cli.errors import INVALID_FILE, NOT_FOUND, OK, USAGE
from tests.e2e.cli.conftest import LOG_IN, Shell
from tests.e2e.client import fresh


@pytest.fixture
async def pushed(shop: Shell) -> Shell:
    """The flows of "Shop" are its tests."""
    await shop.ok("tests", "push")
    return shop


async def test_apps_are_listed_shown_and_deleted(shop: Shell) -> None:
    bank = await shop.document("apps", "create", "Bank", "--platform", "ios", "--description", "Keeps money")
    assert (bank["name"], bank["platform"], bank["description"]) == ("Bank", "iOS", "Keeps money")
    assert [app["name"] for app in (await shop.document("apps", "list", "--platform", "IOS"))["items"]] == ["Bank"]
    assert [app["name"] for app in (await shop.document("apps", "list", "--search", "sho"))["items"]] == ["Shop"]
    assert "Shop (Android)" in (await shop.ok("apps", "show", "Shop")).out
    assert (await shop.document("apps", "show", "bank"))["attached_tests"] == 0
    assert "The app has no builds" in (await shop.ok("builds", "list", "--app", "Bank")).err
    several = await shop.run("matrix")
    assert (several.code, several.err.splitlines()[0]) == (USAGE, "error: no app is named")
    assert f"{bank['id']} (Bank, iOS)" in several.err
    assert (await shop.document("apps", "delete", bank["id"], "--yes"))["id"] == bank["id"]
    await shop.ok("apps", "create", "Bank", "--platform", "iOS")
    assert 'Deleted the app "Bank".' in (await shop.ok("apps", "delete", "Bank", "--yes")).err
    assert (await shop.run("apps", "show", "Bank")).code == NOT_FOUND


async def test_names_that_two_apps_have_are_ambiguous(shop: Shell) -> None:
    other = (await shop.ok("apps", "create", "Shop", "--platform", "iOS")).out.strip()
    ended = await shop.run("builds", "list", "--app", "Shop")
    assert (ended.code, '2 apps are called "Shop"' in ended.err) == (USAGE, True), ended.err
    assert other in ended.err


async def test_a_build_is_uploaded_once_downloaded_and_deleted(shop: Shell) -> None:
    """Only the id of an upload is its result."""
    shop.write({"next.apk": fresh("app")})
    uploaded = await shop.ok("builds", "upload", "next.apk", "--build", "2.0", "--app", "Shop", "--current")
    assert "as build 2.0 of Shop." in uploaded.err
    again = await shop.ok("builds", "upload", "next.apk")
    assert (again.out, "Build 2.0 of Shop is on the server." in again.err) == (uploaded.out, True)
    [newest] = (await shop.document("builds", "list", "--limit", "1"))["items"]
    assert uploaded.out == f"{newest['id']}\n"
    assert [app["current_version"] for app in (await shop.document("apps", "list"))["items"]] == ["2.0"]
    assert "current" in (await shop.ok("builds", "list", "--app", "Shop")).out
    await shop.ok("builds", "set-current", "1.0")
    assert [app["current_version"] for app in (await shop.document("apps", "list"))["items"]] == ["1.0"]
    assert (await shop.document("builds", "set-current", newest["id"]))["version"] == "2.0"
    assert "Wrote copy.apk." in (await shop.ok("builds", "download", "2.0", "--output", "copy.apk")).err
    assert (shop.folder / "copy.apk").read_bytes() == (shop.folder / "next.apk").read_bytes()
    content = (shop.folder / "app.apk").read_bytes()
    (shop.folder / "app.apk").unlink()
    assert (await shop.document("builds", "download", "1.0"))["path"] == "app.apk"
    assert (shop.folder / "app.apk").read_bytes() == content
    assert (await shop.document("builds", "delete", newest["id"], "--yes"))["id"] == newest["id"]
    assert [build["version"] for build in (await shop.document("builds", "list"))["items"]] == ["1.0"]


async def test_flows_are_pushed_and_pulled(shop: Shell) -> None:
    tried = await shop.document("tests", "push", "--dry-run")
    assert (tried["created_count"], (await shop.document("tests", "list"))["items"]) == (2, [])
    shop.write({".maestro/kind.yaml": "- Be kind\n"})
    warned = await shop.ok("tests", "push", "--dry-run")
    assert 'kind.yaml:1:3: warning: "Be kind": the rules do not understand this sentence' in warned.err
    (shop.folder / ".maestro/kind.yaml").unlink()
    pushed = await shop.ok("tests", "push")
    assert "Imported Shop: 2 new, 0 changed, 0 unchanged." in pushed.err
    shop.write({".maestro/log-in.yaml": LOG_IN + "- back\n"})
    assert (await shop.document("tests", "push"))["changed_count"] == 1
    written = await shop.document("tests", "pull", "copy")
    assert sorted(written["items"]) == ["copy/basket.yaml", "copy/log-in.yaml"]
    assert (await shop.document("tests", "pull", "copy"))["items"] == []
    assert (await shop.ok("tests", "validate", "copy")).err == "No problems.\n"
    again = await shop.document("tests", "push", "copy", "--workspace", "Shop")
    assert [again[f"{kind}_count"] for kind in ("created", "changed", "unchanged")] == [0, 0, 2]
    shop.write({"copy/log-in.yaml": "mine"})
    kept = await shop.run("tests", "pull", "copy")
    assert (kept.code, "copy/log-in.yaml: differs from the server" in kept.err) == (INVALID_FILE, True)
    assert (shop.folder / "copy/log-in.yaml").read_text() == "mine"
    await shop.ok("tests", "pull", "copy", "--force")
    assert "launchApp" in (shop.folder / "copy/log-in.yaml").read_text()
    versions = (await shop.document("tests", "history", "Log in"))["items"]
    assert sorted(version["version_number"] for version in versions)[:2] == [1, 2]


async def test_tests_are_listed_shown_and_deleted(pushed: Shell) -> None:
    shown = await pushed.document("tests", "show", "Log in")
    assert (shown["name"], shown["tags"]) == ("Log in", ["smoke"])
    assert "- launchApp" in (await pushed.ok("tests", "show", "Log in")).out
    assert [test["name"] for test in (await pushed.document("tests", "list", "--tag", "smoke"))["items"]] == ["Log in"]
    assert "smoke" in (await pushed.ok("tests", "list", "--search", "log")).out
    history = (await pushed.ok("tests", "history", "Log in")).out
    assert history.splitlines()[0].split() == ["Version", "Created", "Steps"]
    await pushed.ok("tests", "push", "--workspace", "Other")
    ended = await pushed.run("tests", "show", "Log in")
    assert (ended.code, '2 tests are called "Log in"' in ended.err) == (USAGE, True), ended.err
    assert (await pushed.document("tests", "delete", shown["id"], "--yes"))["id"] == shown["id"]
    await pushed.ok("tests", "delete", "Log in", "--yes")
    assert (await pushed.run("tests", "show", "Log in")).code == NOT_FOUND


async def test_only_the_tests_of_an_app_or_a_workspace_are_pulled(pushed: Shell) -> None:
    await pushed.ok("apps", "create", "Bank", "--platform", "iOS")
    pushed.write({"bank/pay.yaml": LOG_IN.replace("Log in", "Pay")})
    await pushed.ok("tests", "push", "bank", "--app", "Bank")
    by_app = await pushed.document("tests", "pull", "one", "--app", "Bank")
    by_workspace = await pushed.document("tests", "pull", "two", "--workspace", "Bank")
    assert (by_app["items"], by_workspace["items"]) == (["one/pay.yaml"], ["two/pay.yaml"])
    assert "Pay" in (await pushed.ok("tests", "list", "--app", "Bank")).out


async def test_a_folder_in_the_place_of_a_flow_is_said(pushed: Shell) -> None:
    pushed.write({"copy/log-in.yaml/file": "", "file": ""})
    for arguments in (("copy",), ("copy", "--force"), ("file",)):
        ended = await pushed.run("tests", "pull", *arguments)
        assert (ended.code, "Traceback" in ended.err) == (INVALID_FILE, False), ended.err
        assert ended.err.startswith(f"error: {arguments[0]}/"), ended.err


async def test_workflows_are_created_shown_and_deleted(pushed: Shell) -> None:
    """A workflow survives its test, or the test cannot be deleted: in both cases the workflow can be shown."""
    tests = ("--test", "Log in", "--test", "Open the basket")
    made = await pushed.document("workflows", "create", "Nightly", *tests, "--tag", "smoke")
    assert "Nightly" in (await pushed.ok("workflows", "list", "--search", "night")).out
    assert (await pushed.document("workflows", "show", made["id"]))["tags"] == ["smoke"]
    await pushed.run("tests", "delete", "Open the basket", "--yes")
    assert "Log in" in (await pushed.ok("workflows", "show", "Nightly")).out
    unconfirmed = await pushed.run("workflows", "delete", "Nightly")
    assert (unconfirmed.code, "Confirm it with --yes" in unconfirmed.err) == (USAGE, True)
    await pushed.ok("workflows", "delete", "Nightly", "--yes")
    assert (await pushed.document("workflows", "list"))["items"] == []


async def test_secrets_are_never_shown(shell: Shell) -> None:
    put = await shell.run("secrets", "set", "SHOP", "--json", stdin="lovelace\n")
    assert (put.code, put.document["name"], "lovelace" in put.out + put.err) == (OK, "SHOP", False)
    listed = await shell.document("secrets", "list")
    assert [secret["name"] for secret in listed["items"]] == ["SHOP"]
    assert "lovelace" not in str(listed)
    assert "SHOP" in (await shell.ok("secrets", "list")).out
    assert (await shell.run("secrets", "delete", "SHOP?old", "--yes")).code in (USAGE, NOT_FOUND)
    assert [secret["name"] for secret in (await shell.document("secrets", "list"))["items"]] == ["SHOP"]
    assert (await shell.document("secrets", "delete", "SHOP", "--yes"))["name"] == "SHOP"
    assert (await shell.document("secrets", "list"))["items"] == []


@pytest.mark.parametrize("name", ["SHOP?", "SHOP#1", "../apps", "SHOP/1", "SHOP%20"])
async def test_an_invalid_secret_name_is_refused(read_shop: Shell, name: str) -> None:
    refused = await read_shop.run("secrets", "set", name, stdin="ada")
    assert (refused.code, "Traceback" in refused.err) == (USAGE, False), refused.err
    assert (await read_shop.document("secrets", "list"))["items"] == []
