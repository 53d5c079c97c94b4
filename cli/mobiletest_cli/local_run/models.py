"""The language models that the environment names, by the variables of a server's workers."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import SecretStr

from mobiletest_automation.llm.budget import ModelBudget
from mobiletest_automation.llm.endpoint import ModelEndpoint
from mobiletest_automation.model.run_config import LlmConfig
from mobiletest_cli.errors import USAGE, CliError

PREFIX = "MOBILETEST_LLM_"


def read_endpoint(environ: Mapping[str, str]) -> ModelEndpoint:
    """The endpoint and its models. CliError: a number is none."""
    names = {role: environ.get(f"{PREFIX}{role.upper()}") or None for role in ("primary_model", "reflection_model")}
    return ModelEndpoint(
        base_url=environ[f"{PREFIX}BASE_URL"],
        key=SecretStr(environ.get(f"{PREFIX}API_KEY", "")),
        models=LlmConfig(**names, planning_model=environ.get(f"{PREFIX}PLANNING_MODEL") or None),
        timeout_seconds=_number(environ, "TIMEOUT_SECONDS", 60.0),
    )


def read_budget(environ: Mapping[str, str]) -> ModelBudget:
    """What an attempt may use. CliError: a number is none."""
    return ModelBudget(
        step_actions=int(_number(environ, "STEP_LIMIT", 15)),
        step_seconds=_number(environ, "STEP_SECONDS", 120.0),
        tokens=int(_number(environ, "TOKEN_LIMIT", 200_000)),
        seconds=_number(environ, "SECONDS_LIMIT", 300.0),
    )


def _number(environ: Mapping[str, str], name: str, default: float) -> float:
    text = environ.get(f"{PREFIX}{name}")
    try:
        number = float(text) if text else default
    except ValueError:
        number = -1.0
    if number < 0:
        raise CliError(f"{PREFIX}{name}={text} is not a number", USAGE)
    return number
