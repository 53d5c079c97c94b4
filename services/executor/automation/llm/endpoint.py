"""Where the models are, which ones, and what they may cost."""

from dataclasses import dataclass, field
from urllib.parse import urlsplit

from pydantic import SecretStr

from services.executor.model.run_config import LlmConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelEndpoint:
    """An OpenAI-compatible endpoint. It is the operator's setting, so it may be on a private network.

    `models` are the deployment's defaults; a missing one for reflection or planning is the primary one.
    """

    base_url: str
    key: SecretStr = field(default=SecretStr(""), repr=False)
    models: LlmConfig = LlmConfig()  # noqa: RUF009 (frozen)
    timeout_seconds: float = 60.0

    @property
    def url(self) -> str:
        """Of chat completions; a base without a path gets /v1, as is usual."""
        base = self.base_url.rstrip("/")
        return f"{base}/chat/completions" if urlsplit(base).path else f"{base}/v1/chat/completions"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelBudget:
    """What models may take: actions and seconds for one step, tokens and seconds for one attempt."""

    step_actions: int = 15
    step_seconds: float = 120.0
    tokens: int = 200_000
    seconds: float = 300.0
