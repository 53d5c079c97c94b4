"""Reads YAML text and JSON values into nodes, within limits.

YAML is restricted to plain data: no aliases, no duplicate keys, only the usual tags, and the scalars of YAML 1.2 (`no`
and dates are texts). Depth is checked before each descent, so deep documents are refused and do not overflow the stack.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isfinite

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

from mobiletest_automation.flows.nodes import BOOLEAN_WORDS, DocumentError, Location, Node, Scalar, quote, scalar_text
from mobiletest_automation.flows.yaml_mistakes import explain_mistake

# Only its event stream is used; it never constructs objects.
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

KEY_LIMIT = 200

_TOO_MANY = {
    1: "only one document is expected: remove what comes after ---",
    2: "a flow has a configuration and a list of commands: remove what comes after this ---",
}
_PLAIN_TAGS = frozenset(f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "seq", "map"))
# A scalar with one of them is read as it would be without.
_RESOLVED_TAGS = frozenset(f"tag:yaml.org,2002:{name}" for name in ("int", "float", "bool"))
_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLEAN = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_WORDS = {
    written: truth for word, truth in BOOLEAN_WORDS.items() for written in (word, word.capitalize(), word.upper())
}
_INTEGER = re.compile(r"[-+]?[0-9]+")
# Longer integers are texts: steps are stored and sent as JSON, whose numbers are exact up to 2^53.
_EXACT_DIGITS = 15
_FLOAT = re.compile(r"[-+]?(\.[0-9]{1,40}|[0-9]{1,40}(\.[0-9]{0,40})?)([eE][-+]?[0-9]{1,3})?")
_OLD_INTEGER = re.compile(
    r"(?P<sign>[-+]?)(?:0b_*(?P<binary>[01][01_]{0,60})|0x_*(?P<hexadecimal>[0-9a-fA-F][0-9a-fA-F_]{0,60})"
    r"|0_*(?P<octal>[0-7][0-7_]{0,60})|(?P<decimal>0|[1-9][0-9_]{0,60}))"
)
_BASES = {"binary": 2, "hexadecimal": 16, "octal": 8, "decimal": 10}
_OLD_FLOAT = re.compile(r"[-+]?(?:[0-9][0-9_]*\.[0-9_]*|\._*[0-9][0-9_]*|[0-9][0-9_]*(?=[eE]))(?:[eE][-+]?[0-9]+)?")
_UNREADABLE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*")


@dataclass(frozen=True, slots=True)
class DocumentLimits:
    """How many characters, levels and values a document may have."""

    characters: int = 256 * 1024
    depth: int = 40
    values: int = 20_000


DEFAULT_LIMITS = DocumentLimits()


@dataclass(slots=True)
class SizeCounter:
    """Counts what a document has.

    Raises:
        DocumentError: a limit is exceeded; `note` ends the message.
    """

    limits: DocumentLimits
    values: int = 0
    characters: int = 0
    note: str = ""

    def add_scalar(self, raw: str, location: Location) -> None:
        self._add_value(location)
        self.characters += len(raw)
        if self.characters > self.limits.characters:
            raise location.error(f"more than {self.limits.characters} characters{self.note or ' in all'}")

    def add_collection(self, depth: int, location: Location) -> None:
        """A list or mapping inside `depth` others."""
        self._add_value(location)
        if depth >= self.limits.depth:
            raise location.error(f"nested deeper than {self.limits.depth} levels")

    def _add_value(self, location: Location) -> None:
        self.values += 1
        if self.values > self.limits.values:
            raise location.error(f"more than {self.limits.values} values{self.note}")


def read_yaml(text: str, root: str, limits: DocumentLimits = DEFAULT_LIMITS) -> Node:
    """The only document of a YAML text.

    Raises:
        DocumentError: it is not plain data; with line and column.
    """
    return read_documents(text, root, limits, limit=1)[0]


def read_documents(text: str, root: str, limits: DocumentLimits = DEFAULT_LIMITS, *, limit: int) -> tuple[Node, ...]:
    """The 1 to `limit` documents of a YAML text, which share the limits.

    Raises:
        DocumentError: for the first problem in the document.
    """
    if len(text) > limits.characters:
        raise DocumentError(root, 1, 1, f"the text is longer than {limits.characters} characters", root)
    try:
        nodes = _YamlReader(text, root, limits).read_documents(limit)
    except yaml.MarkedYAMLError as error:
        raise _syntax_error(root, text, error) from error
    except (yaml.YAMLError, UnicodeError) as error:
        raise DocumentError(root, 1, 1, "the text has characters that YAML does not allow", root) from error
    return nodes or (Node(None, Location(root, 1, 1, root)),)


class _YamlReader:
    """Makes nodes of the events of a YAML parser."""

    def __init__(self, text: str, root: str, limits: DocumentLimits) -> None:
        self._events: Iterator[Event] = iter(yaml.parse(text, Loader=LOADER))
        self._root = root
        self._size = SizeCounter(limits)

    def read_documents(self, limit: int) -> tuple[Node, ...]:
        nodes: list[Node] = []
        for event in self._events:
            if isinstance(event, DocumentStartEvent):
                location = self._location(self._root, event)
                document = self._read(next(self._events), self._root)
                if len(nodes) < limit:
                    nodes.append(document)
                elif not document.is_null:
                    raise location.error(_TOO_MANY.get(limit, f"more than {limit} documents"))
        return tuple(nodes)

    def _read(self, event: Event, path: str, key_location: Location | None = None, depth: int = 0) -> Node:
        location = self._location(path, event)
        _check_plain(event, location)
        if isinstance(event, ScalarEvent):
            self._size.add_scalar(event.value, location)
            return _read_scalar(event, location, key_location)
        self._size.add_collection(depth, location)
        is_list = isinstance(event, SequenceStartEvent)
        value = self._read_items(path, depth + 1) if is_list else self._read_entries(path, depth + 1)
        return Node(value, location, key_location=key_location)

    def _read_items(self, path: str, depth: int) -> tuple[Node, ...]:
        items: list[Node] = []
        while not isinstance(event := next(self._events), SequenceEndEvent):
            items.append(self._read(event, f"{path}[{len(items)}]", depth=depth))
        return tuple(items)

    def _read_entries(self, path: str, depth: int) -> dict[str, Node]:
        entries: dict[str, Node] = {}
        while not isinstance(event := next(self._events), MappingEndEvent):
            location = self._location(path, event)
            _check_plain(event, location)
            key = _checked_key(event.value if isinstance(event, ScalarEvent) else None, location)
            if key in entries:
                raise location.error(f'duplicate key "{key}"')
            entries[key] = self._read(next(self._events), f"{path}.{key}", location, depth)
        return entries

    def _location(self, path: str, event: Event) -> Location:
        mark = event.start_mark
        assert mark is not None, "the events of a parser have marks"  # noqa: S101
        return Location(path, mark.line + 1, mark.column + 1, self._root)


def read_json(value: object, root: str, limits: DocumentLimits = DEFAULT_LIMITS) -> Node:
    """The nodes of a JSON value: mappings with text keys, lists, texts, numbers, booleans and null."""
    return _read_json(value, Location(root), SizeCounter(limits), depth=0)


def _read_json(value: object, location: Location, size: SizeCounter, depth: int) -> Node:
    def read_child(child: object, path: str) -> Node:
        return _read_json(child, Location(path), size, depth + 1)

    match value:
        case Mapping():
            size.add_collection(depth, location)
            keys = (_checked_key(key, location) for key in value)
            return Node({key: read_child(value[key], f"{location.path}.{key}") for key in keys}, location)
        case list() | tuple():
            size.add_collection(depth, location)
            items = (read_child(item, f"{location.path}[{index}]") for index, item in enumerate(value))
            return Node(tuple(items), location)
        case None | bool() | str() | int() | float():
            raw = scalar_text(value)
            size.add_scalar(raw, location)
            return Node(value, location, raw)
    raise location.error(f"{type(value).__name__} is not a JSON value")


def _checked_key(key: object, location: Location) -> str:
    if not isinstance(key, str):
        raise location.error("a key must be a text")
    if len(key) > KEY_LIMIT:
        raise location.error(f"the name of a field is longer than {KEY_LIMIT} characters")
    return key


def _check_plain(event: Event, location: Location) -> None:
    if isinstance(event, AliasEvent):
        raise location.error("aliases (*name) are not allowed: repeat the value")
    tag = event.tag if isinstance(event, ScalarEvent | SequenceStartEvent | MappingStartEvent) else None
    if tag is not None and tag not in _PLAIN_TAGS:
        raise location.error(f"tags ({tag}) are not allowed")


def _is_plain(event: ScalarEvent) -> bool:
    """Whether the text of a scalar decides what it is: it has no quotes, or is said to be a number or a boolean."""
    return bool(event.implicit[0]) or event.tag in _RESOLVED_TAGS


def _read_scalar(event: ScalarEvent, location: Location, key_location: Location | None) -> Node:
    """A scalar with quotes, and a block, is a text."""
    text: str = event.value
    if not _is_plain(event):
        return Node(text, location, text, key_location)
    if _is_unreadable(text):
        raise location.error(f"put {quote(text)} into quotes: without them YAML reads it as a number that has no use")
    return Node(_plain_value(text), location, text, key_location, old_value=_old_value(text))


def _syntax_error(root: str, text: str, error: yaml.MarkedYAMLError) -> DocumentError:
    mark = error.problem_mark or error.context_mark
    line, column = (1, 1) if mark is None else (mark.line + 1, mark.column + 1)
    opened = error.context_mark if error.context == "while scanning a quoted scalar" else None
    if opened is not None and "end of stream" in (error.problem or ""):
        return DocumentError(root, opened.line + 1, opened.column + 1, "the quote that begins here is not closed", root)
    if mistake := explain_mistake(text, line, column, error.problem or ""):
        return DocumentError(root, mistake.line, mistake.column, mistake.message, root)
    problem = " ".join(filter(None, (error.problem, f"({error.context})" if error.context else "")))
    hint = "; put a sentence that has a colon or begins with a quote into quotes as a whole"
    return DocumentError(root, line, column, f"this is not valid YAML: {problem}{hint}", root)


def _is_unreadable(text: str) -> bool:
    """Whether YAML 1.1 makes of it a number that Maestro refuses wherever it is: .nan, .inf, or one like 1:30.5."""
    return _UNREADABLE.fullmatch(text) is not None


def _plain_value(text: str) -> Scalar:
    """The value in the core schema of YAML 1.2."""
    if text in _NULL:
        return None
    if text in _BOOLEAN:
        return _BOOLEAN[text]
    if _INTEGER.fullmatch(text):
        return int(text) if len(text.lstrip("+-")) <= _EXACT_DIGITS else text
    return float(text) if _FLOAT.fullmatch(text) and isfinite(float(text)) else text


def _old_value(text: str) -> Scalar:
    """The value in YAML 1.1 if it is a boolean or a number there, or is a number in YAML 1.2 only; otherwise None."""
    if text in _WORDS:
        return _WORDS[text]
    integer = _OLD_INTEGER.fullmatch(text)
    if integer is not None and integer.lastgroup is not None:
        number = int(integer["sign"] + integer[integer.lastgroup].replace("_", ""), _BASES[integer.lastgroup])
        return number if abs(number) < 10**_EXACT_DIGITS else text
    if _OLD_FLOAT.fullmatch(text):
        decimal = float(text.replace("_", ""))
        return decimal if isfinite(decimal) else text
    return text if isinstance(_plain_value(text), int | float) else None
