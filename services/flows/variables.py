"""The variables of a running flow: its env, those of the flows around it, and the built-in ones."""

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
    """The values of the built-in variables, shared by all steps of an attempt; None if there is no value (yet)."""

    platform: str = ""
    app_id: str | None = None
    copied: str | None = None


@dataclass(frozen=True, slots=True)
class Scope:
    """Variables by name; unknown names are looked up in the outer scope."""

    built_in: BuiltInVariables = field(default_factory=BuiltInVariables)
    values: Mapping[str, str] = field(default_factory=dict)
    outer: "Scope | None" = None

    def within(self, values: Mapping[str, str]) -> "Scope":
        """The scope of a flow that runs inside this one."""
        return Scope(self.built_in, values, self) if values else self

    def lookup(self, name: str) -> Value:
        """The value of a variable. Raise UnknownVariable, with the most similar name, if it has none (yet)."""
        read = _BUILT_IN.get(name)
        if read is not None:
            value = read(self.built_in)
            if value is None:
                raise UnknownVariable(f"{name} has no value: {_WHY_MISSING[name]}")
            return value
        scope: Scope | None = self
        while scope is not None:
            if name in scope.values:
                return scope.values[name]
            scope = scope.outer
        raise UnknownVariable(f"there is no variable {quote(name)}{self._hint(name)}")

    def _hint(self, name: str) -> str:
        known = sorted(self._names())
        return (
            suggest(name, known)
            or f"; known: {', '.join(known[:20])}. Set variables under env of the flow or of runFlow"
        )

    def _names(self) -> set[str]:
        names = set(BUILT_IN)
        scope: Scope | None = self
        while scope is not None:
            names.update(scope.values)
            scope = scope.outer
        return names


_BUILT_IN: Mapping[str, Callable[[BuiltInVariables], str | None]] = {
    COPIED: lambda built_in: built_in.copied,
    PLATFORM: lambda built_in: built_in.platform,
    APP_ID: lambda built_in: built_in.app_id,
}
_WHY_MISSING = {
    COPIED: "nothing has been copied: use copyTextFrom first",
    PLATFORM: "there is no device",
    APP_ID: "the build has no package name",
}


def initial_scope(env: Iterable[tuple[str, str]], built_in: BuiltInVariables) -> Scope:
    """The variables that a flow begins with; each may use those before it. Raise DocumentError.

    `NAME: ${NAME}` declares a variable that is set from outside; if it is not, it remains unknown.
    """
    values: dict[str, str] = {}
    for name, raw in env:
        try:
            values[name] = parse_template(raw).fill(Scope(built_in, values).lookup)
        except ExpressionError as error:
            if not (isinstance(error, UnknownVariable) and raw.strip() == f"${{{name}}}"):
                raise DocumentError(f"env.{name}", None, None, str(error)) from error
    return Scope(built_in, values)
