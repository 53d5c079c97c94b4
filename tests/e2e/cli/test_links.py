"""Links that one run prints and writes lead to pages of the dashboard, for whoever is signed in there."""

import json
import re

import aiohttp
import pytest

from mobiletest_cli.errors import FAILED
from tests.e2e.cli.conftest import BROKEN, Shell
from tests.e2e.cli.test_mcp import agent_of
from tests.e2e.client import Api

# Addresses, and paths that look like some.
LINK = re.compile(r"https?://[^\s<>\"')\]]+|(?<=[\s(\"])/(?:api|executions)/[^\s<>\"')\]]+")


@pytest.fixture
async def printed(shop: Shell, api: Api) -> dict[str, str]:
    """What one run with a failure shows, by where it shows it."""
    names = ("summary.md", "junit.xml", "report.md")
    files = {name: shop.folder / name for name in names}
    shop.write({".maestro/basket.yaml": BROKEN})
    shop.environ |= {"CI": "true", "GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(files["summary.md"])}
    ended = await shop.run("run", "--junit", "junit.xml", "--report", "report.md")
    assert ended.code == FAILED, ended.err
    [execution] = (await shop.document("executions"))["items"]
    opened = await shop.run("open", execution["id"])
    rest = await api.get(f"/executions/{execution['id']}/junit.xml")
    async with agent_of(shop, allow_run=False) as agent:
        told = [await agent.call("list_executions"), await agent.call("get_execution", execution=execution["id"])]
        failure = await agent.client.call_tool("read_failure", {"execution": execution["id"]})
    shown = {name: path.read_text() for name, path in files.items()}
    annotations = "\n".join(line for line in ended.out.splitlines() if line.startswith("::"))
    mcp = json.dumps(told) + str(failure.content[0].text)  # type: ignore[union-attr]
    return {
        **shown,
        "terminal": ended.err + ended.out.replace(annotations, ""),
        "annotations": annotations,
        "open": opened.out,
        "junit.xml by REST": rest.text,
        "mcp": mcp,
    }


async def test_every_link_of_a_run_opens_a_page(
    printed: dict[str, str],
    api: Api,
) -> None:
    """Each place has a link; without a session it leads to the page to sign in."""
    links = {place: set(LINK.findall(text)) for place, text in printed.items()}
    assert [place for place, opens in links.items() if not opens] == []
    jar = aiohttp.CookieJar(unsafe=True)  # cookies of an address without a name
    async with aiohttp.ClientSession(cookie_jar=jar) as member, aiohttp.ClientSession() as visitor:
        async with member.post(f"{api.url}/sign-in", data={"key": str(api.key)}) as answer:
            assert answer.status == 200
        for link in set().union(*links.values()):
            assert link.startswith(f"{api.url}/executions/"), link
            async with member.get(link) as page:
                assert (page.status, page.content_type, str(page.url)) == (200, "text/html", link.partition("#")[0])
                _, _, anchor = link.partition("#")
                assert not anchor or f'id="{anchor}"' in await page.text()
            async with visitor.get(link) as page:
                assert (page.status, page.url.path) == (200, "/sign-in")
