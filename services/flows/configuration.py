"""The configuration of a flow: its app, name, tags, variables, and the steps that run before and after it."""

import re
from collections.abc import Callable, Collection, Mapping

from services.flows.nodes import Node, quote, read_optional
from services.flows.selectors import VALUE_LIMIT
from services.flows.steps import Flow, Step
from services.flows.variables import mark_pending

CONFIGURATION_KEYS = ("appId", "url", "name", "tags", "env", "onFlowStart", "onFlowComplete")
HOOKS = ("onFlowStart", "onFlowComplete")
"""Keys of the steps that run before and after those of the flow."""

NAME_LIMIT = 200
TAGS_LIMIT = 50
TAG_LIMIT = 100
APP_LIMIT = 500
ENV_LIMIT = 200

_PLATFORMS = ("android", "ios", "web")
_VARIABLE = re.compile(r"[A-Za-z_]\w{0,99}", re.ASCII)

StepsReader = Callable[[Node], tuple[Step, ...]]


def is_configuration(node: Node, commands: Collection[str]) -> bool:
    """Whether an entry of a list of steps is a configuration: it has one of the keys and no command."""
    return (
        isinstance(node.value, Mapping)
        and not set(node.value) & set(commands)
        and bool(set(node.value) & set(CONFIGURATION_KEYS))
    )


def read_configuration(node: Node, inside: StepsReader) -> Flow:
    """A flow without steps. Raise DocumentError."""
    node.fields(CONFIGURATION_KEYS)
    without_hooks = {name: child for name, child in node.mapping().items() if name not in HOOKS}
    entries = mark_pending(Node(without_hooks, node.location))[0].mapping()
    hooks = node.mapping()
    return Flow(
        steps=(),
        app_ids=(read_optional(entries, "appId", _read_app_ids) or frozenset())
        | (read_optional(entries, "url", _read_app_ids) or frozenset()),
        name=read_optional(entries, "name", lambda value: value.string(limit=NAME_LIMIT).strip()) or None,
        tags=read_optional(entries, "tags", lambda value: value.texts(limit=TAGS_LIMIT, each=TAG_LIMIT)) or (),
        env=read_optional(entries, "env", read_env) or (),
        on_start=read_optional(hooks, "onFlowStart", inside) or (),
        on_complete=read_optional(hooks, "onFlowComplete", inside) or (),
    )


def _read_app_ids(node: Node) -> frozenset[str]:
    """One id for all platforms, or one for each."""
    nodes = node.fields(_PLATFORMS).values() if node.is_mapping else [node]
    return frozenset(each.string(limit=APP_LIMIT).strip() for each in nodes if each.string(limit=APP_LIMIT).strip())


def read_env(node: Node) -> tuple[tuple[str, str], ...]:
    """Names and values of variables; numbers are taken as they were written."""
    entries = node.mapping()
    if len(entries) > ENV_LIMIT:
        raise node.error(f"more than {ENV_LIMIT} variables")
    for name, value in entries.items():
        if not _VARIABLE.fullmatch(name):
            raise value.error_at_key(
                f"{quote(name)} is not a name for a variable: use letters, digits and _, not beginning with a digit"
            )
    return tuple((name, "" if value.is_null else value.string(limit=VALUE_LIMIT)) for name, value in entries.items())
