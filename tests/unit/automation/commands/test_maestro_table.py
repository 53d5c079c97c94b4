"""Each of Maestro's commands is loaded, and runs on the simulated device as the table of docs/maestro.md says."""

import pytest

from mobiletest_automation.flows.commands import CommandSpec
from mobiletest_automation.flows.loader import load_flow
from mobiletest_automation.flows.parser import COMMANDS
from mobiletest_automation.flows.steps import BlockCommand, Step
from mobiletest_automation.flows.workspace_media import WorkspaceMedia
from services.executor.pools.pool import DEFAULT_POOLS
from services.executor.pools.pooled_devices import PooledDevices
from tests.maestro.table import APP, FLOWS, MEDIA, PARTS, ROWS, check_cell
from tests.unit.automation.devices.simulated.models import build

MODEL = (APP / "model.yaml").read_text()


def test_each_command_has_a_flow() -> None:
    assert sorted(FLOWS) == sorted(COMMANDS)


def test_each_flow_is_loaded_and_has_its_command() -> None:
    for row in ROWS:
        loaded = load_flow(FLOWS[row.name], PARTS, path="flow.yaml", media=WorkspaceMedia(MEDIA))
        assert (loaded.problems, loaded.notices) == ((), ()), row.name
        assert row.name in names(loaded.require().steps)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
async def test_each_command_on_the_simulated_device(row: CommandSpec) -> None:
    page = "https://commands.example.com/second.html"
    await check_cell(PooledDevices(DEFAULT_POOLS), row.name, row.simulated, build=build(MODEL), second_page=page)


def names(steps: tuple[Step, ...]) -> set[str]:
    inner = [names(step.command.commands) for step in steps if isinstance(step.command, BlockCommand)]
    return {step.name for step in steps}.union(*inner)
