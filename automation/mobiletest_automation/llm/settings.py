"""The environment variables about language models, of workers and of runs without a server, and the endpoint that
they name.
"""

from dataclasses import dataclass, field
from urllib.parse import urlsplit

from pydantic import BaseModel, Field, SecretStr

from mobiletest_automation.llm.budget import ModelBudget
from mobiletest_automation.model.run_config import LlmConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelEndpoint:
    """An OpenAI-compatible endpoint. The operator sets it, so it may be on a private network.

    `models` are the deployment's defaults; a missing reflection or planning model is the primary one.
    """

    base_url: str
    key: SecretStr = field(default=SecretStr(""), repr=False)
    models: LlmConfig = LlmConfig()  # noqa: RUF009 (frozen)
    timeout_seconds: float = 60.0

    @property
    def url(self) -> str:
        """The URL of chat completions; a base URL without a path gets /v1."""
        base = self.base_url.rstrip("/")
        return f"{base}/chat/completions" if urlsplit(base).path else f"{base}/v1/chat/completions"


class ModelSettings(BaseModel):
    """The variable of a field has its name in capitals behind MOBILETEST_."""

    llm_base_url: str | None = None
    """An OpenAI-compatible endpoint, such as http://localhost:11434/v1; without it no models are used."""
    llm_api_key: SecretStr = SecretStr("")
    """The key of that endpoint, if it needs one."""
    llm_primary_model: str | None = None
    """The model for steps, when llm_config names none."""
    llm_reflection_model: str | None = None
    """The model that checks what was done; by default the primary one."""
    llm_planning_model: str | None = None
    """The model that plans goals; by default the primary one."""
    llm_timeout_seconds: float = Field(default=60.0, gt=0)
    """The time limit of one call of a model."""
    llm_step_limit: int = Field(default=15, ge=1, le=100)
    """How many actions a model may take for one step."""
    llm_step_seconds: float = Field(default=120.0, gt=0)
    """How long models may work on one step."""
    llm_token_limit: int = Field(default=200_000, ge=0)
    """The token budget of models in one attempt."""
    llm_seconds_limit: float = Field(default=300.0, gt=0)
    """The time budget of models in one attempt."""

    @property
    def llm_endpoint(self) -> ModelEndpoint | None:
        if not self.llm_base_url:
            return None
        models = LlmConfig(
            primary_model=self.llm_primary_model,
            reflection_model=self.llm_reflection_model,
            planning_model=self.llm_planning_model,
        )
        return ModelEndpoint(
            base_url=self.llm_base_url, key=self.llm_api_key, models=models, timeout_seconds=self.llm_timeout_seconds
        )

    @property
    def llm_budget(self) -> ModelBudget:
        return ModelBudget(
            step_actions=self.llm_step_limit,
            step_seconds=self.llm_step_seconds,
            tokens=self.llm_token_limit,
            seconds=self.llm_seconds_limit,
        )
