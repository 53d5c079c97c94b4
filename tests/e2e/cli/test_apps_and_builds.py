"""Apps and builds: what is printed for people and for programs, and mistakes."""

import pytest
from aiohttp import web

from mobiletest_cli.errors import INVALID_FILE, NOT_FOUND, OK, UNREACHABLE, USAGE
from tests.e2e.cli.conftest import Shell
from tests.e2e.cli.test_resource_commands import document, ok
from tests.e2e.cli.test_server_commands import answering
from tests.e2e.client import fresh
from tests.e2e.world import UNKNOWN, World


@pytest.fixture
async def shop(shell: Shell, world: World) -> Shell:
    """An organisation with the app "Shop" with build 1.0, and its file."""
    shell.write({"app.apk": fresh("app"), "empty.apk": "", "Shop.app/Info.plist": ""})
    await world.upload(await world.app(name="Shop"), shell.folder / "app.apk", version="1.0")
    return shell


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["apps", "create", "Bank", "--platform", "Windows"], USAGE, "platform"),
        (["apps", "create", "Bank"], USAGE, "--platform"),
        (["apps", "list", "--platform", "Windows"], USAGE, "platform"),
        (["apps", "show", UNKNOWN], NOT_FOUND, "not found"),
        (["apps", "show", "Sho"], NOT_FOUND, 'no app is called "Sho"'),
        (["apps", "delete", "Nobody", "--yes"], NOT_FOUND, 'no app is called "Nobody"'),
        (["builds", "upload", "missing.apk"], INVALID_FILE, "missing.apk: cannot be read"),
        (["builds", "upload", "empty.apk"], INVALID_FILE, "empty.apk: is empty"),
        (["builds", "upload", "Shop.app"], INVALID_FILE, "Shop.app: is a folder"),
        (["builds", "upload", "app.apk", "--app", "Nobody"], NOT_FOUND, 'no app is called "Nobody"'),
        (["builds", "list", "--limit", "0"], USAGE, "--limit"),
        (["builds", "download", UNKNOWN], NOT_FOUND, "not found"),
        (["builds", "delete", "1.0"], USAGE, "nobody can be asked to confirm this"),
        (["builds", "delete", "9.9", "--yes"], NOT_FOUND, 'the app "Shop" has no build "9.9"'),
        (["builds", "set-current", "9.9"], NOT_FOUND, 'the app "Shop" has no build "9.9"'),
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


async def test_apps_are_printed_as_documents(shop: Shell) -> None:
    bank = await document(shop, "apps", "create", "Bank", "--platform", "iOS", "--description", "Keeps money")
    assert (bank["name"], bank["platform"], bank["description"]) == ("Bank", "iOS", "Keeps money")
    assert (await document(shop, "apps", "show", "bank"))["attached_tests"] == 0
    assert "There are no apps" in (await ok(shop, "apps", "list", "--search", "Nothing")).err
    assert (await document(shop, "apps", "delete", bank["id"], "--yes"))["id"] == bank["id"]


async def test_the_ids_of_ambiguous_names_are_shown(shop: Shell) -> None:
    other = (await ok(shop, "apps", "create", "Shop", "--platform", "iOS")).out.strip()
    assert other in (await shop.run("builds", "list", "--app", "Shop")).err
    assert "The app has no builds" in (await ok(shop, "builds", "list", "--app", other)).err


async def test_only_the_id_of_an_upload_is_the_result(shop: Shell) -> None:
    shop.write({"next.apk": fresh("app")})
    uploaded = await ok(shop, "builds", "upload", "next.apk", "--build", "2.0", "--app", "Shop")
    assert "as build 2.0 of Shop." in uploaded.err
    [newest] = (await document(shop, "builds", "list", "--limit", "1"))["items"]
    assert uploaded.out == f"{newest['id']}\n"
    assert (await document(shop, "builds", "set-current", newest["id"]))["version"] == "2.0"
    assert (await document(shop, "builds", "delete", newest["id"], "--yes"))["id"] == newest["id"]


async def test_a_version_is_not_replaced_by_another_file(shop: Shell) -> None:
    shop.write({"other.apk": fresh("app")})
    ended = await shop.run("builds", "upload", "other.apk", "--build", "1.0")
    assert (ended.code, "give another --build" in ended.err) == (INVALID_FILE, True), ended.err


async def test_a_download_has_the_name_of_the_upload(shop: Shell) -> None:
    content = (shop.folder / "app.apk").read_bytes()
    (shop.folder / "app.apk").unlink()
    assert (await document(shop, "builds", "download", "1.0"))["path"] == "app.apk"
    assert (shop.folder / "app.apk").read_bytes() == content


async def test_a_download_that_is_cut_leaves_nothing(shell: Shell) -> None:
    async def cut(request: web.Request) -> web.StreamResponse:
        if not request.path.endswith("/download"):
            return web.json_response({"id": UNKNOWN, "version": "1.0"})
        response = web.StreamResponse(headers={"Content-Length": "1000"})
        await response.prepare(request)
        await response.write(b"begun")
        assert request.transport is not None
        request.transport.close()
        return response

    shell.write({"kept.apk": "before"})
    async with answering(cut) as shell.environ["MOBILETEST_URL"]:
        ended = await shell.run("builds", "download", UNKNOWN, "--output", "kept.apk", "--patience", "0")
    assert (ended.code, "Traceback" in ended.err) == (UNREACHABLE, False), ended.err
    assert {path.name: path.read_text() for path in shell.folder.iterdir()} == {"kept.apk": "before"}


async def test_a_key_may_come_from_stdin(shop: Shell) -> None:
    key = shop.environ.pop("MOBILETEST_API_KEY")
    assert (await shop.run("apps", "show", "Shop", "--api-key-stdin", stdin=f"{key}\n")).code == OK
    empty = await shop.run("apps", "list", "--api-key-stdin", "--json")
    assert (empty.code, empty.err) == (USAGE, "")
    assert empty.document["error"]["message"] == "--api-key-stdin: no API key came from stdin"
    await ok(shop, "secrets", "set", "PASSWORD", "--api-key-stdin", stdin=f"{key}\nlovelace\n")
