"""The configuration of a flow: its app, name, tags, variables, and the steps that run before and after it."""

from collections.abc import Callable, Collection, Mapping

from services.flows.argument_readers import read_env
from services.flows.interpolation import mark_pending
from services.flows.nodes import Node, read_optional
from services.flows.steps import Flow, Step

CONFIGURATION_KEYS = ("appId", "url", "name", "tags", "env", "onFlowStart", "onFlowComplete")
HOOKS = ("onFlowStart", "onFlowComplete")
"""Keys of the steps that run before and after those of the flow."""

NAME_LIMIT = 200
TAGS_LIMIT = 50
TAG_LIMIT = 100
APP_LIMIT = 500

_PLATFORMS = ("android", "ios", "web")

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
