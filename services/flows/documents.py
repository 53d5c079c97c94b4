"""Reads YAML text and JSON values into nodes, within limits.

YAML is restricted to plain data: no aliases, anchors, tags or duplicate keys, and the scalars of YAML 1.2 (`no` and
dates are texts). Nothing recurses, so deep documents are refused and do not overflow the stack.
"""

import re
from collections.abc import Iterator, Mapping

import yaml
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from services.flows.node_builder import DEFAULT_LIMITS, Limits, NodeBuilder
from services.flows.nodes import DocumentError, Location, Node, Scalar

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""Only its event stream is used; it never constructs objects."""

_TOO_MANY = {
    1: "only one document is expected: remove what comes after ---",
    2: "a flow has a configuration and a list of commands: remove what comes after this ---",
}
_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLEAN = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INTEGER = re.compile(r"[-+]?[0-9]{1,18}")
_FLOAT = re.compile(r"[-+]?(\.[0-9]{1,40}|[0-9]{1,40}(\.[0-9]{0,40})?)([eE][-+]?[0-9]{1,3})?")


def read_yaml(text: str, root: str, limits: Limits = DEFAULT_LIMITS) -> Node:
    """The only document of a YAML text. Raise DocumentError, with line and column, if it is not plain data."""
    return read_documents(text, root, limits, limit=1)[0]


def read_documents(text: str, root: str, limits: Limits = DEFAULT_LIMITS, *, limit: int) -> tuple[Node, ...]:
    """The 1 to `limit` documents of a YAML text, which share the limits. Raise DocumentError."""
    if len(text) > limits.characters:
        raise DocumentError(root, 1, 1, f"the text is longer than {limits.characters} characters")
    builder, count = NodeBuilder(root, limits), 0
    try:
        for event in yaml.parse(text, Loader=LOADER):
            count += isinstance(event, DocumentStartEvent)
            if count > limit:
                raise _location(builder, event).error(_TOO_MANY[limit])
            _add_event(builder, event)
    except yaml.MarkedYAMLError as error:
        raise _syntax_error(root, error) from error
    except (yaml.YAMLError, UnicodeError) as error:
        raise DocumentError(root, 1, 1, "the text has characters that YAML does not allow") from error
    return tuple(builder.results) or (Node(None, Location(root, 1, 1)),)


def read_json(value: object, root: str, limits: Limits = DEFAULT_LIMITS) -> Node:
    """The nodes of a JSON value: mappings with text keys, lists, texts, numbers, booleans and null."""
    builder = NodeBuilder(root, limits)
    stack: list[Iterator[object]] = [iter((value,))]
    while stack:
        for child in stack[-1]:
            inside = _add_json(builder, child)
            if inside is not None:
                stack.append(inside)
                break
        else:
            stack.pop()
            if stack:
                builder.end()
    return builder.results[0] if builder.results else Node(None, Location(root))


def _add_event(builder: NodeBuilder, event: Event) -> None:
    location = _location(builder, event)
    if isinstance(event, AliasEvent):
        raise location.error("aliases (*name) are not allowed: repeat the value")
    if isinstance(event, ScalarEvent | SequenceStartEvent | MappingStartEvent):
        if event.anchor is not None:
            raise location.error("anchors (&name) are not allowed: repeat the value")
        if event.tag is not None:
            raise location.error(f"tags ({event.tag}) are not allowed")
    match event:
        case ScalarEvent() if builder.expects_key:
            builder.add_key(event.value, location)
        case ScalarEvent():
            builder.add_scalar(_scalar_value(event), event.value, location)
        case SequenceStartEvent():
            builder.begin(location, items=[])
        case MappingStartEvent():
            builder.begin(location, entries={})
        case SequenceEndEvent() | MappingEndEvent():
            builder.end()


def _location(builder: NodeBuilder, event: Event) -> Location:
    mark = event.start_mark
    assert mark is not None, "the events of a parser have marks"  # noqa: S101
    return Location(builder.path, mark.line + 1, mark.column + 1)


def _add_json(builder: NodeBuilder, value: object) -> Iterator[object] | None:
    """Add a value. For a list or mapping, begin it and return an iterator over its members."""
    location = Location(builder.path)
    match value:
        case Mapping():
            builder.begin(location, entries={})
            return _members(builder, value)
        case list() | tuple():
            builder.begin(location, items=[])
            return iter(value)
        case bool():
            builder.add_scalar(value, "true" if value else "false", location)
        case str() | int() | float():
            builder.add_scalar(value, _scalar_text(value), location)
        case None:
            builder.add_scalar(None, "", location)
        case _:
            raise location.error(f"{type(value).__name__} is not a JSON value")
    return None


def _members(builder: NodeBuilder, value: Mapping[object, object]) -> Iterator[object]:
    for key, child in value.items():
        if not isinstance(key, str):
            raise Location(builder.path).error("a key must be a text")
        builder.add_key(key, None)
        yield child


def _scalar_value(event: ScalarEvent) -> Scalar:
    """The value of a scalar in the core schema of YAML 1.2; quoted and block scalars are texts."""
    text: str = event.value
    if not event.implicit[0]:
        return text
    if text in _NULL:
        return None
    if text in _BOOLEAN:
        return _BOOLEAN[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text


def _scalar_text(value: str | int | float) -> str:
    """A JSON scalar as text; a whole float, such as protobuf makes of every number, is written as an integer."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    try:
        return str(value)
    except ValueError:  # an int of more digits than Python is willing to print
        return "a number of thousands of digits"


def _syntax_error(root: str, error: yaml.MarkedYAMLError) -> DocumentError:
    mark = error.problem_mark or error.context_mark
    line, column = (1, 1) if mark is None else (mark.line + 1, mark.column + 1)
    problem = " ".join(filter(None, (error.problem, f"({error.context})" if error.context else "")))
    hint = "; put a sentence that has a colon or begins with a quote into quotes as a whole"
    return DocumentError(root, line, column, f"this is not valid YAML: {problem}{hint}")
