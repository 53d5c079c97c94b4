"""Which endpoint a path means. Literal segments go before parameters; a trailing slash makes no difference."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar
from urllib.parse import unquote

E = TypeVar("E")


@dataclass(frozen=True, slots=True)
class Match(Generic[E]):
    """An endpoint, and the decoded values of the names in its template."""

    endpoint: E
    path: dict[str, str]


@dataclass(frozen=True, slots=True)
class NoMatch:
    """The verbs that the path has; none when there is no such path."""

    allowed: tuple[str, ...]


@dataclass(slots=True)
class _Node(Generic[E]):
    literals: dict[str, "_Node[E]"] = field(default_factory=dict)
    parameter: "_Node[E] | None" = None
    endpoints: dict[str, tuple[tuple[str, ...], E]] = field(default_factory=dict)


class Router(Generic[E]):
    """Routes of the form "/api/v1/apps/{app_id}"."""

    def __init__(self) -> None:
        self._root: _Node[E] = _Node()
        self._routes: list[tuple[str, str]] = []

    @property
    def routes(self) -> tuple[tuple[str, str], ...]:
        """(verb, template) of each, in the order in which they were added."""
        return tuple(self._routes)

    def add(self, verb: str, template: str, endpoint: E) -> None:
        """ValueError when the same is there already."""
        node, names = self._root, []
        for part in _segments(template):
            if part.startswith("{"):
                names.append(part[1:-1])
                node.parameter = node = node.parameter or _Node()
            else:
                node = node.literals.setdefault(part, _Node())
        if verb in node.endpoints:
            raise ValueError(f"two routes for {verb} {template}")
        node.endpoints[verb] = (tuple(names), endpoint)
        self._routes.append((verb, template))

    def find(self, verb: str, path: str) -> Match[E] | NoMatch:
        """The endpoint for a raw (percent-encoded) path."""
        try:
            parts = [_decoded(part) for part in _segments(path)]
        except UnicodeDecodeError:
            return NoMatch(())
        allowed: dict[str, None] = {}
        for node, values in _walk(self._root, parts, ()):
            found = node.endpoints.get(verb)
            if found is not None:
                names, endpoint = found
                return Match(endpoint, dict(zip(names, values, strict=True)))
            allowed.update(dict.fromkeys(node.endpoints))
        return NoMatch(tuple(sorted(allowed)))


def _walk(node: _Node[E], parts: list[str], values: tuple[str, ...]) -> Iterator[tuple[_Node[E], tuple[str, ...]]]:
    """Every node that the parts lead to, literals first; the recursion is as deep as the routes are."""
    if not parts:
        yield node, values
        return
    head, rest = parts[0], parts[1:]
    literal = node.literals.get(head)
    if literal is not None:
        yield from _walk(literal, rest, values)
    if node.parameter is not None and head:
        yield from _walk(node.parameter, rest, (*values, head))


def _segments(path: str) -> list[str]:
    return path.removesuffix("/").split("/")[1:]


def _decoded(part: str) -> str:
    return unquote(part, errors="strict") if "%" in part else part
