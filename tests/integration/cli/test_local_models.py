"""`mobiletest run --local` asks the models that the environment names."""

import asyncio
from pathlib import Path

import pytest

from mobiletest_cli.errors import NO_VERDICT, OK
from tests.fakes.llm import FakeEndpoint
from tests.fakes.shopper import shopper
from tests.unit.cli.local_shell import Ended, LocalShell

FLOW = "appId: com.example.shop\n---\n- Please get me into the shop\n- assertVisible: Blue mug\n"


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> LocalShell:
    shell = LocalShell(tmp_path, capsys)
    shell.write(a=FLOW)
    return shell


async def run(shell: LocalShell, endpoint: FakeEndpoint, **environ: str) -> Ended:
    """Run in a thread, beside the endpoint."""
    async with endpoint.serving():
        names = {"MOBILETEST_LLM_BASE_URL": endpoint.url, "MOBILETEST_LLM_API_KEY": "hush-4711"}
        return await asyncio.to_thread(lambda: shell.run("--json", **{**names, **environ}))


async def test_a_model_finds_what_the_rules_do_not(shell: LocalShell) -> None:
    endpoint = FakeEndpoint(mind=shopper)
    ended = await run(shell, endpoint, MOBILETEST_LLM_PRIMARY_MODEL="large")
    assert ended.code == OK, ended.out
    step = ended.document["runs"][0]["attempts"][0]["steps"][0]
    assert (step["resolution"], step["model_calls"] > 0) == ("model", True)
    assert {question["model"] for question in endpoint.asked} == {"large"}
    assert set(endpoint.keys) == {"Bearer hush-4711"}
    assert "hush-4711" not in ended.out + ended.err


async def test_a_budget_that_is_spent_is_no_verdict(shell: LocalShell) -> None:
    endpoint = FakeEndpoint(mind=shopper)
    ended = await run(shell, endpoint, MOBILETEST_LLM_PRIMARY_MODEL="large", MOBILETEST_LLM_TOKEN_LIMIT="1")
    assert (ended.code, ended.document["runs"][0]["failure"]["category"]) == (NO_VERDICT, "llm_budget_exceeded")
