"""The endpoint of language models that the settings name."""

from dataclasses import dataclass, field
from urllib.parse import urlsplit

from pydantic import SecretStr

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
