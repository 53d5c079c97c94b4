"""What a Maestro file says before its commands: the app, a name, tags, variables, what runs before and after."""

from collections.abc import Callable, Collection, Mapping

from services.flows.commands import Flow, Step
from services.flows.filling import marked
from services.flows.nodes import Node, given
from services.flows.reading import env

KEYS = ("appId", "url", "name", "tags", "env", "onFlowStart", "onFlowComplete")
NAME_LIMIT = 200
TAGS_LIMIT = 50
TAG_LIMIT = 100
APP_LIMIT = 500

_PLATFORMS = ("android", "ios", "web")
_HOOKS = ("onFlowStart", "onFlowComplete")

Inside = Callable[[Node], tuple[Step, ...]]


def is_configuration(node: Node, commands: Collection[str]) -> bool:
    """Whether an entry of a list of steps is a configuration: it has one of its keys, and no command."""
    return isinstance(node.value, Mapping) and not set(node.value) & set(commands) and bool(set(node.value) & set(KEYS))


def read_configuration(node: Node, inside: Inside) -> Flow:
    """A flow that has no steps yet. DocumentError."""
    node.fields(KEYS)
    kept = {name: child for name, child in node.mapping().items() if name not in _HOOKS}
    said = marked(Node(kept, node.place))[0].mapping()
    hooks = node.mapping()
    return Flow(
        steps=(),
        app_ids=(given(said, "appId", _app_ids) or frozenset()) | (given(said, "url", _app_ids) or frozenset()),
        name=given(said, "name", lambda found: found.string(limit=NAME_LIMIT).strip()) or None,
        tags=given(said, "tags", lambda found: found.texts(limit=TAGS_LIMIT, each=TAG_LIMIT)) or (),
        env=given(said, "env", env) or (),
        on_start=given(hooks, "onFlowStart", inside) or (),
        on_complete=given(hooks, "onFlowComplete", inside) or (),
    )


def _app_ids(node: Node) -> frozenset[str]:
    """The id of the app, or one for each platform."""
    nodes = node.fields(_PLATFORMS).values() if node.is_mapping else [node]
    return frozenset(each.string(limit=APP_LIMIT).strip() for each in nodes if each.string(limit=APP_LIMIT).strip())
