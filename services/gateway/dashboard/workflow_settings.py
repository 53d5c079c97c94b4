"""The settings of a workflow as a form shows them: fields of run_config, and variables as lines."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

YES_OR_NO = (("true", "yes"), ("false", "no"))
_UP_TO_FIVE = tuple((str(number), str(number)) for number in range(6))


@dataclass(frozen=True, slots=True)
class Setting:
    """A field of run_config: its path, its name for people, what can be chosen (value, text), and its value as a text.

    Without choices the value is a text; an empty value is what `default` says.
    """

    path: str
    label: str
    default: str
    choices: Sequence[tuple[str, str]] = ()
    kind: str = "text"
    is_advanced: bool = False
    value: str = ""

    @property
    def shown(self) -> str:
        """The value as people read it."""
        return next((text for value, text in self.choices if value == self.value), self.value)


def _flag(path: str, label: str, default: str = "no", *, is_advanced: bool = True) -> Setting:
    return Setting(path, label, default, YES_OR_NO, "boolean", is_advanced)


SETTINGS = (
    Setting("execution_mode.retries", "Retries of a failed test", "1", _UP_TO_FIVE, "number"),
    Setting(
        "screens",
        "Screens are kept of",
        "the organisation's setting",
        (("all", "all steps"), ("failed", "failed attempts"), ("off", "nothing")),
    ),
    _flag("dismiss_dialogs.permission", "Permissions that Android asks for are denied", is_advanced=False),
    _flag("dismiss_dialogs.other_app_crash", "A crash of another app is closed", is_advanced=False),
    _flag(
        "dismiss_dialogs.other_app_not_responding", "Another app that does not respond is waited for", is_advanced=False
    ),
    _flag("execution_mode.human_in_the_loop", "A step that cannot continue asks a person"),
    Setting(
        "fallback_trigger",
        "A language model is used",
        "when a step fails",
        (("never", "never"), ("step_fail", "when a step fails"), ("final_fail", "in one more attempt at the end")),
        is_advanced=True,
    ),
    Setting(
        "cache_retry_mode",
        "When a cached action fails",
        "the step is resolved again",
        (("none", "the step fails"), ("step", "the step is resolved again"), ("full_rerun", "a new attempt is made")),
        is_advanced=True,
    ),
    Setting(
        "execution_mode.grounder_type",
        "Elements are found by",
        "rules",
        (("accessibility", "rules"), ("llm", "a language model"), ("vision", "a vision model")),
        is_advanced=True,
    ),
    _flag("execution_mode.enable_reflection", "A model judges the effect of each step"),
    Setting(
        "execution_mode.reflection_retries", "Retries of a step judged as failed", "none", _UP_TO_FIVE, "number", True
    ),
    _flag("execution_mode.enable_planning", "A model may plan the steps for a goal"),
    _flag("execution_mode.skip_app_install", "The app that is installed already is used"),
    _flag("disable_grid", "Screenshots for vision models have no grid"),
    Setting("llm_config.primary_model", "Model for actions", "that of the deployment", is_advanced=True),
    Setting("llm_config.reflection_model", "Model for reflection", "that of the deployment", is_advanced=True),
    Setting("llm_config.planning_model", "Model for planning", "that of the deployment", is_advanced=True),
)


def settings_of(run_config: Mapping[str, Any] | None) -> list[Setting]:
    """All settings with the values of a run configuration."""
    return [_with_value(setting, run_config or {}) for setting in SETTINGS]


def _with_value(setting: Setting, run_config: Mapping[str, Any]) -> Setting:
    *folders, name = setting.path.split(".")
    place: Any = run_config
    for folder in folders:
        place = place.get(folder) or {}
    return _at(setting, place.get(name))


def _at(setting: Setting, value: Any) -> Setting:
    text = "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    fields = (setting.path, setting.label, setting.default, setting.choices, setting.kind, setting.is_advanced)
    return Setting(*fields, text)


def env_lines(env: Mapping[str, Any] | None) -> str:
    """Variables as lines NAME=value; a value with a declaration, or that would read as one, is a JSON object."""
    return "\n".join(f"{name}={_line_value(value)}" for name, value in (env or {}).items())


def _line_value(value: Any) -> str:
    if isinstance(value, str):
        is_plain = not value.startswith("{") and "\n" not in value and "\r" not in value and value == value.strip()
        return value if is_plain else orjson.dumps({"value": value}).decode()
    if set(value) == {"secret"} and isinstance(value["secret"], str):
        return f"{{secret: {value['secret']}}}"
    return orjson.dumps(value).decode()
