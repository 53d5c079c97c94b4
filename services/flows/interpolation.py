"""${...} in the arguments of commands: checked when a step is read, filled in when it runs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from services.flows.expressions import Evaluate, Lookup, parse_expression
from services.flows.nodes import Node
from services.flows.values import ExpressionError, UnknownVariable, to_text

Fill = Callable[[str], str]

COMMANDS = "commands"
"""The argument that holds other steps, whose variables are filled in when those steps run."""


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


def fill_node(node: Node, fill: Fill) -> Node:
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


OPENING = "${"
TEXT_LIMIT = 20_000
CACHED_LENGTH = 500


def is_template(text: str) -> bool:
    return OPENING in text


@dataclass(frozen=True, slots=True)
class Template:
    """A text with ${...} in it, as literal texts and expressions in order; \\${ is a literal ${."""

    parts: tuple[str | Evaluate, ...]

    def fill(self, lookup: Lookup) -> str:
        """The text with all values filled in. Raise ExpressionError if one has none."""
        text = "".join(part if isinstance(part, str) else to_text(part(lookup)) for part in self.parts)
        if len(text) > TEXT_LIMIT:
            raise ExpressionError(f"the text becomes longer than {TEXT_LIMIT} characters")
        return text


def parse_template(text: str) -> Template:
    """The template. Raise ExpressionError if the content of ${...} is not an expression."""
    return _parse_cached(text) if len(text) <= CACHED_LENGTH else _parse(text)


@lru_cache(maxsize=1024)
def _parse_cached(text: str) -> Template:
    return _parse(text)


def _parse(text: str) -> Template:
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
