"""Reads app models from YAML; errors have a line and column. The format: docs/app-models.md."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from mobiletest_automation.devices.simulated.app_model import (
    DEVICE,
    EMPTY,
    PERMISSION,
    AppModel,
    AppScreen,
    EventOutcomes,
    Pace,
    State,
)
from mobiletest_automation.devices.simulated.element_reader import ElementReader
from mobiletest_automation.flows.documents import DocumentLimits, read_yaml
from mobiletest_automation.flows.expressions import WORDS
from mobiletest_automation.flows.nodes import Node, read_optional
from mobiletest_automation.flows.templates import Value
from mobiletest_automation.flows.texts import well_formed

# The key by which a YAML text is an app model.
MARK = "app_model"

BYTES_LIMIT = 512 * 1024
BOUNDS = DocumentLimits(characters=BYTES_LIMIT, depth=20, values=50_000)
BUILT_IN = Path(__file__).with_name("builtin.yaml")

_FIELDS = (MARK, "app", "start", "launch", "state", "permissions", "screens", "links", "pace")
_RESERVED = {*WORDS, "true", "false", "null", "undefined"}
_APP_FIELDS = ("id", "name", "version")


def read_model(text: str) -> AppModel:
    """The app model in a YAML text.

    Raises:
        DocumentError: for the first error.
    """
    root = read_yaml(text, "model", BOUNDS)
    return _model(_well_formed(root) if "\\" in text else root)


def read_artifact(content: bytes) -> AppModel | None:
    """The app model in a build's artifact, None if the artifact is something else.

    Raises:
        DocumentError: for the first problem in the document.
    """
    if b"\x00" in content[:1024] or content[:2] == b"PK" or MARK.encode() not in content[:BYTES_LIMIT]:
        return None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    if not any(line.startswith(f"{MARK}:") for line in text.splitlines()):
        return None
    return read_model(text)


def _well_formed(node: Node) -> Node:
    """The node with its texts well-formed: escapes in YAML stand for any character."""
    match node.value:
        case str() as text:
            return replace(node, value=well_formed(text), raw=well_formed(node.raw))
        case tuple() as items:
            return replace(node, value=tuple(map(_well_formed, items)))
        case Mapping() as entries:
            return replace(node, value={key: _well_formed(each) for key, each in entries.items()})
        case _:
            return node


def built_in_model() -> AppModel:
    """The small app that runs for builds whose artifact is not an app model."""
    return read_model(BUILT_IN.read_text(encoding="utf-8"))


def _model(root: Node) -> AppModel:
    entries = root.fields(_FIELDS, required=(MARK, "app", "start", "screens"))
    if entries[MARK].string() != "1":
        raise entries[MARK].error(f"unsupported format version: expected 1, not {entries[MARK].raw}")
    app = entries["app"].fields(_APP_FIELDS, required=("id",))
    state = _state(entries["state"]) if "state" in entries else {}
    screens = entries["screens"].mapping()
    if not screens:
        raise entries["screens"].error("expected at least one screen")
    permissions = _permissions(entries["permissions"]) if "permissions" in entries else ()
    settable = frozenset((*state, *(PERMISSION + name for name in permissions)))
    reader = ElementReader(settable | set(DEVICE), tuple(screens), settable)
    outcomes, delay = _launch(reader, entries["launch"]) if "launch" in entries else ((), 0.0)
    app_id = app["id"].string(limit=200)
    return AppModel(
        id=app_id,
        name=read_optional(app, "name", lambda node: node.string(limit=200)) or app_id,
        version=read_optional(app, "version", lambda node: node.string(limit=100)) or "",
        start=reader.outcomes(entries["start"], only=("go", "when")),
        screens={name: _screen(reader, name, node) for name, node in screens.items()},
        state=state,
        permissions=permissions,
        links=read_optional(entries, "links", lambda node: _links(reader, node)) or {},
        launch=outcomes,
        launch_delay=delay,
        pace=read_optional(entries, "pace", _pace),
    )


def _state(node: Node) -> State:
    values: dict[str, Value] = {}
    for name, raw in node.mapping().items():
        if not name.isidentifier() or name in _RESERVED:
            raise raw.error_at_key(f'"{name}" is not a valid name for a variable')
        if not isinstance(raw.value, str | int | float | bool):
            raise raw.error("expected a text, a number, true or false")
        values[name] = raw.value
    return values


def _permissions(node: Node) -> tuple[str, ...]:
    names = tuple(item.string(limit=100) for item in node.items())
    for name, item in zip(names, node.items(), strict=True):
        if not name.isidentifier():
            raise item.error(f'"{name}" is not a valid name for a permission')
    return names


def _launch(reader: ElementReader, node: Node) -> tuple[EventOutcomes, float]:
    """What goes wrong in starting, and how long a start takes."""
    entries = node.fields(("delay", "crash", "when", "chance"))
    outcomes = (reader.outcome(node, ignore=("delay",)),) if "crash" in entries else ()
    return outcomes, read_optional(entries, "delay", lambda node: node.seconds(0, 600)) or 0.0


def _links(reader: ElementReader, node: Node) -> Mapping[str, EventOutcomes]:
    return {url: reader.outcomes(outcome_node) for url, outcome_node in node.mapping().items()}


def _pace(node: Node) -> Pace:
    entries = node.fields(("step", "scale"))
    return Pace(
        step=read_optional(entries, "step", lambda node: node.seconds(0, 600)) or 0.0,
        scale=read_optional(entries, "scale", lambda node: node.number(0, 10)) or 0.0,
    )


def _screen(reader: ElementReader, name: str, node: Node) -> AppScreen:
    entries = node.fields(("title", "delay", "elements", "back", "swipe_left", "swipe_right", "refresh"))
    events = ("back", "swipe_left", "swipe_right", "refresh")
    return AppScreen(
        name=name,
        title=read_optional(entries, "title", reader.template) or EMPTY,
        delay=read_optional(entries, "delay", lambda node: node.seconds(0, 600)) or 0.0,
        events={event: reader.outcomes(entries[event]) for event in events if event in entries},
        widgets=reader.widgets(entries["elements"], name) if "elements" in entries else (),
    )
