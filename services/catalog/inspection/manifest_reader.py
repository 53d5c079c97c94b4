"""Reads package name and version from an app's manifest. It runs in a child process: an artifact may be malicious."""

import json
import logging
import os
import plistlib
import re
import zipfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from services.catalog.inspection.archive_limits import (
    HostileArchive,
    check_directory,
    check_entries,
    read_manifest_bytes,
)
from services.catalog.model.builds import Inspection
from services.flows.labels import has_controls

PARSERS = ("pyaxmlparser.axmlparser", "pyaxmlparser.constants")
"""What only an APK needs; the service itself does not import it."""

_IOS = re.compile(r"(?:Payload/)?[^/]+\.app/Info\.plist")
_ANDROID = "AndroidManifest.xml"
_ZIP_MAGIC = b"PK"
_TEXT_LIMIT = 200
_STRING, _INTEGER = 3, 16


class UnreadableArtifact(Exception):
    """An artifact whose manifest cannot be read; the message says why."""


def is_archive(path: str | Path) -> bool:
    """Whether the file may be a zip archive, by its first bytes; an app model, for example, is not."""
    with open(path, "rb") as file:
        return file.read(len(_ZIP_MAGIC)) == _ZIP_MAGIC


def answer(path: bytes) -> bytes:
    """As JSON: `{"package_name", "version", "error": null}`, or only `{"error"}` or `{"hostile"}` with the reason."""
    logging.disable()  # the parser logs a line for every strange chunk
    return json.dumps(_inspect(os.fsdecode(path))).encode()


def _inspect(path: str) -> dict[str, str | None]:
    try:
        return asdict(read_manifest(path))
    except HostileArchive as problem:
        return {"hostile": str(problem)}
    except UnreadableArtifact as problem:
        return {"error": str(problem)}
    except MemoryError:
        raise
    except Exception as problem:  # (a parser can raise anything; the artifact is stored nevertheless)
        return {"error": f"its manifest cannot be read ({type(problem).__name__})"}


def read_manifest(path: str) -> Inspection:
    """The manifest of the archive at the path. UnreadableArtifact and HostileArchive."""
    with open(path, "rb") as file:
        try:
            check_directory(file)
            with zipfile.ZipFile(file) as archive:
                check_entries(archive.infolist())
                return _read_archive(archive)
        except zipfile.BadZipFile as problem:
            raise UnreadableArtifact(f"it is not a readable zip archive: {problem}") from None


def _read_archive(archive: zipfile.ZipFile) -> Inspection:
    if _ANDROID in archive.NameToInfo:
        return _apk(read_manifest_bytes(archive, archive.getinfo(_ANDROID)))
    for entry in archive.infolist():
        if _IOS.fullmatch(entry.filename):
            return _ipa(read_manifest_bytes(archive, entry))
    raise UnreadableArtifact("it has neither AndroidManifest.xml nor Payload/*.app/Info.plist")


def _ipa(content: bytes) -> Inspection:
    plist = plistlib.loads(content)
    if not isinstance(plist, dict):
        raise UnreadableArtifact("its Info.plist is not a dictionary")
    version = plist.get("CFBundleShortVersionString") or plist.get("CFBundleVersion")
    return Inspection(_text(plist.get("CFBundleIdentifier")), _text(version))


def _apk(content: bytes) -> Inspection:
    from pyaxmlparser.axmlparser import AXMLParser  # here, so that the service does not pay for it
    from pyaxmlparser.constants import START_TAG

    parser = AXMLParser(content)
    while parser.is_valid():
        if next(parser) == START_TAG:
            break
    if not parser.is_valid() or parser.name != "manifest":
        raise UnreadableArtifact("its AndroidManifest.xml is not a binary manifest")
    return _attributes(parser)


def _attributes(parser: Any) -> Inspection:
    found: dict[str, str | None] = {}
    for index in range(parser.getAttributeCount()):
        if parser.getAttributeValueType(index) in (_STRING, _INTEGER):
            found[parser.getAttributeName(index)] = parser.getAttributeValue(index)
    return Inspection(_text(found.get("package")), _text(found.get("versionName")))


def _text(value: object) -> str | None:
    text = str(value).strip() if isinstance(value, str | int | float) else ""
    return text if 0 < len(text) <= _TEXT_LIMIT and not has_controls(text) else None
