"""The language models that the environment names, by the variables of a server's workers."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AsyncExitStack

from pydantic import ValidationError

from mobiletest_automation.llm.chat_client import open_client
from mobiletest_automation.llm.language_models import LanguageModels
from mobiletest_automation.llm.settings import ModelSettings
from mobiletest_automation.model_ports import ModelProvider
from mobiletest_cli.errors import USAGE, CliError

PREFIX = "MOBILETEST_"


def read_settings(environ: Mapping[str, str]) -> ModelSettings:
    """What the environment says of models.

    Raises:
        CliError: a variable has a value that cannot be used.
    """
    names = {field: f"{PREFIX}{field.upper()}" for field in ModelSettings.model_fields}
    try:
        return ModelSettings.model_validate(
            {field: environ[name] for field, name in names.items() if environ.get(name)}
        )
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = names[str(first["loc"][0])]
        raise CliError(f"{name}={environ[name]}: {first['msg']}", USAGE) from None


async def open_models(stack: AsyncExitStack, settings: ModelSettings) -> ModelProvider | None:
    """The models, until the stack is closed; None without an endpoint."""
    endpoint = settings.llm_endpoint
    if endpoint is None:
        return None
    return LanguageModels(await stack.enter_async_context(open_client(endpoint)), settings.llm_budget)
