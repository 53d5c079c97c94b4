"""Signing in and out, and what a session may do."""

import asyncio
import json
import re
from typing import Any
from urllib.parse import quote

import aiohttp
import pytest
from playwright.async_api import Browser, Page, Route, expect

from tests.dashboard.conftest import Visitor
from tests.dashboard.pages import defects_shown
from tests.e2e.client import Api, created
from tests.e2e.test_human_in_the_loop import asked, started
from tests.e2e.world import World
from tests.eventually import eventually
from tests.shared_infrastructure import SharedStack


async def test_whoever_has_not_signed_in_comes_back_after_it(visitor: Visitor) -> None:
    await visitor.open("/executions?branch=main")
    await expect(visitor.page).to_have_url(f"{visitor.url}/sign-in?next=%2Fexecutions%3Fbranch%3Dmain")
    await visitor.page.get_by_label("API key").fill(visitor.key)
    await visitor.page.keyboard.press("Enter")
    await expect(visitor.page).to_have_url(f"{visitor.url}/executions?branch=main")
    await expect(visitor.page.get_by_role("heading", name="Executions")).to_be_visible()


async def sign_in(page: Page, key: str) -> None:
    await page.get_by_label("API key").fill(key)
    await page.get_by_role("button", name="Sign in").click()


async def test_signing_in_needs_no_module(browser: Browser, stack: SharedStack, api: Api) -> None:
    """Each is blocked in turn, and one comes only after the form was sent; the key is never in an address."""
    context = await browser.new_context()
    page, addresses, may_come = await context.new_page(), list[str](), asyncio.Event()
    page.on("request", lambda request: addresses.append(request.url))
    place = f"{stack.url}/sign-in?next=%2Ftests"
    await page.goto(place, wait_until="networkidle")
    modules = {url for url in addresses if url.endswith(".js")}
    assert {url.rpartition("/")[2] for url in modules} >= {"dashboard.js", "forms.js", "api.js", "theme.js"}

    async def hold(route: Route) -> None:
        await may_come.wait()
        await route.abort()

    for module in sorted(modules):
        await page.route(module, lambda route: route.abort())
        await page.goto(place)
        await sign_in(page, str(api.key))
        await expect(page).to_have_url(f"{stack.url}/tests")
        await page.unroute(module)
        await context.clear_cookies()
    await page.route(re.compile(r"/forms\.js$"), hold)
    await page.goto(place, wait_until="commit")
    await sign_in(page, str(api.key))
    await expect(page).to_have_url(f"{stack.url}/tests")
    may_come.set()
    await context.close()
    assert [address for address in addresses if "mt_" in address] == []


async def test_pages_without_scripts_sign_in_and_change_nothing(browser: Browser, stack: SharedStack, api: Api) -> None:
    context = await browser.new_context(java_script_enabled=False)
    page = await context.new_page()
    await page.goto(f"{stack.url}/sign-in?next=%2Fsettings")
    await sign_in(page, "mt_wrong")
    await expect(page.get_by_role("alert").filter(has_text="Invalid API key")).to_be_visible()
    await expect(page.get_by_label("API key")).to_have_value("")
    await sign_in(page, str(api.key))
    await expect(page).to_have_url(f"{stack.url}/settings")
    forms = page.locator('form[method="post"]')
    assert await forms.count()
    await expect(forms.locator('button[type="submit"]:enabled')).to_have_count(0)
    await context.close()


async def test_signing_in_never_leads_to_another_host(visitor: Visitor) -> None:
    """Browsers leave out tabs and ends of lines, so that "/", a tab and "/" begin the name of a host."""
    for place in ("//x.example", "/\\x.example", "/\t/x.example", "/\r\n/x.example", "x"):
        await visitor.open(f"/sign-in?next={quote(place, safe='')}")
        await visitor.page.get_by_label("API key").fill(visitor.key)
        await visitor.page.keyboard.press("Enter")
        await expect(visitor.page).to_have_url(f"{visitor.url}/")
        await expect(visitor.page.get_by_role("heading", name="Apps", exact=True)).to_be_visible()
        await visitor.page.context.clear_cookies()


