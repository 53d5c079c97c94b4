"""The models of one attempt, as the steps use them: what they cost, how long they may take, how they fail."""

from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, contextmanager

from mobiletest_automation.model.failures import Category
from mobiletest_automation.model_ports import ModelFailed, ModelSession, ModelUsage, ScreenView
from mobiletest_automation.outcome import ResolutionCost, StepFailed, time_limit

NO_MODEL = (
    "no model is configured: set MOBILETEST_LLM_BASE_URL where the test runs (a worker or `mobiletest run --local`), "
    "or, in a start, fallback_trigger to never to use the rules only"
)


class ModelAccess:
    """The session, None if no model is configured."""

    def __init__(self, session: ModelSession | None) -> None:
        self._session = session

    @property
    def available(self) -> bool:
        return self._session is not None

    @property
    def step_seconds(self) -> float:
        """How long models may work on a step, in addition to the time that the step takes by itself."""
        return self._session.step_seconds if self._session is not None else 0.0

    def require(self, why: str) -> ModelSession:
        """The session.

        Raises:
            StepFailed: there is none (config_invalid).
        """
        if self._session is not None:
            return self._session
        raise StepFailed(
            Category.CONFIG_INVALID,
            f"this step needs a model: {why}; {NO_MODEL}",
            reason="this step needs a model, and none is configured",
        )

    @contextmanager
    def charged_to(self, cost: ResolutionCost) -> Iterator[None]:
        """Adds what models are asked inside to the cost; ModelFailed becomes StepFailed."""
        before = self._usage
        try:
            yield
        except ModelFailed as failed:
            raise StepFailed(failed.category, f"the model could not help: {failed.message}") from failed
        finally:
            cost.model_calls += self._usage.calls - before.calls
            cost.model_tokens += self._usage.tokens - before.tokens

    async def find_shortfall(self, sentence: str, before: ScreenView, after: ScreenView) -> str:
        """Why the sentence has not reached its aim, as a model judges; empty if it has."""
        session = self.require("enable_reflection is on")
        async with model_time_limit(session):
            judgement = await session.judge(sentence, before, after)
        return "" if judgement.reached else judgement.why or "the model gives no reason"

    @property
    def _usage(self) -> ModelUsage:
        return self._session.usage if self._session is not None else ModelUsage()


def model_time_limit(session: ModelSession) -> AbstractAsyncContextManager[None]:
    """Limits how long models work on one step."""
    return time_limit(session.step_seconds, "the model did not finish this step")
