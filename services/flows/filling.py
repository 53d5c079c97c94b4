"""Variables in the arguments of commands: found when a step is read, filled in when it is carried out."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from services.flows.nodes import Node
from services.flows.templates import is_template, parse_template
from services.flows.values import ExpressionError, Unknown

Fill = Callable[[str], str]

COMMANDS = "commands"
"""The argument that holds other steps: their variables are their own."""


def marked(node: Node) -> tuple[Node, bool]:
    """The node with every scalar that has variables marked as pending, and whether there is any."""

    def mark(scalar: Node) -> Node:
        if not isinstance(scalar.value, str) or not is_template(scalar.value):
            return scalar
        try:
            parse_template(scalar.value)
        except ExpressionError as error:
            raise scalar.fault(str(error)) from error
        return replace(scalar, pending=True)

    changed = _mapped(node, mark)
    return changed, changed is not node


def filled(node: Node, fill: Fill) -> Node:
    """The node with its pending scalars filled in; a value that reads true or false is one."""

    def put(scalar: Node) -> Node:
        if not scalar.pending:
            return scalar
        try:
            text = fill(scalar.written)
        except Unknown as error:
            raise scalar.fault(str(error)) from error
        except ExpressionError as error:
            raise scalar.fault(f"{error}, in {scalar.written}") from error
        value = {"true": True, "false": False}.get(text, text)
        return replace(scalar, value=value, written=text, pending=False, template=scalar.written)

    return _mapped(node, put)


def _mapped(node: Node, change: Callable[[Node], Node], *, outermost: bool = True) -> Node:
    """The node with its scalars changed, but for those of steps inside; the very same one where nothing changes."""
    match node.value:
        case Mapping() as entries:
            held = {
                name: child if outermost and name == COMMANDS else _mapped(child, change, outermost=False)
                for name, child in entries.items()
            }
            return replace(node, value=held) if any(held[name] is not entries[name] for name in held) else node
        case tuple() as items:
            others = tuple(_mapped(item, change, outermost=False) for item in items)
            return replace(node, value=others) if any(a is not b for a, b in zip(others, items, strict=True)) else node
        case _:
            return change(node)
