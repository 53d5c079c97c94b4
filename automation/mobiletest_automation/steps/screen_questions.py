"""Runs the commands that ask a model about the screen."""

from mobiletest_automation.flows.capture_commands import (
    AiCommand,
    AssertNoDefectsWithAI,
    AssertWithAI,
    ExtractTextWithAI,
)
from mobiletest_automation.flows.texts import cut
from mobiletest_automation.model.failures import Category
from mobiletest_automation.model.results import Resolution
from mobiletest_automation.model_ports import ModelSession, ScreenView
from mobiletest_automation.outcome import ResolutionCost, StepFailed, StepOutcome
from mobiletest_automation.steps.model_access import ModelAccess, model_time_limit
from mobiletest_automation.steps.screen_reader import ScreenReader


class ScreenQuestions:
    """Asks models about the screen, for the commands that are questions.

    Raises:
        StepFailed: the step cannot be carried out.
        DeviceFailure: the device, or the app on it, fails.
    """

    def __init__(self, screen: ScreenReader, models: ModelAccess) -> None:
        """`screen` takes pictures, whatever the models of sentences see."""
        self._screen = screen
        self._models = models

    @property
    def seconds(self) -> float:
        """How long models may work on a question."""
        return self._models.step_seconds

    async def run(self, command: AiCommand, cost: ResolutionCost) -> StepOutcome:
        """`cost` is filled in, also when it fails."""
        session = self._models.require("it asks about the screen")
        cost.resolution = Resolution.MODEL
        view = await self._screen.settled()
        with self._models.charged_to(cost):
            async with model_time_limit(session):
                return await _ask(session, command, view)


async def _ask(session: ModelSession, command: AiCommand, view: ScreenView) -> StepOutcome:
    variables: dict[str, str] = {}
    match command:
        case AssertWithAI(assertion):
            judgement = await session.check_assertion(assertion, view)
            if not judgement.reached:
                what = f'the model says that "{assertion}" is not true'
                raise StepFailed(Category.ASSERTION_FAILED, f"{what}: {judgement.why}", reason=what)
            message = judgement.why
        case AssertNoDefectsWithAI():
            defects = await session.find_defects(view)
            if defects:
                what = "the model sees defects on the screen"
                raise StepFailed(Category.ASSERTION_FAILED, f"{what}: {'; '.join(defects)}", reason=what)
            message = "the model sees no defects"
        case ExtractTextWithAI(query, output):
            text = await session.extract_text(query, view)
            if text is None:
                raise StepFailed(Category.ASSERTION_FAILED, f'the model does not see "{query}" on the screen')
            variables[output] = text
            message = f'{output} is "{cut(text, 200)}"'
    return StepOutcome(action=command.action, resolution=Resolution.MODEL, message=message, variables=variables)
