"""The configuration of a workspace (config.yaml): which files are flows, by path and tags, and what runs first."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

import re2

from mobiletest_automation.flows.documents import read_documents
from mobiletest_automation.flows.labels import NAME_LIMIT, TAG_LIMIT, TAGS_LIMIT
from mobiletest_automation.flows.nodes import Node, quote, read_optional, suggest

T = TypeVar("T")

# The first that lies in the root of the workspace is its configuration.
CONFIG_FILES = ("config.yaml", "config.yml")
# Keys of Maestro's configuration that say nothing about which tests there are.
WITHOUT_MEANING = ("testOutputDir", "baselineBranch", "disableRetries", "notifications", "platform")
CONFIG_KEYS = ("flows", "includeTags", "excludeTags", "executionOrder", *WITHOUT_MEANING)
DOCUMENTS_LIMIT = 100
GLOBS_LIMIT = 100
GLOB_LIMIT = 500
ORDER_LIMIT = 1_000
_ESCAPED = re.compile(r"[\W_]", re.UNICODE)


@dataclass(frozen=True, slots=True)
class Remark:
    """A problem or a notice about a file; line and column count from 1, None if it is about the file as a whole."""

    file: str
    line: int | None
    column: int | None
    message: str


class InvalidGlob(ValueError):
    """A glob that cannot be read; the message says why."""


class Glob:
    """A glob of paths as Maestro reads them, those of Java: `*` stays inside a folder, `**` does not.

    Raises:
        InvalidGlob: it is malformed.
    """

    def __init__(self, text: str) -> None:
        self._regex = re2.compile(_translate(text))

    def matches(self, path: str) -> bool:
        """Whether the whole path fits, in time linear in its length."""
        return self._regex.fullmatch(path) is not None


@dataclass(frozen=True, slots=True)
class PathRule:
    """One entry of `flows`: a file that fits is a flow, or none if the rule is `negated`."""

    glob: Glob
    negated: bool
    source: Node


@dataclass(frozen=True, slots=True)
class WorkspaceConfig:
    """The configuration; without one, the YAML files of the top folder are flows."""

    rules: tuple[PathRule, ...] = ()
    include_tags: frozenset[str] = frozenset()
    exclude_tags: frozenset[str] = frozenset()
    flows_order: tuple[Node, ...] = ()
    continue_on_failure: bool = True
    notices: tuple[Remark, ...] = ()

    def takes_path(self, path: str) -> bool:
        """Whether the file at the path is a flow, as far as `flows` says it."""
        if not self.rules:
            return "/" not in path
        fitting = [rule.negated for rule in self.rules if rule.glob.matches(path)]
        return bool(fitting) and not any(fitting)

    def takes_tags(self, tags: tuple[str, ...]) -> bool:
        """Whether a flow with the tags is selected."""
        has_wanted = not self.include_tags or not self.include_tags.isdisjoint(tags)
        return has_wanted and self.exclude_tags.isdisjoint(tags)


def read_workspace_config(text: str, file: str) -> WorkspaceConfig:
    """The configuration in a text. Unknown keys are kept with a notice.

    Raises:
        DocumentError: for the first problem in the document.
    """
    root, *others = read_documents(text, file, limit=DOCUMENTS_LIMIT)
    entries = {} if root.is_null else root.mapping()
    order = _not_null(entries, "executionOrder")
    ordering = order.fields(("continueOnFailure", "flowsOrder")) if order else {}
    return WorkspaceConfig(
        rules=_read_at(entries, "flows", _read_rules),
        include_tags=frozenset(_read_at(entries, "includeTags", _read_tags)),
        exclude_tags=frozenset(_read_at(entries, "excludeTags", _read_tags)),
        flows_order=_read_at(ordering, "flowsOrder", _read_names),
        continue_on_failure=read_optional(ordering, "continueOnFailure", Node.boolean) is not False,
        notices=(
            *(_unknown_key(file, key, node) for key, node in entries.items() if key not in CONFIG_KEYS),
            *(_second_document(node) for node in others[:1]),
        ),
    )


def is_config_shaped(node: Node) -> bool:
    """Whether the only document of a file is a configuration under another name, so no flow."""
    return isinstance(node.value, Mapping) and bool(node.value) and set(node.value) <= set(CONFIG_KEYS)


def _not_null(entries: Mapping[str, Node], key: str) -> Node | None:
    node = entries.get(key)
    return None if node is None or node.is_null else node


def _read_at(entries: Mapping[str, Node], key: str, read: Callable[[Node], tuple[T, ...]]) -> tuple[T, ...]:
    node = _not_null(entries, key)
    return () if node is None else read(node)


def _items(node: Node, limit: int) -> tuple[Node, ...]:
    """A list, or the single value that Maestro takes for a list."""
    items = node.items() if isinstance(node.value, tuple) else (node,)
    if len(items) > limit:
        raise node.error(f"more than {limit} entries")
    return items


def _read_tags(node: Node) -> tuple[str, ...]:
    return tuple(item.string(limit=TAG_LIMIT).strip() for item in _items(node, TAGS_LIMIT))


def _read_names(node: Node) -> tuple[Node, ...]:
    names = _items(node, ORDER_LIMIT)
    for name in names:
        name.string(limit=NAME_LIMIT)
    return tuple(replace(name, raw=name.raw.strip()) for name in names)


def _read_rules(node: Node) -> tuple[PathRule, ...]:
    rules = tuple(map(_read_rule, _items(node, GLOBS_LIMIT)))
    if rules and all(rule.negated for rule in rules):
        raise node.error("every entry excludes files (!): say which files are flows too, such as **")
    return rules


def _read_rule(node: Node) -> PathRule:
    text = node.string(limit=GLOB_LIMIT).strip()
    try:
        return PathRule(Glob(text.removeprefix("!").removeprefix("./")), text.startswith("!"), node)
    except InvalidGlob as error:
        raise node.error(f"{quote(text)} is not a valid path pattern: {error}") from None


def _unknown_key(file: str, key: str, node: Node) -> Remark:
    place = node.key_location or node.location
    hint = suggest(key, CONFIG_KEYS) or f"; known: {', '.join(CONFIG_KEYS)}"
    return Remark(file, place.line, place.column, f"{quote(key)} has no effect in a workspace's configuration{hint}")


def _second_document(node: Node) -> Remark:
    place = node.location
    message = "only the first document of a workspace's configuration has an effect: remove what comes after this ---"
    return Remark(place.file, place.line, place.column, message)


def _translate(text: str) -> str:
    """The regular expression of a glob."""
    regex, at, inside = "", 0, False
    while at < len(text):
        char = text[at]
        at += 1
        if char == "*" and text.startswith("*", at):
            regex, at = regex + ".*", at + 1
        elif char in "*?":
            regex += "[^/]*" if char == "*" else "[^/]"
        elif char == "[":
            end = text.find("]", at + 1)
            regex, at = regex + _class(text[at:end] if end > 0 else "/"), end + 1
        elif char == "\\":
            regex, at = regex + _literal(text[at : at + 1]), at + 1
        elif char == "{" and not inside:
            regex, inside = regex + "(?:", True
        elif inside and char in ",}":
            regex, inside = regex + ("|" if char == "," else ")"), char == ","
        else:
            regex += _literal(char)
    if inside:
        raise InvalidGlob("the } of a { is missing")
    return f"(?s:{regex})"


def _class(content: str) -> str:
    """One of several characters: `abc`, `a-z`, or with a leading `!` any other."""
    if "/" in content:
        raise InvalidGlob("the ] of a [ is missing, or there is a / between them")
    negated, members = content.startswith("!"), content.removeprefix("!")
    escaped = "".join(char if char == "-" else _literal(char) for char in members)
    return f"[^/{escaped}]" if negated else f"[{escaped}]"


def _literal(char: str) -> str:
    if not char:
        raise InvalidGlob("a character is missing after the \\ at its end")
    return _ESCAPED.sub(lambda match: f"\\x{{{ord(match[0]):x}}}", char)
