"""login, whoami, doctor, completion, keys and --help."""

from pathlib import Path

from mobiletest_cli import __version__
from mobiletest_cli.errors import AUTHENTICATION, MEANINGS, OK, USAGE
from tests.e2e.cli.conftest import Shell
from tests.e2e.client import Api, created


async def test_help_lists_commands_and_exit_codes(stranger: Shell) -> None:
    ended = await stranger.ok("--help")
    assert all(f" {code}  " in ended.out for code in MEANINGS)
    assert "whoami" in ended.out


async def test_a_process_prints_the_version(stranger: Shell) -> None:
    process = await stranger.start("--version")
    assert (await process.communicate(), process.returncode) == ((f"mobiletest {__version__}\n".encode(), b""), OK)


async def test_a_login_is_used_by_later_commands(shell: Shell) -> None:
    url, key = shell.environ.pop("MOBILETEST_URL"), shell.environ.pop("MOBILETEST_API_KEY")
    without = await shell.run("whoami")
    assert (without.code, without.err) == (
        USAGE,
        "error: no server is configured\n"
        "  Set MOBILETEST_URL, run `mobiletest login`, or go without: mobiletest run --local\n",
    )
    login = await shell.run("login", "--url", url, "--api-key-stdin", stdin=f"{key}\n")
    assert (login.code, login.err) == (OK, f'Logged in to {url} with the key "bootstrap".\n')
    me = await shell.run("whoami", "--json")
    assert (me.document["url"], me.document["name"], me.document["key_source"]) == (url, "bootstrap", "profile")
    assert (await shell.run("logout")).code == OK
    assert (await shell.run("whoami")).code == USAGE


async def test_a_login_with_a_wrong_key_stores_nothing(shell: Shell, tmp_path: Path) -> None:
    ended = await shell.run("login", "--api-key-stdin", stdin="mt_wrong\n")
    assert (ended.code, ended.err.splitlines()[0]) == (AUTHENTICATION, "error: Invalid API key")
    assert not (tmp_path / "config" / "profiles.json").exists()


async def test_doctor_finds_nothing_wrong(shell: Shell) -> None:
    ended = await shell.run("doctor")
    assert ended.code == OK, ended.out
    assert "PROBLEM" not in ended.out
    assert f"address: {shell.environ['MOBILETEST_URL']}" in ended.out


async def test_a_key_without_a_scope_says_so(shell: Shell, api: Api) -> None:
    key = created(await api.post("/settings/api-keys", {"name": "reader", "scopes": ["read"]}))
    shell.environ["MOBILETEST_API_KEY"] = key["key"]
    ended = await shell.run("apps", "create", "Shop", "--platform", "Android")
    assert ended.code == AUTHENTICATION
    assert "mobiletest whoami shows the scopes of the key" in ended.err
    assert "scopes read," in (await shell.run("whoami")).out


async def test_a_key_is_created_shown_once_and_deleted(shell: Shell) -> None:
    made = await shell.ok("keys", "create", "ci", "--scope", "read", "--expires", "2099-01-31")
    assert made.out.startswith("mt_")
    listed = await shell.ok("keys", "list", "--json")
    [ci] = [key for key in listed.document["items"] if key["name"] == "ci"]
    assert (ci["scopes"], ci["key"], ci["expires_at"][:7]) == (["read"], None, "2099-01")
    assert made.out.strip() not in listed.out
    assert "ci" in (await shell.ok("keys", "list")).out
    await shell.ok("keys", "delete", "ci", "--yes")
    assert "ci" not in [key["name"] for key in (await shell.document("keys", "list"))["items"]]
    made = await shell.document("keys", "create", "program", "--scope", "read", "--scope", "execute")
    assert (made["key"][:3], sorted(made["scopes"])) == ("mt_", ["execute", "read"])
    assert (await shell.document("keys", "delete", made["id"], "--yes"))["id"] == made["id"]


async def test_a_key_may_come_from_stdin(shell: Shell) -> None:
    key = shell.environ.pop("MOBILETEST_API_KEY")
    await shell.ok("secrets", "set", "PASSWORD", "--api-key-stdin", stdin=f"{key}\nlovelace\n")
    listed = await shell.ok("secrets", "list", "--api-key-stdin", stdin=f"{key}\n")
    assert "PASSWORD" in listed.out


async def test_a_key_with_default_scopes_allows_ci_but_not_administration(shell: Shell) -> None:
    created_key = await shell.ok("keys", "create", "ci")
    assert created_key.err == "Scopes: read, write, execute. Others: --scope, once for each.\n"
    assert (await shell.document("keys", "create", "ci"))["scopes"] == ["read", "write", "execute"]
    admin = await shell.ok("keys", "create", "operator", "--scope", "admin", "--scope", "read")
    assert admin.err == "Scopes: read, admin.\n"
    ambiguous = await shell.run("keys", "delete", "ci", "--yes")
    assert (ambiguous.code, ambiguous.err.count("mt_")) == (USAGE, 2), ambiguous.err
    shell.environ["MOBILETEST_API_KEY"] = created_key.out.strip()
    await shell.ok("apps", "create", "Shop", "--platform", "android")
    assert (await shell.run("keys", "create", "more")).code == AUTHENTICATION