async def test_a_wrong_key_is_said_beside_the_field(visitor: Visitor) -> None:
    await visitor.open("/sign-in")
    field = visitor.page.get_by_label("API key")
    await field.fill("mt_wrong")
    await visitor.page.get_by_role("button", name="Sign in").click()
    await expect(visitor.page.get_by_role("alert").filter(has_text="Invalid API key")).to_be_visible()
    await expect(field).to_have_value("mt_wrong")
    await expect(field).to_be_focused()
    assert await defects_shown(visitor) == {}


async def test_the_key_is_in_no_cookie_and_no_storage(visitor: Visitor) -> None:
    await visitor.open("/sign-in")
    await visitor.page.get_by_label("API key").fill(visitor.key)
    await visitor.page.get_by_role("button", name="Sign in").click()
    await visitor.page.wait_for_url(f"{visitor.url}/")
    [cookie] = await visitor.page.context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
    assert visitor.key not in cookie["value"]
    stored = await visitor.page.evaluate("JSON.stringify([localStorage, sessionStorage, document.cookie])")
    assert (visitor.key in stored, cookie["value"] in stored) == (False, False)


async def test_signing_out_ends_the_session_everywhere(member: Visitor, browser: Browser, stack: SharedStack) -> None:
    await member.open("/")
    cookies = await member.page.context.cookies()
    await member.page.get_by_role("button", name="Sign out").click()
    await expect(member.page).to_have_url(f"{member.url}/sign-in")
    thief = await browser.new_context()
    await thief.add_cookies([{"name": each["name"], "value": each["value"], "url": stack.url} for each in cookies])

    async def refused() -> bool:
        return (await thief.request.get(f"{stack.url}/api/v1/apps")).status == 401

    await eventually(refused)
    assert (await thief.request.get(f"{stack.url}/session")).status == 401


async def test_pages_are_served_behind_a_proxy_that_ends_tls(visitor: Visitor) -> None:
    tls = {"X-Forwarded-Proto": "https"}
    async with aiohttp.ClientSession(visitor.url, headers=tls, cookie_jar=aiohttp.DummyCookieJar()) as client:
        async with client.post("/session", json={"key": visitor.key}) as signed_in:
            cookie = signed_in.headers["Set-Cookie"].partition(";")[0]
        async with client.get("/", headers={"Cookie": cookie}, allow_redirects=False) as page:
            assert (cookie.partition("=")[0], page.status) == ("__Host-mobiletest-session", 200)


