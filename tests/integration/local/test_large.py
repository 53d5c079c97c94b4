"""A small version of the data of `python -m examples.large`, on a stack of its own."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from deploy.local.stack import run_stack
from examples.client import Client
from examples.large.__main__ import load, show_present
from examples.large.embedded import EmbeddedStack
from examples.large.team import Size

SMALL = Size(apps=3, tests=6, builds=4, pairs=0, pair_tests=0, queue=2)


@pytest.mark.usefixtures("programs")
async def test_a_small_team_is_loaded_and_lies_in_the_past(tmp_path: Path) -> None:
    async with run_stack(tmp_path, report=lambda _: None) as running:
        stack = EmbeddedStack.find(tmp_path)
        organisation = await load(stack, "Small", SMALL)
        async with Client(running.url, organisation.api_key) as client:
            await check_history(client)
            await show_present(stack, organisation, SMALL)
            assert (await client.call("GET", "queue"))["total"] == SMALL.queue
            assert len(await client.every("questions")) == 1
        assert "0 differences" in await stack.command("reporting", "verify")
        assert stack.organisations()["Small"].complete


async def check_history(client: Client) -> None:
    """Lists are newest first, over weeks; the trend and the builds lie where their executions do."""
    executions = await client.every("executions")
    moments = [datetime.fromisoformat(each["created_at"]) for each in executions]
    assert moments == sorted(moments, reverse=True)
    assert moments[0] - moments[-1] > timedelta(days=50)
    app = next(each for each in await client.every("apps") if each["latest_version"] == "5.0.3-rc.1")
    builds = await client.every(f"apps/{app['id']}/builds")
    uploads = [datetime.fromisoformat(each["uploaded_at"]) for each in builds]
    assert uploads == sorted(uploads, reverse=True)
    assert datetime.now(UTC) - uploads[-1] > timedelta(days=58)
    workspace = await client.call("GET", f"apps/{app['id']}/workspace", params={"trend_days": 60})
    assert days_with_runs(workspace) >= 4
    assert [each["version"] for each in workspace["build_health"]] == [each["version"] for each in builds]


def days_with_runs(workspace: Any) -> int:
    return sum(point["executions"] > 0 for point in workspace["execution_trend"])
