"""Takes pictures of all pages of the dashboard with the example workspace: `python -m deploy.screenshots FOLDER`.

Each page on a desktop and on a phone, in the light and in the dark theme: FOLDER/matrix-desktop-light.png.
"""

import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

from playwright.async_api import Browser, Page, async_playwright

from deploy.devices import hubs
from deploy.local import stack
from deploy.local.commands import load_examples
from examples.client import Client

SIZES = {"desktop": (1280, 800), "phone": (390, 844)}
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


async def main(folder: Path) -> None:
    with tempfile.TemporaryDirectory() as state:
        async with stack.run_stack(Path(state), workers=2) as running, chromium() as browser:
            await load_examples(running.url, running.api_key)
            async with Client(running.url, running.api_key) as client:
                paths = await example_paths(client)
            for size in SIZES:
                for theme in THEMES:
                    await take(browser, running, paths, folder, size, theme)


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """A headless Chromium: that of the system."""
    program = hubs.chromium()
    if program is None:
        sys.exit("Install chromium; on Debian: apt-get install chromium")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=program, args=list(hubs.CHROMIUM_ARGUMENTS))
        yield browser
        await browser.close()


async def sign_in(page: Page, url: str, key: str) -> None:
    """Sign in by the form."""
    await page.goto(f"{url}/sign-in", wait_until="networkidle")
    await page.get_by_label("API key").fill(key)
    await page.get_by_role("button", name="Sign in").click()
    await page.wait_for_url(f"{url}/")


async def example_paths(client: Client) -> Mapping[str, str]:
    """The address of one page of each kind, with something to see on it."""
    app = next(each for each in await client.every("apps") if each["platform"] == "Android")
    builds = await client.every(f"apps/{app['id']}/builds")
    runs = [await client.every(f"apps/builds/{build['id']}/runs") for build in builds]
    broken, run = next(
        (place, run) for place, of_build in enumerate(runs) for run in of_build if run["success"] is False
    )
    build, base = builds[broken], builds[broken + 1]
    test, execution = f"/tests/{run['test_id']}", f"/executions/{run['execution_id']}"
    return {
        "sign-in": "/sign-in",
        "apps": "/",
        "app": f"/apps/{app['id']}",
        "matrix": f"/apps/{app['id']}/matrix",
        "coverage": f"/apps/{app['id']}/coverage",
        "build": f"/apps/{app['id']}/builds/{build['id']}?base={base['id']}",
        "executions": "/executions",
        "execution": execution,
        "run": f"{execution}/runs/{run['run_id']}",
        "tests": "/tests",
        "test": test,
        "versions": f"{test}/versions",
        "history": f"{test}/history",
        "queue": "/queue",
        "keys": "/settings",
        "limits": "/settings/limits",
        "quarantine": "/settings/quarantine",
        "secrets": "/settings/secrets",
        "api": "/docs",
    }


async def take(
    browser: Browser, running: stack.Stack, paths: Mapping[str, str], folder: Path, size: str, theme: str
) -> None:
    """Pictures of all pages in one size and theme."""
    width, height = SIZES[size]
    scheme: Literal["light", "dark"] = "dark" if theme == "dark" else "light"
    context = await browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=scheme, locale="en-GB"
    )
    page = await context.new_page()
    await sign_in(page, running.url, running.api_key)
    for name, path in paths.items():
        await page.goto(f"{running.url}{path}", wait_until="networkidle")
        await page.screenshot(path=folder / f"{name}-{size}-{theme}.png", full_page=name != "api")
    await context.close()


if __name__ == "__main__":
    wanted = Path(sys.argv[1])
    wanted.mkdir(parents=True, exist_ok=True)
    asyncio.run(main(wanted))
