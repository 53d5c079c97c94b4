"""Builds nodes from a stream of values, within limits."""

from dataclasses import dataclass, field

from services.flows.nodes import Location, Node, Scalar

KEY_LIMIT = 200


@dataclass(frozen=True, slots=True)
class Limits:
    """How many characters, levels and values a document may have."""

    characters: int = 256 * 1024
    depth: int = 40
    values: int = 20_000


DEFAULT_LIMITS = Limits()


@dataclass(slots=True)
class _OpenCollection:
    """A list or mapping that has not ended yet."""

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
class NodeBuilder:
    """Takes the values of a document in order. Its methods raise DocumentError when a limit is exceeded."""

    root: str
    limits: Limits
    results: list[Node] = field(default_factory=list)
    _open: list[_OpenCollection] = field(default_factory=list)
    _values: int = 0
    _characters: int = 0

    @property
    def path(self) -> str:
        """The path of the next value."""
        return self._open[-1].path_of_next() if self._open else self.root

    @property
    def expects_key(self) -> bool:
        return bool(self._open) and self._open[-1].entries is not None and self._open[-1].key is None

    def add_key(self, key: str, location: Location | None) -> None:
        """The key of the next value in a mapping; without a location it is at that of the value."""
        where = location or Location(self.path)
        if len(key) > KEY_LIMIT:
            raise where.error(f"the name of a field is longer than {KEY_LIMIT} characters")
        if key in (self._open[-1].entries or {}):
            raise where.error(f'"{key}" is given twice')
        self._open[-1].key, self._open[-1].next_key_location = key, location

    def add_scalar(self, value: Scalar, raw: str, location: Location) -> None:
        self._count(location)
        self._characters += len(raw)
        if self._characters > self.limits.characters:
            raise location.error(f"more than {self.limits.characters} characters in all")
        self._attach(Node(value, location, raw, self._key_location()))

    def begin(
        self, location: Location, *, items: list[Node] | None = None, entries: dict[str, Node] | None = None
    ) -> None:
        self._count(location)
        if len(self._open) >= self.limits.depth:
            raise location.error(f"nested deeper than {self.limits.depth} levels")
        if self.expects_key:
            raise location.error("a key must be a text")
        self._open.append(_OpenCollection(location, self._key_location(), items, entries))

    def end(self) -> None:
        """End the innermost list or mapping."""
        done = self._open.pop()
        value = tuple(done.items) if done.items is not None else (done.entries or {})
        self._attach(Node(value, done.location, key_location=done.key_location))

    def _key_location(self) -> Location | None:
        return self._open[-1].next_key_location if self._open else None

    def _attach(self, node: Node) -> None:
        parent = self._open[-1] if self._open else None
        if parent is None:
            self.results.append(node)
        elif parent.items is not None:
            parent.items.append(node)
        elif parent.entries is not None and parent.key is not None:
            parent.entries[parent.key] = node
            parent.key = parent.next_key_location = None

    def _count(self, location: Location) -> None:
        self._values += 1
        if self._values > self.limits.values:
            raise location.error(f"more than {self.limits.values} values")
