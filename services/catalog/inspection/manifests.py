"""Reads package name and version from an app's manifest, by kind of archive."""

import plistlib
import re
import zipfile
from dataclasses import dataclass
from typing import Any

from services.catalog.inspection.archive_limits import check_directory, check_entries, read_manifest_bytes

_IOS = re.compile(r"(?:Payload/)?[^/]+\.app/Info\.plist")
_ANDROID = "AndroidManifest.xml"
_ZIP_MAGIC = b"PK"
_TEXT_LIMIT = 200
_STRING, _INTEGER = 3, 16


class UnreadableArtifact(Exception):
    """An artifact whose manifest cannot be read; the message says why."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """Values of the artifact's manifest; None where absent."""

    package_name: str | None = None
    version: str | None = None


def read_manifest(path: str) -> Manifest:
    """The manifest of the artifact at the path; empty for files that are not archives, such as app models."""
    with open(path, "rb") as file:
        if file.read(2) != _ZIP_MAGIC:
            return Manifest()
        try:
            check_directory(file)
            with zipfile.ZipFile(file) as archive:
                check_entries(archive.infolist())
                return _read_archive(archive)
        except zipfile.BadZipFile as problem:
            raise UnreadableArtifact(f"it is not a readable zip archive: {problem}") from None


def _read_archive(archive: zipfile.ZipFile) -> Manifest:
    if _ANDROID in archive.NameToInfo:
        return _apk(read_manifest_bytes(archive, archive.getinfo(_ANDROID)))
    for entry in archive.infolist():
        if _IOS.fullmatch(entry.filename):
            return _ipa(read_manifest_bytes(archive, entry))
    raise UnreadableArtifact("it has neither AndroidManifest.xml nor Payload/*.app/Info.plist")


def _ipa(content: bytes) -> Manifest:
    plist = plistlib.loads(content)
    if not isinstance(plist, dict):
        raise UnreadableArtifact("its Info.plist is not a dictionary")
    version = plist.get("CFBundleShortVersionString") or plist.get("CFBundleVersion")
    return Manifest(_text(plist.get("CFBundleIdentifier")), _text(version))


def _apk(content: bytes) -> Manifest:
    from pyaxmlparser.axmlparser import AXMLParser  # here, so that only an APK pays for it
    from pyaxmlparser.constants import START_TAG

    parser = AXMLParser(content)
    while parser.is_valid():
        if next(parser) == START_TAG:
            break
    if not parser.is_valid() or parser.name != "manifest":
        raise UnreadableArtifact("its AndroidManifest.xml is not a binary manifest")
    return _attributes(parser)


def _attributes(parser: Any) -> Manifest:
    found: dict[str, str | None] = {}
    for index in range(parser.getAttributeCount()):
        if parser.getAttributeValueType(index) in (_STRING, _INTEGER):
            found[parser.getAttributeName(index)] = parser.getAttributeValue(index)
    return Manifest(_text(found.get("package")), _text(found.get("versionName")))


def _text(value: object) -> str | None:
    text = str(value).strip() if isinstance(value, str | int | float) else ""
    return text if 0 < len(text) <= _TEXT_LIMIT and "\x00" not in text else None
