"""Reads YAML text and JSON values into nodes, within limits and without surprises.

Of YAML only plain data is taken: no aliases, no anchors, no tags, no document too many, no key twice; and the scalars
of YAML 1.2 ("no" is a text, a date is a text). Nothing recurses, so that depth is a limit and not a crash.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

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

from services.flows.nodes import DocumentError, Location, Node, Scalar

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""Only its event stream is used: nothing is ever constructed by it."""

KEY_LIMIT = 200

_TOO_MANY = {
    1: "only one document is expected: remove what stands after ---",
    2: "a flow has a configuration and a list of commands: remove what stands after this ---",
}
_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLEAN = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INTEGER = re.compile(r"[-+]?[0-9]{1,18}")
_FLOAT = re.compile(r"[-+]?(\.[0-9]{1,40}|[0-9]{1,40}(\.[0-9]{0,40})?)([eE][-+]?[0-9]{1,3})?")


@dataclass(frozen=True, slots=True)
class Limits:
    """What a document may have at most: characters, levels, values."""

    characters: int = 256 * 1024
    depth: int = 40
    values: int = 20_000


def read_yaml(text: str, root: str, bounds: Limits = Limits()) -> Node:
    """The one document of a YAML text; DocumentError with line and column for everything that is not plain data."""
    return read_documents(text, root, bounds, limit=1)[0]


def read_documents(text: str, root: str, bounds: Limits = Limits(), *, limit: int) -> tuple[Node, ...]:
    """The documents of a YAML text, 1 to `limit`; the bounds are for all of them together. DocumentError."""
    if len(text) > bounds.characters:
        raise DocumentError(root, 1, 1, f"the text is longer than {bounds.characters} characters")
    builder = _NodeBuilder(root, bounds, limit)
    try:
        for event in yaml.parse(text, Loader=LOADER):
            builder.take(event)
    except yaml.MarkedYAMLError as error:
        raise _syntax_error(root, error) from error
    except (yaml.YAMLError, UnicodeError) as error:
        raise DocumentError(root, 1, 1, "the text has characters that YAML does not allow") from error
    return tuple(builder.results) or (Node(None, Location(root, 1, 1)),)


def read_json(value: object, root: str, bounds: Limits = Limits()) -> Node:
    """The nodes of a JSON value: mappings with text keys, lists, texts, numbers, booleans, null."""
    builder = _NodeBuilder(root, bounds, 1)
    stack: list[Iterator[object]] = [iter((value,))]
    while stack:
        for child in stack[-1]:
            inside = builder.json(child)
            if inside is not None:
                stack.append(inside)
                break
        else:
            stack.pop()
            if stack:
                builder.close()
    return builder.results[0] if builder.results else Node(None, Location(root))


@dataclass(slots=True)
class _OpenCollection:
    """A list or mapping that is not closed yet."""

    location: Location
    key_location: Location | None = None
    items: list[Node] | None = None
    entries: dict[str, Node] | None = None
    key: str | None = None
    next_key_location: Location | None = None

    def path_of_next(self) -> str:
        if self.items is not None:
            return f"{self.location.path}[{len(self.items)}]"
        return f"{self.location.path}.{self.key}" if self.key is not None else self.location.path


