"""Uploads of builds from the page of an app."""

import asyncio
import base64
import os
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import FileChooser, FilePayload, Locator, expect

from tests.dashboard.conftest import Visitor
from tests.dashboard.pages import is_reached_by_tab
from tests.dashboard.proxy import Proxy
from tests.e2e.client import Api, created
from tests.e2e.world import World
from tests.fakes.artifacts import apk, archive

MEBIBYTE = 1024 * 1024
# More than what a network buffers.
LARGE = 16 * MEBIBYTE
LIMIT = 2 * 1024 * MEBIBYTE


def file(content: bytes, name: str = "shop.apk") -> FilePayload:
    return {"name": name, "mimeType": "application/octet-stream", "buffer": content}


def large(folder: Path, version: str) -> Path:
    """A file on the disk: the test would need seconds to send it to the browser as text."""
    path = folder / "app.apk"
    path.write_bytes(apk(version=version, extra=os.urandom(LARGE)))
    return path


async def choose(visitor: Visitor, app: Any, chosen: FilePayload | Path) -> Locator:
    """Open the page of the app and choose a file; the form."""
    await visitor.sign_in()
    await visitor.open(f"/apps/{app['id']}")
    await visitor.page.get_by_label("Drop the file").set_input_files(chosen)
    return visitor.page.locator("#upload")


async def versions(api: Api, app: Any) -> list[str]:
    return [build["version"] for build in created(await api.get(f"/apps/{app['id']}/builds"))["items"]]


async def test_what_is_attached_or_a_workflow_runs_on_the_uploaded_build(
    visitor: Visitor, world: World, api: Api
) -> None:
    """Exactly on it, also a test that is pinned to another build, and while another build is the current one."""
    app = await world.app()
    await world.build(app, "1.0.0")
    created(await api.patch(f"/apps/{app['id']}", {"current_version": "1.0.0"}))
    tests = [await world.test(), await world.test()]
    for test in tests:
        await world.attach(app, test, pinned_version="1.0.0")
    await world.workflow(tests[0], name="Smoke", build_config={"android_build": {"app_id": app["id"]}})
    other = await world.app()
    await world.workflow(tests[0], name="Foreign", build_config={"android_build": {"app_id": other["id"]}})
    for name, count in (("Run all 2 attached tests on 1.4.2", 2), ("Run Smoke on 1.4.3", 1)):
        form = await choose(visitor, app, file(apk("com.example.shop", name[-5:])))
        await form.get_by_role("button", name="Upload").click()
        page = visitor.page
        built = form.get_by_role("status").get_by_role("link", name=name[-5:])
        assert "/builds/" in str(await built.get_attribute("href"))
        await expect(form.get_by_role("button", name=name)).to_be_visible()
        assert await form.get_by_role("button", name="Foreign").count() == 0
        await form.get_by_role("button", name=name).click()
        await page.wait_for_url(f"{visitor.url}/executions/*")
        runs = created(await api.get(f"/executions/{page.url.rpartition('/')[2]}/runs"))["items"]
        assert [run["resolved_build_version"] for run in runs] == [name[-5:]] * count


async def test_a_chosen_file_is_uploaded(visitor: Visitor, world: World, api: Api) -> None:
    """Version and package come from the file, and what is typed elsewhere stays."""
    app = await world.app()
    form = await choose(visitor, app, file(apk("com.example.shop", "1.4.2")))
    page = visitor.page
    await expect(form.get_by_role("status")).to_contain_text("shop.apk")
    await page.get_by_label("Attach a test").fill("log in")
    await form.get_by_role("button", name="Upload").click()
    await expect(form.get_by_role("status")).to_contain_text("uploaded as build 1.4.2")
    await expect(page.locator("#builds").get_by_role("rowheader", name="1.4.2")).to_be_visible()
    await expect(page.locator("#cards")).to_contain_text("1.4.2")
    await expect(page.get_by_label("Attach a test")).to_have_value("log in")
    [build] = created(await api.get(f"/apps/{app['id']}/builds"))["items"]
    assert build["package_name"] == "com.example.shop"


