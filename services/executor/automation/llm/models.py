"""The models of a deployment, and the conversations of one attempt with them."""

from pydantic import SecretStr

from services.executor.automation.llm.acting import ModelActing
from services.executor.automation.llm.client import ChatClient
from services.executor.automation.llm.conversing import Line
from services.executor.automation.llm.endpoint import Budget
from services.executor.automation.llm.planning import ModelPlanning
from services.executor.automation.llm.reflection import judge
from services.executor.automation.llm.spending import Spending
from services.executor.automation.llm.transcripts import Writer
from services.executor.automation.ports import (
    Acting,
    Advisor,
    ModelFailed,
    Planning,
    Spent,
    Task,
    Terms,
    Transcript,
    Verdict,
    View,
)
from services.executor.model.failures import Category
from services.executor.model.run_config import LlmConfig


class LanguageModels:
    """The port `Model` on an OpenAI-compatible endpoint."""

    def __init__(self, client: ChatClient, budget: Budget, secrets: tuple[SecretStr, ...] = ()) -> None:
        """`secrets` are masked in transcripts, as the endpoint's key is."""
        self._client = client
        self._budget = budget
        self._secrets = secrets

    def check(self) -> None:
        """Whether the endpoint answers is seen when it is asked."""

    def advisor(self, terms: Terms) -> Advisor:
        endpoint = self._client.endpoint
        writer = Writer((endpoint.key, *self._secrets))
        return ModelAdvisor(self._client, terms, Spending(self._budget), writer)


class ModelAdvisor:
    """The port `Advisor`."""

    def __init__(self, client: ChatClient, terms: Terms, spending: Spending, writer: Writer) -> None:
        self._client = client
        self._terms = terms
        self._spending = spending
        self._writer = writer
        self._names = _chosen(terms.config, client.endpoint.models)
        self.step_actions = spending.budget.step_actions
        self.step_seconds = spending.budget.step_seconds

    @property
    def spent(self) -> Spent:
        return self._spending.spent

    def acting(self, task: Task) -> Acting:
        return ModelActing(self._line(self._names.primary_model, "PRIMARY"), self._terms, task)

    def planning(self, goal: str) -> Planning:
        return ModelPlanning(self._line(self._names.planning_model, "PLANNING"), self._terms, goal)

    async def judge(self, sentence: str, before: View, after: View) -> Verdict:
        line = self._line(self._names.reflection_model, "REFLECTION")
        return await judge(line, self._terms, sentence, before, after)

    def transcript(self) -> Transcript:
        return self._writer.taken()

    def _line(self, model: str | None, role: str) -> Line:
        if not model:
            raise ModelFailed(
                Category.CONFIG_INVALID,
                f"no model is named: set MOBILETEST_LLM_{role}_MODEL, or {role.lower()}_model in llm_config",
            )
        return Line(self._client, model, self._spending, self._writer)


def _chosen(run: LlmConfig, deployment: LlmConfig) -> LlmConfig:
    """The names of the run before those of the deployment; for what neither says, the primary model."""
    primary = run.primary_model or deployment.primary_model
    return LlmConfig(
        primary_model=primary,
        reflection_model=run.reflection_model or deployment.reflection_model or primary,
        planning_model=run.planning_model or deployment.planning_model or primary,
    )
