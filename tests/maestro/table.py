"""The table of commands in docs/maestro.md: how its cells are checked, by running a flow for each command."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from mobiletest_automation.attempt import AttemptRunner
from mobiletest_automation.attempt_request import AttemptRequest
from mobiletest_automation.devices.port import AppUnderTest, Devices
from mobiletest_automation.flows.loader import Json
from mobiletest_automation.flows.parser import COMMANDS
from mobiletest_automation.model.failures import Category
from mobiletest_automation.model.results import AttemptResult, StepStatus
from mobiletest_automation.model.run_config import FallbackTrigger, RunConfig
from mobiletest_automation.model_ports import Judgement
from tests.fakes.devices import FakeEvidence
from tests.fakes.flows import stored_steps
from tests.fakes.models import FakeModel
from tests.fakes.workspaces import PNG

APP = Path(__file__).parent / "app"
FOLDER = Path(__file__).parent / "flows"
# Texts of Maestro files by the command that they are about.
FLOWS = {path.stem: path.read_text() for path in sorted(FOLDER.glob("*.yaml"))}

PARTS = {f"parts/{path.name}": path.read_text() for path in sorted((FOLDER / "parts").iterdir())}
MEDIA = {"parts/cat.png": PNG}
CHECKS = {"assertVisible", "assertNotVisible", "assertTrue", "extendedWaitUntil"}


# Of the table, which a unit test compares with them.
ROWS = tuple(COMMANDS.values())


async def check_cell(
    devices: Devices, command: str, cell: str, *, build: AppUnderTest, second_page: str, reacts: bool = True
) -> None:
    """Run the command's flow and check that it ends as the table says.

    What the command changed is checked too, unless the table says that it has no effect or the app never `reacts`.
    """
    steps: Sequence[Json] = stored_steps(FLOWS[command], PARTS)
    if cell == "no effect" or not reacts:
        steps = _without_checks(steps, kept=command)
    result = await _run(devices, steps, build, {"SECOND": second_page}, _model(command))
    if cell == "refused":
        assert result.failure is not None
        assert (result.failure.category, result.steps) == (Category.CONFIG_INVALID, ())
    else:
        assert result.failure is None, result.failure
        assert StepStatus.SKIPPED not in {step.status for step in result.steps}
    if cell == "with a model":
        refused = await _run(devices, steps, build, {}, None)
        assert refused.failure is not None
        assert (refused.failure.category, refused.steps) == (Category.CONFIG_INVALID, ())


async def _run(
    devices: Devices, steps: object, build: AppUnderTest, env: Mapping[str, str], model: FakeModel | None
) -> AttemptResult:
    config = RunConfig(fallback_trigger=FallbackTrigger.NEVER)
    request = AttemptRequest(
        run_id="run", attempt=1, platform="android", steps=steps, build=build, config=config, env=env
    )
    return await AttemptRunner(devices, model=model).run(request, evidence=FakeEvidence(), files=_Media())


def _model(command: str) -> FakeModel:
    """Judges that an assertion is true, sees no defects, and reads a heading."""
    seen = [["Home"]] if command == "extractTextWithAI" else [[]]
    return FakeModel(verdicts=[Judgement(reached=True, why="it has one")], seen=seen)


def _without_checks(steps: Sequence[Json], kept: str) -> list[Json]:
    """The steps, and those inside them, without checks other than the command that the flow is about."""
    return [_inner(step, kept) for step in steps if not isinstance(step, dict) or not {*step} & CHECKS - {kept}]


def _inner(step: Json, kept: str) -> Json:
    if not isinstance(step, dict):
        return step
    return {name: _inner_argument(argument, kept) for name, argument in step.items()}


def _inner_argument(argument: Json, kept: str) -> Json:
    if isinstance(argument, dict) and isinstance(commands := argument.get("commands"), list):
        return {**argument, "commands": _without_checks(commands, kept)}
    return argument


class _Media:
    """Has the files of MEDIA."""

    def __contains__(self, path: object) -> bool:
        return path in MEDIA

    async def read(self, path: str) -> bytes:
        return MEDIA[path]
