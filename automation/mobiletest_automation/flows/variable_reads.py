"""Which variables from outside a stored test reads, found without running it: the identifiers in its JavaScript."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from mobiletest_automation.flows.templates import OPENING, Expression, identifiers, parse_template
from mobiletest_automation.flows.values import ExpressionError
from mobiletest_automation.flows.variables import HOOKS

_ENV = "env"
# The argument of runScript and evalScript, which is JavaScript outside of ${...} too.
_SCRIPT = "script"


def variables_read(steps: Sequence[object], names: Collection[str]) -> frozenset[str]:
    """Those of the names that the steps of a test use, their scripts, hooks and subflows included.

    A name that the header sets itself, `env: {USER: ada}`, hides the one from outside, unless the header uses it.
    """
    if not names:
        return frozenset()
    header = steps[0] if steps and isinstance(steps[0], Mapping) else {}
    own = header.get(_ENV)
    if not isinstance(own, Mapping):
        return _used(steps, names)
    of_header = _used([value for name, value in header.items() if name not in HOOKS], names)
    return of_header | (_used([*steps[1:], *(header.get(name) for name in HOOKS)], names) - own.keys())


def _used(value: object, names: Collection[str]) -> frozenset[str]:
    """Few texts have any of the names in them, so that few are read as JavaScript."""
    found: set[str] = set()
    for text, is_script in _texts(value):
        if any(name in text for name in names):
            found |= identifiers(text) if is_script else _in_template(text)
    return frozenset(found.intersection(names))


def _in_template(text: str) -> frozenset[str]:
    try:
        parts = parse_template(text).parts
    except ExpressionError:
        return identifiers(text)
    return frozenset[str]().union(*(identifiers(part.source) for part in parts if isinstance(part, Expression)))


def _texts(value: object) -> Iterator[tuple[str, bool]]:
    """The texts with JavaScript in them, and whether all of the text is a script."""
    waiting: list[tuple[object, bool]] = [(value, False)]
    while waiting:
        each, is_script = waiting.pop()
        match each:
            case str() if is_script or OPENING in each:
                yield each, is_script
            case Mapping():
                waiting += ((name, False) for name in each)
                waiting += ((child, name == _SCRIPT) for name, child in each.items())
            case list() | tuple():
                waiting += ((child, False) for child in each)
