"""The descriptions of the OpenAPI document for readers: names of the interface as code, and errors by their status."""

import re
from dataclasses import dataclass

from markupsafe import Markup, escape

from services.gateway.http.json_responses import STATUSES, STATUSES_OF_REASONS

_STATUS_OF_CODE = {kind.default_reason: status for kind, status in STATUSES.items()}
_CODE = "|".join(_STATUS_OF_CODE)
_CAUSE = re.compile(rf"\b((?:{_CODE})(?: and (?:{_CODE}))*(?: with the reason [A-Z_]+)?): ", re.UNICODE)
_SCOPE = re.compile(r"\s*Requires the scope (\w+)\.$", re.UNICODE)
_NAME = re.compile(r"`([^`]+)`|\b([A-Za-z]\w*(?:\.\w+)*)\b", re.UNICODE)


@dataclass(frozen=True, slots=True)
class Cause:
    """What leads to an error of an operation: its statuses, and a text."""

    statuses: tuple[int, ...]
    text: Markup


@dataclass(frozen=True, slots=True)
class OperationText:
    """The description of an operation: what it does beyond its summary, its errors, its scope ("" if none)."""

    prose: Markup
    causes: tuple[Cause, ...]
    scope: str


def mark_names(text: str) -> Markup:
    """HTML with what is between backticks, and names with an underscore, as <code>; everything else is plain text."""
    parts, end = [], 0
    for found in _NAME.finditer(text):
        name = found[1] or found[2]
        if found[1] or "_" in name:
            parts += [escape(text[end : found.start()]), Markup("<code>{}</code>").format(name)]
            end = found.end()
    return Markup("").join([*parts, escape(text[end:])])


def split_description(description: str, summary: str) -> OperationText:
    """The parts of an operation's description, which begins with its summary."""
    scope = _SCOPE.search(description)
    text = _SCOPE.sub("", description).removeprefix(summary).lstrip(".: ")
    prose, *rest = _CAUSE.split(text)
    causes = tuple(_cause(head, cause.strip(" ;.")) for head, cause in zip(rest[::2], rest[1::2], strict=True))
    return OperationText(mark_names(prose.strip()), causes, scope[1] if scope else "")


def split_meanings(description: str, values: list[str]) -> tuple[str, dict[str, str]]:
    """What a description says of a field, and of each of its values ("passed: The newest run passed.")."""
    if not values:
        return description, {}
    pattern = rf"(?:^|(?<= ))({'|'.join(map(re.escape, values))}): "
    text, *rest = re.split(pattern, description)
    return text.strip(), dict(zip(rest[::2], (meaning.strip() for meaning in rest[1::2]), strict=True))


def _cause(head: str, text: str) -> Cause:
    """`head` is "NOT_FOUND and ABORTED", or "ABORTED with the reason R", which may have a status of its own."""
    codes, _, reason = head.partition(" with the reason ")
    statuses = tuple(_STATUS_OF_CODE[code] for code in codes.split(" and "))
    if not reason:
        return Cause(statuses, mark_names(text))
    own = STATUSES_OF_REASONS.get(reason)
    return Cause((own,) if own else statuses, mark_names(f"{text} (`{reason}`)"))
