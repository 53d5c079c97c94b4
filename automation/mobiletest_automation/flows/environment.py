"""The variables that a test gets from outside of its flow: of a workflow, a start and the test itself.

A value is a text, names a secret of the organisation, {"secret": "staging-password"}, or is a text with declarations:
{"value": "4711", "secret": true, "variant": false}. `secret` masks the text, and `variant: false`, which may also stand
beside the name of a secret, says that the variable does not tell runs apart.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

from mobiletest_automation.flows.texts import cut

VariableValue: TypeAlias = str | dict[str, str | bool]
Environment: TypeAlias = Mapping[str, VariableValue]

NO_ENVIRONMENT: Environment = MappingProxyType({})
NAMES_LIMIT = 100
VALUE_BYTES = 8 * 1024
# Of all names and values together.
TOTAL_BYTES = 64 * 1024
# Shown instead of a text that is secret, by the name of its variable or by declaration.
MASK = "***"

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_TEXT, _SECRET_KEY, _VARIANT = "value", "secret", "variant"
_SHAPE = 'a string, {"secret": "NAME"} or {"value": "TEXT", "secret": true, "variant": false}'
_SECRET_REFERENCE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
# Names that the service itself gives a value.
BUILT_IN_NAMES = frozenset(
    {
        *("maestro", "output", "http", "json", "faker"),
        *("MAESTRO_APP_ID", "MAESTRO_DEVICE_UDID", "MAESTRO_FILENAME", "MAESTRO_SHARD_ID", "MAESTRO_SHARD_INDEX"),
    }
)

# Which names of variables say that their values are secret, as CI systems and loggers mask them.
_ANYWHERE = re.compile(
    r"passw(?:or)?d|passcode|passphrase|secret(?!ar)|token(?!i[sz])|credential|bearer|jwt"
    r"|(?:api|private|access|signing|encryption|client)_?key"
    r"|conn(?:ection)?_?str(?:ing)?(?![a-z])"
    r"|(?:database|db|mongo(?:db)?|postgres(?:ql)?|pg|mysql|redis|amqp|rabbitmq|jdbc)_?(?:url|uri|dsn)(?![a-z])"
    r"|(?:^|_)(?:pwd|pin|otp)(?:_|\d|$)",
    re.IGNORECASE | re.UNICODE,
)
# Words that say it at the end of a name, or before words that only say which one or in which form.
_LAST = frozenset(
    {
        *(
            "key",
            "keys",
            "auth",
            "authorization",
            "cookie",
            "cookies",
            "session",
            "sessionid",
            "sid",
            "signature",
            "sig",
        ),
        *("private", "pass", "pw", "pwd", "pin", "otp", "totp", "pat", "creds", "cred", "dsn", "salt", "csrf", "xsrf"),
        *("cvv", "cvc", "mnemonic"),
    }
)
_QUALIFIERS = frozenset(
    {
        *("id", "value", "header", "string", "b", "base", "hex", "json", "pem"),
        *("prod", "production", "staging", "stage", "dev", "test", "qa", "ci"),
    }
)
# A name that begins with one of these has a yes or no.
_FLAGS = frozenset(
    {"is", "has", "use", "uses", "with", "no", "needs", "requires", "require", "allow", "enable", "skip"}
)
# What is before "key" where it opens nothing.
_OTHER_KEYS = frozenset(
    {
        *("public", "primary", "foreign", "sort", "partition", "cache", "message", "translation", "feature", "flag"),
        *("press", "arrow", "enter", "return", "back", "home", "escape", "tab", "hot", "shortcut", "issue", "project"),
    }
)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


class InvalidEnvironment(ValueError):
    """Variables that cannot be used: `problems` are fields with what is wrong with them."""

    def __init__(self, problems: Sequence[tuple[str, str]]) -> None:
        super().__init__(": ".join(problems[0]))
        self.problems = problems


def text_of(value: VariableValue) -> str | None:
    """The text of a value; None for a reference to a secret."""
    if isinstance(value, str):
        return value
    text = value.get(_TEXT)
    return text if isinstance(text, str) else None


def is_secret_name(name: str) -> bool:
    """Whether the name of a variable says that its value is secret: PASSWORD, STRIPE_KEY, sessionCookie."""
    if _ANYWHERE.search(name):
        return True
    words = [word.lower() for word in _WORD.findall(name)]
    while len(words) > 1 and words[-1] in _QUALIFIERS:
        words.pop()
    if not words or words[-1] not in _LAST or words[0] in _FLAGS:
        return False
    return not (words[-1].startswith("key") and len(words) > 1 and words[-2] in _OTHER_KEYS)


def is_secret(name: str, value: VariableValue) -> bool:
    """Whether nobody may read the value: it is that of a secret, declared so, or the variable is named so."""
    return is_secret_name(name) or (not isinstance(value, str) and bool(value.get(_SECRET_KEY)))


def tells_runs_apart(value: VariableValue) -> bool:
    """Whether the variable counts for the variant of a run: it does unless it is declared with `variant: false`."""
    return isinstance(value, str) or value.get(_VARIANT) is not False


def override(below: Environment, above: Environment) -> dict[str, VariableValue]:
    """The variables of both; `above` has precedence. Texts stay declared as they are below."""
    return {**below, **{name: _with_declarations(below.get(name, ""), value) for name, value in above.items()}}


def _with_declarations(below: VariableValue, value: VariableValue) -> VariableValue:
    if isinstance(below, str):
        return value
    declared = {name: flag for name, flag in below.items() if isinstance(flag, bool)}
    if text_of(value) is None:
        declared.pop(_SECRET_KEY, None)
    own: Mapping[str, str | bool] = {_TEXT: value} if isinstance(value, str) else value
    return _simplest({**declared, **own})


def check_environment(values: Mapping[str, object], field: str, stored: Environment = NO_ENVIRONMENT) -> Environment:
    """The variables, those that are masked with their stored values.

    Raises:
        InvalidEnvironment: some are not valid; `field` names them.
    """
    if len(values) > NAMES_LIMIT:
        raise InvalidEnvironment([(field, f"has {len(values)} variables; at most {NAMES_LIMIT} are allowed")])
    problems: list[tuple[str, str]] = []
    checked: dict[str, VariableValue] = {}
    for name, given in sorted(values.items()):
        value = _restored(name, given, stored.get(name))
        problem = _name_problem(name) or _value_problem(name, value)
        if problem:
            problems.append((f"{field}.{name}" if _NAME.fullmatch(name) else field, problem))
        elif isinstance(value, str):
            checked[name] = value
        elif isinstance(value, Mapping):
            checked[name] = _simplest(value)
    if problems:
        raise InvalidEnvironment(problems)
    check_size(checked, field)
    return checked


def _restored(name: str, given: object, stored: VariableValue | None) -> object:
    """What was given, with the stored text for a mask that is sent back. That text stays declared as secret."""
    if stored is None or not is_secret(name, stored):
        return given
    if given == MASK:
        return stored
    text = text_of(stored)
    if text is None or not isinstance(given, Mapping) or given.get(_TEXT) != MASK:
        return given
    declared = {} if isinstance(stored, str) or not stored.get(_SECRET_KEY) else {_SECRET_KEY: True}
    return {**given, _TEXT: text, **declared}


def _simplest(value: Mapping[str, str | bool]) -> VariableValue:
    """The value without declarations that say nothing: a text if there are no others."""
    kept = {
        name: each
        for name, each in value.items()
        if isinstance(each, str) or (name, each) in ((_SECRET_KEY, True), (_VARIANT, False))
    }
    text = kept.get(_TEXT)
    return text if isinstance(text, str) and len(kept) == 1 else kept


def check_size(values: Environment, field: str) -> None:
    """Check the size of the variables together.

    Raises:
        InvalidEnvironment: they are too large together.
    """
    size = sum(map(_size, values)) + sum(
        _size(each) for value in values.values() for each in _texts(value) if isinstance(each, str)
    )
    if size > TOTAL_BYTES:
        message = f"has {size} bytes of names and values; at most {TOTAL_BYTES} are allowed"
        raise InvalidEnvironment([(field, message)])


def _texts(value: VariableValue) -> Iterable[str | bool]:
    return (value,) if isinstance(value, str) else value.values()


def mask_environment(values: Environment) -> Environment:
    """The variables as they may be shown."""
    return {name: _masked(value) if is_secret(name, value) else value for name, value in values.items()}


def _masked(value: VariableValue) -> VariableValue:
    if isinstance(value, str):
        return MASK
    return {**value, _TEXT: MASK} if _TEXT in value else value


def secrets_of(values: Environment) -> dict[str, str]:
    """The names of the secrets that the variables refer to, by the names of the variables."""
    return {
        name: str(value[_SECRET_KEY])
        for name, value in values.items()
        if not isinstance(value, str) and _TEXT not in value
    }


def secret_name_problem(name: str) -> str:
    """What is wrong with the name of a secret, or an empty text."""
    if _SECRET_REFERENCE.fullmatch(name):
        return ""
    return "must have 1 to 100 letters (A to Z), digits, _, . and -, and begin with a letter, a digit or _"


def _name_problem(name: str) -> str:
    if not _NAME.fullmatch(name):
        shown = name if len(name) <= 100 else f"{cut(name, 100)}…"
        return (
            f'"{shown}" is not a name for a variable: use 1 to 100 letters (A to Z), digits and _, not beginning '
            "with a digit"
        )
    if name in BUILT_IN_NAMES:
        return "is the name of a built-in variable; choose another name"
    return ""


def _value_problem(name: str, value: object) -> str:
    if isinstance(value, Mapping):
        return _declared_problem(name, value)
    return _text_problem(value, secret=is_secret_name(name))


def _text_problem(value: object, *, secret: bool) -> str:
    if isinstance(value, str):
        if value == MASK and secret:
            return f'"{MASK}" is shown instead of the value; send the value itself, or refer to a secret'
        size = _size(value)
        return f"has {size} bytes; at most {VALUE_BYTES} are allowed" if size > VALUE_BYTES else ""
    if isinstance(value, bool | int | float):
        text = str(value).lower() if isinstance(value, bool) else str(value)
        return f'must be a string: write "{text}" in quotes'
    return f"must be {_SHAPE}"


def _declared_problem(name: str, value: Mapping[str, object]) -> str:
    """What is wrong with a value that is an object."""
    secret, variant = value.get(_SECRET_KEY, False), value.get(_VARIANT, True)
    if not value.keys() <= {_TEXT, _SECRET_KEY, _VARIANT} or not isinstance(variant, bool):
        return f"must be {_SHAPE} and nothing else"
    if _TEXT not in value:
        if not isinstance(secret, str):
            return f"must be {_SHAPE}"
        problem = secret_name_problem(secret)
        return f"the name of a secret {problem}" if problem else ""
    if not isinstance(secret, bool):
        return 'has a value: "secret" must be true or false beside it, or name a secret instead of it'
    problem = _text_problem(value[_TEXT], secret=secret or is_secret_name(name))
    return f"value {problem}" if problem else ""


def _size(text: str) -> int:
    return len(text.encode(errors="surrogatepass"))
