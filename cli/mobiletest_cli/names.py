"""Ids and names of files that come from elsewhere, checked before they become part of an address or a path."""

from __future__ import annotations

import re
from unicodedata import normalize

from mobiletest_automation.flows.printable import visible
from mobiletest_cli.errors import USAGE, CliError

_ID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", re.ASCII)
# What a name of a file cannot have on one system or another, of what is printable.
_UNUSABLE = re.compile(r"[\t\n<>:\"/\\|?*\ufffd]")
# Devices of Windows, whatever their ending, and its short name of .git.
_RESERVED = re.compile(
    r"(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³])(?:[ .].*)?|git~[0-9]+", re.ASCII | re.IGNORECASE
)
# Characters without which some systems read a name: one of them before ".git" does not make it another.
_IGNORED = "\u200b\u200c\u200d"
_NAME_BYTES, _ENDING_LENGTH = 200, 10
_SEGMENT = re.compile(r"[^\x00-\x20\x7f-\xa0%?#\\\ud800-\udfff]+")


def is_id(text: object) -> bool:
    """Whether the value is a UUID."""
    return isinstance(text, str) and _ID.fullmatch(text) is not None


def check_path(path: str) -> str:
    """The path of a resource of the API.

    Raises:
        CliError: an id in it is not one, and would lead to another resource.
    """
    if all(_SEGMENT.fullmatch(segment) and segment.strip(".") for segment in path.split("/")):
        return path
    raise CliError(f'"{path}" is not a path of the API: one of its parts is not an id', USAGE)


def file_name(text: str, fallback: str) -> str:
    """The text as the name of a visible file in its folder on every system; `fallback` if nothing is left of it."""
    name = _UNUSABLE.sub("_", visible(text)).strip(f". {_IGNORED}")
    if _RESERVED.fullmatch(name):
        name = f"_{name}"
    stem, dot, ending = name.rpartition(".")
    if not dot or len(ending) > _ENDING_LENGTH:
        stem, ending = name, ""
    kept = stem.encode()[:_NAME_BYTES].decode(errors="ignore")
    return f"{kept}.{ending}" if ending else kept.rstrip(f". {_IGNORED}") or fallback


def folded(name: object) -> str:
    """What names have in common that are the same file on some systems."""
    return normalize("NFC", normalize("NFC", str(name)).casefold())


def unique_name(wanted: str, taken: set[str]) -> str:
    """A name of a file that is none of those taken, on no system; it is taken then."""
    name, number = file_name(wanted, "artifact"), 1
    stem, dot, ending = name.rpartition(".")
    while folded(name) in taken:
        number += 1
        name = f"{stem}-{number}.{ending}" if dot else f"{ending}-{number}"
    taken.add(folded(name))
    return name