@dataclass(slots=True)
class _NodeBuilder:
    """Puts nodes together from a stream of values, checking the bounds as they come."""

    root: str
    bounds: Limits
    limit: int
    open: list[_OpenCollection] = field(default_factory=list)
    results: list[Node] = field(default_factory=list)
    values: int = 0
    characters: int = 0
    documents: int = 0

    def take(self, event: Event) -> None:
        """The next event of a YAML parser."""
        match event:
            case AliasEvent():
                raise self._place(event).error("aliases (*name) are not allowed: write the value out")
            case ScalarEvent():
                self._refuse_decoration(event)
                self._scalar(_scalar_value(event), event.value, self._place(event))
            case SequenceStartEvent():
                self._refuse_decoration(event)
                self._begin(self._opened(self._place(event), items=[]))
            case MappingStartEvent():
                self._refuse_decoration(event)
                self._begin(self._opened(self._place(event), entries={}))
            case SequenceEndEvent() | MappingEndEvent():
                self.close()
            case DocumentStartEvent():
                self.documents += 1
                if self.documents > self.limit:
                    raise self._place(event).error(_TOO_MANY[self.limit])
            case _:
                pass

    def json(self, value: object) -> Iterator[object] | None:
        """Take a value; a list or mapping is opened, and the iterator over what is in it returned."""
        location = Location(self._path())
        match value:
            case Mapping():
                self._begin(self._opened(location, entries={}))
                return self._members(value)
            case list() | tuple():
                self._begin(self._opened(location, items=[]))
                return iter(value)
            case bool():
                self._add(value, "true" if value else "false", location)
            case str() | int() | float():
                self._add(value, _scalar_text(value), location)
            case None:
                self._add(None, "", location)
            case _:
                raise location.error(f"{type(value).__name__} is not a JSON value")
        return None

    def close(self) -> None:
        done = self.open.pop()
        value = tuple(done.items) if done.items is not None else (done.entries or {})
        self._attach(Node(value, done.location, key_location=done.key_location))

    def _members(self, value: Mapping[object, object]) -> Iterator[object]:
        for key, child in value.items():
            if not isinstance(key, str):
                raise Location(self._path()).error("a key must be a text")
            if len(key) > KEY_LIMIT:
                raise Location(self._path()).error(f"the name of a field is longer than {KEY_LIMIT} characters")
            self.open[-1].key = key
            yield child

    def _scalar(self, value: Scalar, raw: str, location: Location) -> None:
        parent = self.open[-1] if self.open else None
        if parent is not None and parent.entries is not None and parent.key is None:
            if len(raw) > KEY_LIMIT:
                raise location.error(f"the name of a field is longer than {KEY_LIMIT} characters")
            if raw in parent.entries:
                raise location.error(f'"{raw}" stands here twice')
            parent.key, parent.next_key_location = raw, location
            return
        self._add(value, raw, location)

    def _add(self, value: Scalar, raw: str, location: Location) -> None:
        self._count(location)
        self.characters += len(raw)
        if self.characters > self.bounds.characters:
            raise location.error(f"more than {self.bounds.characters} characters in all")
        self._attach(Node(value, location, raw, self._key_place()))

    def _opened(
        self, location: Location, *, items: list[Node] | None = None, entries: dict[str, Node] | None = None
    ) -> _OpenCollection:
        return _OpenCollection(location, self._key_place(), items, entries)

    def _key_place(self) -> Location | None:
        return self.open[-1].next_key_location if self.open else None

    def _begin(self, opened: _OpenCollection) -> None:
        self._count(opened.location)
        if len(self.open) >= self.bounds.depth:
            raise opened.location.error(f"nested deeper than {self.bounds.depth} levels")
        parent = self.open[-1] if self.open else None
        if parent is not None and parent.entries is not None and parent.key is None:
            raise opened.location.error("a key must be a text")
        self.open.append(opened)

    def _attach(self, node: Node) -> None:
        parent = self.open[-1] if self.open else None
        if parent is None:
            self.results.append(node)
        elif parent.items is not None:
            parent.items.append(node)
        elif parent.entries is not None and parent.key is not None:
            parent.entries[parent.key] = node
            parent.key = parent.next_key_location = None

    def _count(self, location: Location) -> None:
        self.values += 1
        if self.values > self.bounds.values:
            raise location.error(f"more than {self.bounds.values} values")

    def _path(self) -> str:
        return self.open[-1].path_of_next() if self.open else self.root

    def _place(self, event: Event) -> Location:
        mark = event.start_mark
        assert mark is not None, "a parser's events know where they stand"  # noqa: S101
        return Location(self._path(), mark.line + 1, mark.column + 1)

    def _refuse_decoration(self, event: ScalarEvent | SequenceStartEvent | MappingStartEvent) -> None:
        if event.anchor is not None:
            raise self._place(event).error("anchors (&name) are not allowed: write the value out")
        if event.tag is not None:
            raise self._place(event).error(f"tags ({event.tag}) are not allowed")


def _scalar_value(event: ScalarEvent) -> Scalar:
    """The value of a scalar by the core schema of YAML 1.2; quoted and block scalars are texts."""
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
    """How a JSON scalar reads; a whole float (JSON numbers that passed through doubles) reads as the integer."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    try:
        return str(value)
    except ValueError:  # an int of more digits than Python is willing to print
        return "a number of thousands of digits"


def _syntax_error(root: str, error: yaml.MarkedYAMLError) -> DocumentError:
    mark = error.problem_mark or error.context_mark
    line, column = (1, 1) if mark is None else (mark.line + 1, mark.column + 1)
    said = " ".join(filter(None, (error.problem, f"({error.context})" if error.context else "")))
    hint = "; a sentence with a colon, or one that begins with a quote, must stand in quotes as a whole"
    return DocumentError(root, line, column, f"this is not valid YAML: {said}{hint}")
