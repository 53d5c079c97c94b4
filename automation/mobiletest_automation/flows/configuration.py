"""The configuration of a flow: its app, name, tags, variables, and the steps that run before and after it."""

from collections.abc import Collection, Mapping, Sequence
from itertools import islice

from mobiletest_automation.flows.environment import is_secret_name
from mobiletest_automation.flows.labels import NAME_LIMIT, TAG_LIMIT, TAGS_LIMIT
from mobiletest_automation.flows.nodes import Location, Node, Notice, quote, read_optional, scalar_text, suggest
from mobiletest_automation.flows.steps import Flow, StepsReader
from mobiletest_automation.flows.templates import is_template
from mobiletest_automation.flows.texts import cut
from mobiletest_automation.flows.variables import HOOKS, mark_pending, read_env

CONFIGURATION_KEYS = ("appId", "url", "name", "tags", "env", "onFlowStart", "onFlowComplete")

PROPERTIES = "properties"
PROPERTIES_LIMIT = 50
PROPERTY_LIMIT = 1_000
APP_LIMIT = 4_096
NOTICES_LIMIT = 20

_PLATFORMS = ("android", "ios", "web")


def is_configuration(node: Node, commands: Collection[str]) -> bool:
    """Whether an entry of a list of steps is a configuration: it has one of the keys and no command."""
    return (
        isinstance(node.value, Mapping)
        and not set(node.value) & set(commands)
        and bool(set(node.value) & set(CONFIGURATION_KEYS))
    )


def known_entries(node: Node, notices: list[Notice]) -> dict[str, Node]:
    """The entries of a configuration that have a meaning here. Append notices of the others, as Maestro does, and of
    secrets that are written into the flow.
    """
    entries = node.mapping()
    unknown = [
        key
        for key, child in entries.items()
        if key not in CONFIGURATION_KEYS and not (key == PROPERTIES and child.is_mapping)
    ]
    for key in unknown[:NOTICES_LIMIT]:
        location = entries[key].key_location or entries[key].location
        notices.append(location.notice(f"{quote(key)} has no effect here{suggest(key, CONFIGURATION_KEYS)}"))
    if len(unknown) > NOTICES_LIMIT:
        notices.append(node.location.notice(f"{len(unknown) - NOTICES_LIMIT} more keys have no effect here"))
    if "env" in entries and entries["env"].is_mapping:
        notices.extend(_secret_notices(entries["env"].mapping()))
    return {key: child for key, child in entries.items() if key in CONFIGURATION_KEYS}


def _secret_notices(variables: Mapping[str, Node]) -> list[Notice]:
    """Of values that everybody who can read the flow reads, and whose names say that they are secret."""
    written = [
        (name, value)
        for name, value in variables.items()
        if is_secret_name(name) and value.raw and not is_template(value.raw)
    ]
    advice = "delete it, and set the variable in env of the test, as a reference to a secret"
    return [
        (value.key_location or value.location).notice(
            f"{quote(name)} has a secret's name, and its value is stored: {advice}"
        )
        for name, value in written[:NOTICES_LIMIT]
    ]


def read_configuration(node: Node, inside: StepsReader, notices: list[Notice]) -> Flow:
    """A flow without steps.

    Raises:
        DocumentError: for the first problem in the document.
    """
    hooks = known_entries(node, notices)
    without_hooks = {name: child for name, child in hooks.items() if name not in HOOKS}
    entries = mark_pending(Node(without_hooks, node.location))[0].mapping()
    return Flow(
        steps=(),
        app_ids=(read_optional(entries, "appId", _read_app_ids) or frozenset())
        | (read_optional(entries, "url", _read_app_ids) or frozenset()),
        name=read_optional(entries, "name", lambda value: value.string(limit=NAME_LIMIT).strip()) or None,
        tags=read_optional(entries, "tags", _read_tags) or (),
        env=read_optional(entries, "env", read_env) or (),
        env_locations=read_optional(entries, "env", _locations) or (),
        on_start=read_optional(hooks, "onFlowStart", inside) or (),
        on_complete=read_optional(hooks, "onFlowComplete", inside) or (),
    )


def _locations(env: Node) -> tuple[Location, ...]:
    return tuple(value.location for value in env.mapping().values())


def properties_of(steps: Sequence[object]) -> tuple[tuple[str, str], ...]:
    """The properties in the configuration, the first of the JSON values of a flow; what is no text is left out."""
    first = steps[0] if steps else None
    entries = first.get(PROPERTIES) if isinstance(first, Mapping) else None
    if not isinstance(entries, Mapping):
        return ()
    scalars = ((name, value) for name, value in entries.items() if isinstance(value, str | int | float | bool))
    shortened = ((cut(str(name), NAME_LIMIT), cut(scalar_text(value), PROPERTY_LIMIT)) for name, value in scalars)
    return tuple(islice(shortened, PROPERTIES_LIMIT))


def _read_tags(node: Node) -> tuple[str, ...]:
    return () if node.is_null else node.texts(limit=TAGS_LIMIT, each=TAG_LIMIT)


def _read_app_ids(node: Node) -> frozenset[str]:
    """One id for all platforms, or one for each."""
    nodes = node.fields(_PLATFORMS).values() if node.is_mapping else [node]
    return frozenset(filter(None, (each.string(limit=APP_LIMIT).strip() for each in nodes)))
