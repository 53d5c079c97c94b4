"""The run configuration and its defaults; the limits of its values are defined in the protos."""

from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import TypeVar

from mobiletest_automation.flows.environment import Environment, override


class Grounder(StrEnum):
    """How the element that a sentence describes is found."""

    ACCESSIBILITY = "accessibility"
    LLM = "llm"
    VISION = "vision"


class CacheRetryMode(StrEnum):
    """What happens when a cached action fails."""

    NONE = "none"
    STEP = "step"
    FULL_RERUN = "full_rerun"


class FallbackTrigger(StrEnum):
    """When a model may be asked."""

    NEVER = "never"
    STEP_FAIL = "step_fail"
    FINAL_FAIL = "final_fail"


class Screens(StrEnum):
    """Of which steps the screens are kept."""

    ALL = "all"
    FAILED = "failed"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class LlmConfig:
    """Model names; None is the deployment's default."""

    primary_model: str | None = None
    reflection_model: str | None = None
    planning_model: str | None = None


@dataclass(frozen=True, slots=True)
class ExecutionMode:
    """How tests are run; None means that the field is not set."""

    human_in_the_loop: bool | None = None
    enable_reflection: bool | None = None
    enable_planning: bool | None = None
    retries: int | None = None
    reflection_retries: int | None = None
    skip_app_install: bool | None = None
    grounder_type: Grounder | None = None


@dataclass(frozen=True, slots=True)
class DismissDialogs:
    """Which dialogs of the system are dismissed when a step waits behind them; None means that the field is not set."""

    permission: bool | None = None
    other_app_crash: bool | None = None
    other_app_not_responding: bool | None = None


@dataclass(frozen=True, slots=True)
class RunConfig:
    """A run configuration as written; None means that the field is not set. `env` are variables of the tests.

    `screens` has no default here: it is the organisation's.
    """

    llm_config: LlmConfig = LlmConfig()
    execution_mode: ExecutionMode = ExecutionMode()
    run_id: str | None = None
    cache_retry_mode: CacheRetryMode | None = None
    fallback_trigger: FallbackTrigger | None = None
    disable_grid: bool | None = None
    env: Environment = field(default_factory=dict)
    screens: Screens | None = None
    dismiss_dialogs: DismissDialogs = DismissDialogs()


DEFAULTS = RunConfig(
    execution_mode=ExecutionMode(
        human_in_the_loop=False,
        enable_reflection=False,
        enable_planning=False,
        retries=1,
        reflection_retries=1,
        skip_app_install=False,
        grounder_type=Grounder.ACCESSIBILITY,
    ),
    cache_retry_mode=CacheRetryMode.STEP,
    fallback_trigger=FallbackTrigger.STEP_FAIL,
    disable_grid=False,
)

_NOTHING = RunConfig()

Part = TypeVar("Part", LlmConfig, ExecutionMode, DismissDialogs, RunConfig)


def with_defaults(*written: RunConfig) -> RunConfig:
    """The configurations merged over the defaults, field by field; later ones take precedence."""
    result = DEFAULTS
    for config in written:
        if config == _NOTHING:
            continue  # most starts write none
        result = replace(
            _over(result, config),
            llm_config=_over(result.llm_config, config.llm_config),
            execution_mode=_over(result.execution_mode, config.execution_mode),
            dismiss_dialogs=_over(result.dismiss_dialogs, config.dismiss_dialogs),
            env=override(result.env, config.env),
        )
    return result


def _over(below: Part, above: Part) -> Part:
    values = {each.name: value for each in fields(above) if (value := getattr(above, each.name)) is not None}
    return replace(below, **values)