async def test_a_dropped_file_is_uploaded(member: Visitor, world: World, api: Api) -> None:
    """One that misses the field does not replace the page."""
    app = await world.app()
    await member.open(f"/apps/{app['id']}")
    page = member.page
    content = base64.b64encode(apk(version="2.0")).decode()
    dropped = await page.evaluate_handle(
        """content => {
            const files = new DataTransfer();
            files.items.add(new File([Uint8Array.from(atob(content), c => c.charCodeAt(0))], "shop.apk"));
            return files;
        }""",
        content,
    )
    await page.dispatch_event("#upload .drop", "dragover", {"dataTransfer": dropped})
    await expect(page.locator("#upload .drop")).to_have_class("drop over")
    await page.dispatch_event("#upload .drop", "drop", {"dataTransfer": dropped})
    await expect(page.locator("#upload .drop")).to_have_class("drop")
    missed = """dataTransfer => document.body.dispatchEvent(
        new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true })
    )"""
    assert not await page.evaluate(missed, dropped)
    await page.get_by_role("button", name="Upload", exact=True).click()
    await expect(page.locator("#builds").get_by_role("rowheader", name="2.0")).to_be_visible()
    assert await versions(api, app) == ["2.0"]


async def test_a_build_is_uploaded_by_keyboard(member: Visitor, world: World) -> None:
    app = await world.app()
    await member.open("/")
    page = member.page
    assert await is_reached_by_tab(page, 'a[href$="#upload"]')
    async with page.expect_navigation():
        await page.keyboard.press("Enter")
    await expect(page).to_have_url(f"{member.url}/apps/{app['id']}#upload")
    await page.wait_for_load_state("networkidle")
    # Long before the key: Playwright does not wait until Chromium knows that somebody handles the chooser.
    choosers: asyncio.Queue[FileChooser] = asyncio.Queue()
    page.on("filechooser", choosers.put_nowait)
    assert await is_reached_by_tab(page, "#file")
    await page.keyboard.press("Space")
    await (await choosers.get()).set_files(file(b"screens", "app.bin"))
    assert await is_reached_by_tab(page, "#version")
    await page.keyboard.type("7.0")
    await page.keyboard.press("Enter")
    await expect(page.locator("#builds").get_by_role("rowheader", name="7.0")).to_be_visible()


async def test_a_file_without_a_version_needs_one(visitor: Visitor, world: World, api: Api) -> None:
    """The refusal stands beside the field; the file need not be chosen again."""
    app = await world.app()
    form = await choose(visitor, app, file(b"not an archive", "shop.txt"))
    await form.get_by_role("button", name="Upload").click()
    await expect(form.locator("#version-error")).to_contain_text("the artifact contains no version (it is a text)")
    await expect(form.get_by_label("Version")).to_be_focused()
    await form.get_by_label("Version").fill("1.0.0")
    await form.get_by_role("button", name="Upload").click()
    await expect(form.get_by_role("status")).to_contain_text("uploaded as build 1.0.0")
    assert await versions(api, app) == ["1.0.0"]


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"", "the file is empty"), (archive({"AndroidManifest.xml": bytes(64 * MEBIBYTE)}), "not a plausible app file")],
    ids=["empty", "hostile"],
)
async def test_a_refused_file_is_said_beside_it(visitor: Visitor, world: World, content: bytes, said: str) -> None:
    form = await choose(visitor, await world.app(), file(content))
    await form.get_by_role("button", name="Upload").click()
    await expect(form.locator("#file-error")).to_contain_text(said)


async def test_a_file_has_to_be_chosen(visitor: Visitor, world: World) -> None:
    form = await choose(visitor, await world.app(), file(b"x"))
    await form.get_by_label("Drop the file").set_input_files([])
    await form.get_by_role("button", name="Upload").click()
    await expect(form.locator("#file-error")).to_have_text("Choose a file.")


