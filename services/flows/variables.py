"""The variables of a running flow: its env, those of the flows that it runs inside, and what was copied."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from services.flows.interpolation import parse_template
from services.flows.nodes import DocumentError, quote, suggest
from services.flows.values import ExpressionError, UnknownVariable, Value

COPIED = "maestro.copiedText"
PLATFORM = "maestro.platform"
APP_ID = "MAESTRO_APP_ID"
BUILT_IN = (COPIED, PLATFORM, APP_ID)


@dataclass(slots=True)
class BuiltInVariables:
    """What the steps of one attempt share: the platform, the id of the app (None: not known), and the text that was
    copied last (None: none was).
    """

    platform: str = ""
    app_id: str | None = None
    copied: str | None = None


@dataclass(frozen=True, slots=True)
class Scope:
    """Names and values; what is not known here is asked of the flow around it."""

    memory: BuiltInVariables = field(default_factory=BuiltInVariables)
    values: Mapping[str, str] = field(default_factory=dict)
    around: "Scope | None" = None

    def within(self, values: Mapping[str, str]) -> "Scope":
        """The scope of a flow inside this one."""
        return Scope(self.memory, values, self) if values else self

    def lookup(self, name: str) -> Value:
        """Unknown, naming the nearest known one; copied text is unknown until something was copied."""
        built_in = _BUILT_IN.get(name)
        if built_in is not None:
            value = built_in(self.memory)
            if value is None:
                raise UnknownVariable(f"{name} has no value: {_WHY_MISSING[name]}")
            return value
        scope: Scope | None = self
        while scope is not None:
            if name in scope.values:
                return scope.values[name]
            scope = scope.around
        raise UnknownVariable(f"there is no variable {quote(name)}{self._hint(name)}")

    def _hint(self, name: str) -> str:
        known = sorted(self._names())
        near = suggest(name, known)
        return near or f"; known: {', '.join(known[:20])}. Variables are given under env of the flow, or of runFlow"

    def _names(self) -> set[str]:
        names = set(BUILT_IN)
        scope: Scope | None = self
        while scope is not None:
            names.update(scope.values)
            scope = scope.around
        return names


_BUILT_IN: Mapping[str, Callable[[BuiltInVariables], str | None]] = {
    COPIED: lambda memory: memory.copied,
    PLATFORM: lambda memory: memory.platform,
    APP_ID: lambda memory: memory.app_id,
}
_WHY_MISSING = {COPIED: "copyTextFrom comes first", PLATFORM: "no device is known", APP_ID: "the build names none"}


def initial_scope(env: Iterable[tuple[str, str]], memory: BuiltInVariables) -> Scope:
    """The variables that a flow begins with; each may use those before it. DocumentError.

    One that stands for itself (`NAME: ${NAME}`) is to be given from outside: where it is not, there is none.
    """
    values: dict[str, str] = {}
    for name, raw in env:
        try:
            values[name] = parse_template(raw).fill(Scope(memory, values).lookup)
        except ExpressionError as error:
            if not (isinstance(error, UnknownVariable) and raw.strip() == f"${{{name}}}"):
                raise DocumentError(f"env.{name}", None, None, str(error)) from error
    return Scope(memory, values)
