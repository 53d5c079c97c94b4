"""Variables and the ${...} that use them: checked when a step is read, filled in when it runs."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from services.flows.expressions import Evaluate, Lookup, parse_expression
from services.flows.nodes import DocumentError, Node, quote, suggest
from services.flows.values import ExpressionError, UnknownVariable, Value, to_text

COPIED = "maestro.copiedText"
PLATFORM = "maestro.platform"
APP_ID = "MAESTRO_APP_ID"
_WHY_MISSING = {
    COPIED: "nothing has been copied: use copyTextFrom first",
    PLATFORM: "there is no device",
    APP_ID: "the build has no package name",
}

OPENING = "${"
TEXT_LIMIT = 20_000
COMMANDS = "commands"
"""The argument that holds other steps, whose variables are filled in when those steps run."""


@dataclass(slots=True)
class BuiltInVariables:
    """The values of the built-in variables, shared by all steps of an attempt; None if there is no value (yet)."""

    platform: str = ""
    app_id: str | None = None
    copied: str | None = None


@dataclass(frozen=True, slots=True)
class Scope:
    """The variables that a step can use, by name."""

    built_in: BuiltInVariables = field(default_factory=BuiltInVariables)
    values: Mapping[str, str] = field(default_factory=dict)

    def within(self, values: Mapping[str, str]) -> "Scope":
        """The scope of a flow that runs inside this one; its values hide those of the same names."""
        return Scope(self.built_in, {**self.values, **values})

    def lookup(self, name: str) -> Value:
        """The value of a variable. Raise UnknownVariable, with the most similar name, if it has none (yet)."""
        value = self._built_in().get(name, self.values.get(name))
        if value is not None:
            return value
        if name in _WHY_MISSING:
            raise UnknownVariable(f"{name} has no value: {_WHY_MISSING[name]}")
        known = sorted({*_WHY_MISSING, *self.values})
        hint = suggest(name, known) or (
            f"; known: {', '.join(known[:20])}. Set variables under env of the flow or of runFlow"
        )
        raise UnknownVariable(f"there is no variable {quote(name)}{hint}")

    def _built_in(self) -> Mapping[str, str | None]:
        return {COPIED: self.built_in.copied, PLATFORM: self.built_in.platform, APP_ID: self.built_in.app_id}


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


def mark_pending(node: Node) -> tuple[Node, bool]:
    """The node with every scalar that has variables marked as pending, and whether there are any."""

    def mark(scalar: Node) -> Node:
        if not isinstance(scalar.value, str) or not is_template(scalar.value):
            return scalar
        try:
            parse_template(scalar.value)
        except ExpressionError as error:
            raise scalar.error(str(error)) from error
        return replace(scalar, pending=True)

    changed = _map_scalars(node, mark)
    return changed, changed is not node


def fill_node(node: Node, fill: Callable[[str], str]) -> Node:
    """The node with its pending scalars filled in; the texts true and false become booleans."""

    def put(scalar: Node) -> Node:
        if not scalar.pending:
            return scalar
        try:
            text = fill(scalar.raw)
        except UnknownVariable as error:
            raise scalar.error(str(error)) from error
        except ExpressionError as error:
            raise scalar.error(f"{error}, in {scalar.raw}") from error
        value = {"true": True, "false": False}.get(text, text)
        return replace(scalar, value=value, raw=text, pending=False, template=scalar.raw)

    return _map_scalars(node, put)


def _map_scalars(node: Node, change: Callable[[Node], Node], *, outermost: bool = True) -> Node:
    """The node with its scalars changed, except those of inner steps; the same object if nothing changes."""
    match node.value:
        case Mapping() as entries:
            changed = {
                name: child if outermost and name == COMMANDS else _map_scalars(child, change, outermost=False)
                for name, child in entries.items()
            }
            return replace(node, value=changed) if any(changed[name] is not entries[name] for name in changed) else node
        case tuple() as items:
            others = tuple(_map_scalars(item, change, outermost=False) for item in items)
            return replace(node, value=others) if any(a is not b for a, b in zip(others, items, strict=True)) else node
        case _:
            return change(node)


def is_template(text: str) -> bool:
    return OPENING in text


@dataclass(frozen=True, slots=True)
class Template:
    """A text with ${...} in it, as literal texts and expressions in order; \\${ is a literal ${."""

    parts: tuple[str | Evaluate, ...]

    def fill(self, lookup: Lookup) -> str:
        """The text with all values filled in. Raise ExpressionError if one has none."""
        texts: list[str] = []
        left = TEXT_LIMIT
        for part in self.parts:
            texts.append(part if isinstance(part, str) else to_text(part(lookup)))
            left -= len(texts[-1])
            if left < 0:
                raise ExpressionError(f"the text becomes longer than {TEXT_LIMIT} characters")
        return "".join(texts)


def parse_template(text: str) -> Template:
    """The template. Raise ExpressionError if the content of ${...} is not an expression."""
    parts: list[str | Evaluate] = []
    position = 0
    while (found := text.find(OPENING, position)) >= 0:
        if text[position:found].endswith("\\"):
            parts.append(text[position : found - 1] + OPENING)
            position = found + len(OPENING)
            continue
        parts.append(text[position:found])
        expression, position = parse_expression(text, found + len(OPENING))
        parts.append(expression)
    return Template((*parts, text[position:]))