async def test_a_file_beyond_the_limit_is_refused(visitor: Visitor, world: World, tmp_path: Path) -> None:
    sparse = tmp_path / "shop.apk"
    with sparse.open("wb") as file:
        file.truncate(LIMIT + 1)
    form = await choose(visitor, await world.app(), sparse)
    await form.get_by_role("button", name="Upload").click()
    await expect(form.locator("#file-error")).to_contain_text(f"larger than {LIMIT} bytes", timeout=60_000)


async def test_a_version_that_exists_is_said_beside_it(
    visitor: Visitor, world: World, api: Api, tmp_path: Path
) -> None:
    app = await world.app()
    form = await choose(visitor, app, large(tmp_path, "1.0"))
    await world.build(app, "1.0")
    await form.get_by_role("button", name="Upload").click()
    await expect(form.locator("#version-error")).to_contain_text("already has a build of version 1.0", timeout=40_000)
    await expect(visitor.page.locator("#builds").get_by_role("rowheader", name="1.0")).to_be_visible()
    assert await versions(api, app) == ["1.0"]


async def test_the_same_file_again_is_another_build(visitor: Visitor, world: World, api: Api) -> None:
    """The API stores it once, and says so."""
    app, content = await world.app(), apk(version="1.0")
    created(await api.upload(app["id"], content, "shop.apk"))
    form = await choose(visitor, app, file(content))
    await form.get_by_label("Version").fill("1.1")
    await form.get_by_role("button", name="Upload").click()
    await expect(form.get_by_role("status")).to_contain_text("build 1.1. The same file had been uploaded before.")
    assert await versions(api, app) == ["1.1", "1.0"]


async def begin_upload(visitor: Visitor, form: Locator) -> None:
    """Send the chosen file, and wait until a part of it is sent."""
    await form.get_by_role("button", name="Upload").click()
    await visitor.page.wait_for_function("() => document.querySelector('#upload progress').value > 0")
    await expect(form.get_by_role("progressbar")).to_be_visible()
    await expect(form.locator("[data-upload-amount]")).to_contain_text("% of 16.0 MiB")


async def test_an_upload_that_breaks_off_is_tried_again(
    visitor: Visitor, world: World, api: Api, proxy: Proxy, tmp_path: Path
) -> None:
    """With the same file, without choosing it again; nothing of the first attempt is stored."""
    app = await world.app()
    form = await choose(visitor, app, large(tmp_path, "3.0"))
    proxy.stops_after = MEBIBYTE
    await begin_upload(visitor, form)
    proxy.cut()
    await expect(form.locator("#file-error")).to_contain_text("broke off after")
    await expect(form.get_by_role("progressbar")).not_to_be_visible()
    assert await versions(api, app) == []
    proxy.mend()
    await form.get_by_role("button", name="Upload").click()
    await expect(form.get_by_role("status")).to_contain_text("uploaded as build 3.0")
    assert await versions(api, app) == ["3.0"]
    visitor.problems = [problem for problem in visitor.problems if "net::ERR_" not in problem]


async def stay(visitor: Visitor) -> None:
    """Follow a link, and change one's mind when the browser asks."""
    async with visitor.page.expect_event("dialog") as asked:
        await visitor.page.get_by_role("link", name="Queue").evaluate("link => { setTimeout(() => link.click()); }")
    question = await asked.value
    assert question.type == "beforeunload"
    await question.dismiss()


async def test_an_upload_is_cancelled(visitor: Visitor, world: World, api: Api, proxy: Proxy, tmp_path: Path) -> None:
    """The file stays chosen. The browser asks before it leaves the page meanwhile."""
    app = await world.app()
    form = await choose(visitor, app, large(tmp_path, "3.0"))
    proxy.stops_after = MEBIBYTE
    await begin_upload(visitor, form)
    await stay(visitor)
    await form.get_by_role("button", name="Cancel").click()
    await expect(form.get_by_role("status")).to_have_text("Cancelled: nothing was stored.")
    await expect(form.get_by_role("progressbar")).not_to_be_visible()
    assert await versions(api, app) == []
    assert await form.get_by_label("Drop the file").evaluate("field => field.files.length") == 1
