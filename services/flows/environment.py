"""The variables that a test gets from outside of its flow: of a workflow, a start and the test itself.

A value is a text, or names a secret of the organisation: {"secret": "staging-password"}.
"""

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

Environment: TypeAlias = Mapping[str, str | dict[str, str]]

NO_ENVIRONMENT: Environment = MappingProxyType({})
NAMES_LIMIT = 100
VALUE_BYTES = 8 * 1024
TOTAL_BYTES = 64 * 1024
"""Of all names and values together."""
MASK = "***"
"""Shown instead of the value of a variable whose name is that of a secret."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_REFERENCE = "secret"
_SECRET = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
_BUILT_IN = frozenset(
    {
        *("maestro", "output", "http", "json", "faker"),
        *("MAESTRO_APP_ID", "MAESTRO_DEVICE_UDID", "MAESTRO_FILENAME", "MAESTRO_SHARD_ID", "MAESTRO_SHARD_INDEX"),
    }
)
_SECRET_NAME = re.compile(
    r"passw(?:or)?d|passcode|passphrase|secret|token|credential|api_?key|private_?key|(?:^|_)(?:pwd|pin|otp)(?:_|\d|$)",
    re.IGNORECASE,
)


class InvalidEnvironment(ValueError):
    """Variables that cannot be used: `problems` are fields with what is wrong with them."""

    def __init__(self, problems: Sequence[tuple[str, str]]) -> None:
        super().__init__(": ".join(problems[0]))
        self.problems = problems


def is_secret_name(name: str) -> bool:
    """Whether the name of a variable says that its value is secret: PASSWORD, API_TOKEN, pin."""
    return _SECRET_NAME.search(name) is not None


def check_environment(values: Mapping[str, object], field: str, stored: Environment = NO_ENVIRONMENT) -> Environment:
    """The variables, those that are masked with their stored values. Raise InvalidEnvironment; `field` names them."""
    if len(values) > NAMES_LIMIT:
        raise InvalidEnvironment([(field, f"has {len(values)} variables; at most {NAMES_LIMIT} are allowed")])
    problems: list[tuple[str, str]] = []
    checked: dict[str, str | dict[str, str]] = {}
    for name, given in sorted(values.items()):
        value = stored.get(name, given) if given == MASK and is_secret_name(name) else given
        problem = _name_problem(name) or _value_problem(name, value)
        if problem:
            problems.append((f"{field}.{name[:100]}" if _NAME.fullmatch(name) else field, problem))
        elif isinstance(value, str | dict):
            checked[name] = value
    if problems:
        raise InvalidEnvironment(problems)
    check_size(checked, field)
    return checked


def check_size(values: Environment, field: str) -> None:
    """Raise InvalidEnvironment if the variables are too large together."""
    size = sum(map(_size, values)) + sum(
        _size(value if isinstance(value, str) else value[_REFERENCE]) for value in values.values()
    )
    if size > TOTAL_BYTES:
        message = f"has {size} bytes of names and values; at most {TOTAL_BYTES} are allowed"
        raise InvalidEnvironment([(field, message)])


def mask_environment(values: Environment) -> Environment:
    """The variables as they may be shown."""
    return {name: MASK if isinstance(value, str) and is_secret_name(name) else value for name, value in values.items()}


def secrets_of(values: Environment) -> dict[str, str]:
    """The names of the secrets that the variables refer to, by the names of the variables."""
    return {name: value[_REFERENCE] for name, value in values.items() if not isinstance(value, str)}


def secret_name_problem(name: str) -> str:
    """What is wrong with the name of a secret, or an empty text."""
    if _SECRET.fullmatch(name):
        return ""
    return "must have 1 to 100 letters (A to Z), digits, _, . and -, and begin with a letter, a digit or _"


def _name_problem(name: str) -> str:
    if not _NAME.fullmatch(name):
        shown = name if len(name) <= 100 else f"{name[:100]}…"
        return (
            f'"{shown}" is not a name for a variable: use 1 to 100 letters (A to Z), digits and _, not beginning '
            "with a digit"
        )
    if name in _BUILT_IN:
        return "is the name of a built-in variable; choose another name"
    return ""


def _value_problem(name: str, value: object) -> str:
    if isinstance(value, str):
        if value == MASK and is_secret_name(name):
            return f'"{MASK}" is shown instead of the value; send the value itself, or refer to a secret'
        size = _size(value)
        return f"has {size} bytes; at most {VALUE_BYTES} are allowed" if size > VALUE_BYTES else ""
    if isinstance(value, Mapping):
        return _reference_problem(value)
    if isinstance(value, bool | int | float):
        text = str(value).lower() if isinstance(value, bool) else str(value)
        return f'must be a string: write "{text}" in quotes'
    return 'must be a string, or {"secret": "NAME"}'


def _reference_problem(value: Mapping[str, object]) -> str:
    named = value.get(_REFERENCE)
    if list(value) != [_REFERENCE] or not isinstance(named, str):
        return 'must be a string, or {"secret": "NAME"} and nothing else'
    problem = secret_name_problem(named)
    return f"the name of a secret {problem}" if problem else ""


def _size(text: str) -> int:
    return len(text.encode(errors="surrogatepass"))
