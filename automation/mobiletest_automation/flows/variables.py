"""Variables, and the scalars of steps that use them: marked when a step is read, filled in when it runs.

Which variables from outside a stored test reads is found without running it: by the identifiers in its JavaScript.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from mobiletest_automation.flows.nodes import Node, quote
from mobiletest_automation.flows.selectors import VALUE_LIMIT
from mobiletest_automation.flows.templates import (
    OPENING,
    Expression,
    ExpressionError,
    identifiers,
    is_template,
    parse_template,
)

VARIABLE_NAME = re.compile(r"[A-Za-z_]\w{0,99}", re.ASCII)
# A name with a hyphen cannot be used in an expression, but a flow may have it.
_ENV_NAME = re.compile(r"[A-Za-z_][\w-]{0,99}", re.ASCII)
VARIABLE_NAME_HINT = "use letters, digits and _, not beginning with a digit"
INNER_COMMANDS = "commands"
# The arguments that hold other steps, whose variables are filled in when those steps run.
ON_COMPLETE = "onFlowComplete"
# Keys of the steps that run before and after those of the flow.
HOOKS = ("onFlowStart", ON_COMPLETE)
ENV_LIMIT = 200
# Arguments that are evaluated by the command itself: other steps, variables in their order, and scripts.
UNFILLED = (INNER_COMMANDS, ON_COMPLETE, "env", "script")

# The argument (of launchApp) whose names are the test's, and may have variables.
NAMES_OF_TEST = "arguments"


@dataclass(slots=True)
class BuiltInVariables:
    """The values of the built-in variables, shared by all steps of an attempt.

    `copied` is None until something is copied; `named` are those with names of their own, MAESTRO_APP_ID and others.
    """

    platform: str = ""
    copied: str | None = None
    named: Mapping[str, str] = field(default_factory=dict)

    def add_device(self, platform: str, udid: str) -> None:
        """The device that runs the flow: its platform is android, ios or web."""
        self.platform = platform
        self.named = {**self.named, "MAESTRO_DEVICE_UDID": udid}


@dataclass(frozen=True, slots=True)
class VariableScope:
    """The variables that a step can use, by name."""

    built_in: BuiltInVariables = field(default_factory=BuiltInVariables)
    values: Mapping[str, str] = field(default_factory=dict)

    @property
    def variables(self) -> Mapping[str, str]:
        """All values by name; no variable hides a built-in one."""
        return {**self.values, **self.built_in.named}

    def within(self, values: Mapping[str, str]) -> "VariableScope":
        """The scope of a flow that runs inside this one; its values hide those of the same names."""
        return VariableScope(self.built_in, {**self.values, **values})


def mark_pending(node: Node) -> tuple[Node, bool]:
    """The node with every scalar that has variables marked as pending, and whether there are any."""

    def mark(scalar: Node) -> Node:
        if not isinstance(scalar.value, str) or not is_template(scalar.value):
            return scalar
        check_template(scalar)
        return replace(scalar, pending=True)

    changed = _map_scalars(node, mark)
    return changed, changed is not node


def check_template(scalar: Node) -> None:
    """Check that each ${ in the text has an end.

    Raises:
        DocumentError: a ${ in the text has no end.
    """
    try:
        parse_template(scalar.raw)
    except ExpressionError as error:
        raise scalar.error(str(error)) from error


def read_env(node: Node) -> tuple[tuple[str, str], ...]:
    """Names and templates of variables; numbers are taken as they were written."""
    entries = node.mapping()
    if len(entries) > ENV_LIMIT:
        raise node.error(f"more than {ENV_LIMIT} variables")
    for name, value in entries.items():
        if not _ENV_NAME.fullmatch(name):
            raise value.error_at_key(
                f"{quote(name)} is not a name for a variable: use letters, digits, _ and -, not beginning with a digit"
            )
    return tuple((name, _read_value(name, value)) for name, value in entries.items())


def _read_value(name: str, node: Node) -> str:
    """The template of a value. What has none was forgotten: taken as an empty text, it would make checks pass."""
    if node.is_null:
        raise node.error_at_key(f'the variable {name} has no value: write {name}: "" for an empty text')
    node.string(limit=VALUE_LIMIT)
    check_template(node)
    return node.raw


def pending_scalars(node: Node) -> tuple[Node, ...]:
    """The scalars of a node that have variables, in the order in which `fill_node` takes their texts."""
    nodes: list[Node] = []

    def collect(scalar: Node) -> Node:
        nodes.extend((scalar,) * scalar.pending)
        return scalar

    _map_scalars(node, collect)
    return tuple(nodes)


def fill_node(node: Node, texts: Sequence[str]) -> Node:
    """The node with the texts of its pending scalars.

    Raises:
        DocumentError: two names become one.
    """
    remaining: Iterator[str] = iter(texts)

    def put(scalar: Node) -> Node:
        if not scalar.pending:
            return scalar
        text = next(remaining)
        return replace(scalar, value=text, raw=text, pending=False, template=scalar.raw)

    return _map_scalars(node, put)


def _map_scalars(node: Node, change: Callable[[Node], Node], path: tuple[str, ...] = ()) -> Node:
    """The node with its scalars changed, except UNFILLED ones; the same object if nothing changes."""
    match node.value:
        case Mapping() as entries:
            changed = _map_names(entries, change) if path == (NAMES_OF_TEST,) else _map_values(entries, change, path)
            same = len(changed) == len(entries) and all(entries.get(name) is changed[name] for name in changed)
            return node if same else replace(node, value=changed)
        case tuple() as items:
            others = tuple(_map_scalars(item, change, (*path, "")) for item in items)
            return replace(node, value=others) if any(a is not b for a, b in zip(others, items, strict=True)) else node
        case _:
            return change(node)


def _map_values(entries: Mapping[str, Node], change: Callable[[Node], Node], path: tuple[str, ...]) -> dict[str, Node]:
    """Entries with changed values: their names are those of fields, or of permissions, as they are written."""
    return {
        name: child if not path and name in UNFILLED else _map_scalars(child, change, (*path, name))
        for name, child in entries.items()
    }


def _map_names(entries: Mapping[str, Node], change: Callable[[Node], Node]) -> dict[str, Node]:
    """Entries with changed names and values."""
    changed: dict[str, Node] = {}
    for name, child in entries.items():
        key = change(Node(name, child.key_location or child.location, name, pending=child.pending_key))
        if key.raw in changed:
            raise key.error(f"duplicate key {quote(key.raw)}, once the variables of {quote(name)} are filled in")
        value = _map_scalars(child, change, (NAMES_OF_TEST, name))
        changed[key.raw] = value if key.pending == child.pending_key else replace(value, pending_key=key.pending)
    return changed


def variables_read(steps: Sequence[object], names: Collection[str]) -> frozenset[str]:
    """Those of the names that the steps of a test use, their scripts, hooks and subflows included.

    A name that the header sets itself, `env: {USER: ada}`, hides the one from outside, unless the header uses it.
    """
    if not names:
        return frozenset()
    header = steps[0] if steps and isinstance(steps[0], Mapping) else {}
    own = header.get("env")
    if not isinstance(own, Mapping):
        return _used(steps, names)
    of_header = _used([value for name, value in header.items() if name not in HOOKS], names)
    return of_header | (_used([*steps[1:], *(header.get(name) for name in HOOKS)], names) - own.keys())


def _used(value: object, names: Collection[str]) -> frozenset[str]:
    """Few texts have any of the names in them, so that few are read as JavaScript."""
    used: set[str] = set()
    for text, is_script in _texts(value):
        if any(name in text for name in names):
            used |= identifiers(text) if is_script else _in_template(text)
    return frozenset(used.intersection(names))


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
        inner, is_script = waiting.pop()
        match inner:
            case str() if is_script or OPENING in inner:
                yield inner, is_script
            case Mapping():
                waiting += ((name, False) for name in inner)
                waiting += ((child, name == "script") for name, child in inner.items())
            case list() | tuple():
                waiting += ((child, False) for child in inner)
