"""Each of Maestro's commands is loaded, and runs on the simulated device as the table of docs/maestro.md says."""

import pytest

from mobiletest_automation.flows.loader import load_flow
from mobiletest_automation.flows.parser import COMMANDS
from mobiletest_automation.flows.steps import BlockCommand, Step
from mobiletest_automation.flows.workspace_media import WorkspaceMedia
from services.executor.pools.pool import DEFAULT_POOLS
from services.executor.pools.pooled_devices import PooledDevices
from tests.maestro.table import APP, FLOWS, MEDIA, PARTS, ROWS, Row, check_cell
from tests.unit.automation.devices.simulated.models import build

MODEL = (APP / "model.yaml").read_text()


def test_the_table_has_every_command_once_and_each_has_a_flow() -> None:
    assert sorted(row.command for row in ROWS) == sorted(COMMANDS) == sorted(FLOWS)
    assert {cell for row in ROWS for cell in row[1:5]} == {"yes", "no effect", "with a model", "refused"}


def test_each_flow_is_loaded_and_has_its_command() -> None:
    for row in ROWS:
        loaded = load_flow(FLOWS[row.command], PARTS, path="flow.yaml", media=WorkspaceMedia(MEDIA))
        assert (loaded.problems, loaded.notices, row.parsed) == ((), (), "yes"), row.command
        assert row.command in names(loaded.require().steps)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.command)
async def test_each_command_on_the_simulated_device(row: Row) -> None:
    page = "https://commands.example.com/second.html"
    await check_cell(PooledDevices(DEFAULT_POOLS), row.command, row.simulated, build=build(MODEL), second_page=page)


def names(steps: tuple[Step, ...]) -> set[str]:
    inner = [names(step.command.commands) for step in steps if isinstance(step.command, BlockCommand)]
    return {step.name for step in steps}.union(*inner)