async def test_pages_of_other_hosts_cannot_sign_somebody_in(visitor: Visitor) -> None:
    """They may send requests of some types, or of none, without asking; JSON is none of these types."""
    body, form = json.dumps({"key": visitor.key}).encode(), {"key": visitor.key}
    async with aiohttp.ClientSession(visitor.url, skip_auto_headers=["Content-Type"]) as client:
        for headers in ({}, {"Content-Type": "text/plain"}):
            async with client.post("/session", data=body, headers=headers) as answer:
                assert (answer.status, "Set-Cookie" in answer.headers) == (415, False)
    async with aiohttp.ClientSession(visitor.url) as client:
        for headers in ({"Origin": "https://x.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}):
            async with client.post("/sign-in", data=form, headers=headers, allow_redirects=False) as answer:
                assert (answer.status, "Set-Cookie" in answer.headers) == (403, False)
            async with client.post("/session", json=form, headers=headers) as answer:
                assert (answer.status, "Set-Cookie" in answer.headers) == (403, False)
        behind_proxy = {"Origin": "https://tests.example", "X-Forwarded-Host": "tests.example"}
        hidden = {"Origin": "null", "Sec-Fetch-Site": "same-origin"}
        for headers in ({"Origin": visitor.url}, behind_proxy, hidden, {}):
            async with client.post("/sign-in", data=form, headers=headers, allow_redirects=False) as answer:
                assert (answer.status, "Set-Cookie" in answer.headers) == (303, True)


@pytest.mark.parametrize("is_signed_in", [True, False])
async def test_a_link_of_another_site_leads_to_the_page(visitor: Visitor, is_signed_in: bool) -> None:
    """Browsers leave out the cookie when it is followed."""
    if is_signed_in:
        await visitor.sign_in()
    page, place = visitor.page, "/executions?branch=main"
    link = f'<a href="{visitor.url}{place}">The executions</a>'
    await page.route("http://mail.localhost/", lambda route: route.fulfill(content_type="text/html", body=link))
    await page.goto("http://mail.localhost/")
    await page.get_by_role("link").click()
    expected = place if is_signed_in else f"/sign-in?next={quote(place, safe='')}"
    await expect(page.get_by_role("heading", name="Executions" if is_signed_in else "mobiletest")).to_be_visible()
    await expect(page).to_have_url(f"{visitor.url}{expected}")


async def test_a_deleted_key_ends_its_sessions(visitor: Visitor, api: Api) -> None:
    """Sooner than after the 30 s for which a gateway caches a session: it hears of the deletion."""
    other = created(await api.post("/settings/api-keys", {"name": "ada"}))
    visitor.key = other["key"]
    await visitor.sign_in()
    await api.delete(f"/settings/api-keys/{other['id']}")

    async def ended() -> bool:
        await visitor.open("/executions")
        return "/sign-in" in visitor.page.url

    await eventually(ended)


async def test_what_was_typed_survives_the_end_of_the_session(member: Visitor) -> None:
    """It is sent again after signing in in another tab."""
    await member.open("/")
    page = member.page
    await page.get_by_role("button", name="New app").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Name").fill("Shop")
    other = Visitor(await page.context.new_page(), member.url, member.key)
    await other.open("/")
    await other.page.get_by_role("button", name="Sign out").click()
    await other.page.wait_for_url(f"{member.url}/sign-in")
    await dialog.get_by_role("button", name="Register").click()
    await expect(dialog.get_by_role("alert").filter(has_text="Sign in again in another tab")).to_be_visible()
    await expect(dialog.get_by_label("Name")).to_have_value("Shop")
    await expect(dialog.get_by_role("link", name="Sign in")).to_have_attribute("href", "/sign-in")
    await other.sign_in()
    await dialog.get_by_role("button", name="Register").click()
    await expect(page.get_by_role("heading", name="Shop")).to_be_visible()


async def test_a_live_page_keeps_what_was_typed_when_the_session_ends(member: Visitor, world: World, api: Api) -> None:
    """It is not loaded again, offers to sign in, says why an answer was refused, and goes on afterwards."""
    execution = await started(world)
    run: Any = await asked(api, execution)
    page = member.page
    await member.open(f"/executions/{execution}/runs/{run['id']}")
    await page.evaluate("window.sameDocument = true")
    answer = page.get_by_label("Or a step to perform instead")
    await answer.fill("Tap the 2nd Add")
    other = Visitor(await page.context.new_page(), member.url, member.key)
    await other.open("/")
    await other.page.get_by_role("button", name="Sign out").click()
    await other.page.wait_for_url(f"{member.url}/sign-in")
    await expect(page.get_by_role("link", name="Sign in")).to_be_visible()
    await page.get_by_role("button", name="Answer").click()
    await expect(page.locator("#answer-error")).to_contain_text("Your session has ended")
    await expect(answer).to_be_focused()
    await expect(answer).to_have_value("Tap the 2nd Add")
    await other.sign_in()
    await expect(page.get_by_role("link", name="Sign in")).to_have_count(0)
    await expect(answer).to_have_value("Tap the 2nd Add")
    await page.get_by_role("button", name="Answer").click()
    await expect(page.get_by_role("status").filter(has_text="passed")).to_be_visible()
    assert await page.evaluate("window.sameDocument") is True
    member.problems = [problem for problem in member.problems if "net::ERR_" not in problem]  # the stream is cut


@pytest.mark.parametrize("path", ["/api/v1/apps", "/tests/00000000-0000-4000-8000-000000000000/difference"])
async def test_a_change_needs_the_token_of_a_page(member: Visitor, path: str) -> None:
    forged = await member.page.context.request.post(f"{member.url}{path}", data={"name": "Shop", "text": "- a"})
    assert (forged.status, (await forged.json())["code"]) == (403, "CSRF_TOKEN_INVALID")
