"""The child process that reads package name and version from an app's manifest, within limits, and prints them as JSON.

Run as `python -m services.catalog.inspection.manifest_reader PATH`. A malicious artifact can end it, not the service.
"""

import json
import plistlib
import re
import resource
import sys
import zipfile
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from services.catalog.inspection.archive_limits import (
    MIB,
    HostileArchive,
    check_directory,
    check_entries,
    read_manifest_bytes,
)
from services.catalog.model.builds import Inspection

CPU_SECONDS = 10
ADDRESS_SPACE = 512 * MIB
_IOS = re.compile(r"(?:Payload/)?[^/]+\.app/Info\.plist")
_ANDROID = "AndroidManifest.xml"
_ZIP_MAGIC = b"PK"
_TEXT_LIMIT = 200
_STRING, _INTEGER = 3, 16


class UnreadableArtifact(Exception):
    """An artifact whose manifest cannot be read; the message says why."""


def main(path: str) -> None:
    """Print `{"package_name", "version", "error": null}`, or only `{"error"}` or `{"hostile"}` with the reason."""
    limit()
    print(json.dumps(_inspect(path)))


def limit() -> None:
    """Set the resource limits of this process."""
    limits = {
        resource.RLIMIT_CPU: CPU_SECONDS,
        resource.RLIMIT_AS: ADDRESS_SPACE,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_CORE: 0,
    }
    for kind, value in limits.items():
        with suppress(ValueError, OSError):  # macOS refuses some; the parent's time limit holds everywhere
            resource.setrlimit(kind, (value, value))


def _inspect(path: str) -> dict[str, str | None]:
    try:
        return asdict(read_manifest(path))
    except HostileArchive as problem:
        return {"hostile": str(problem)}
    except UnreadableArtifact as problem:
        return {"error": str(problem)}
    except Exception as problem:  # (a parser can raise anything; the artifact is stored nevertheless)
        return {"error": f"its manifest cannot be read ({type(problem).__name__})"}


def read_manifest(path: str) -> Inspection:
    """The manifest of the artifact at the path; empty for files that are not archives, such as app models."""
    with open(path, "rb") as file:
        if file.read(2) != _ZIP_MAGIC:
            return Inspection()
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
    from pyaxmlparser.axmlparser import AXMLParser  # here, so that only an APK pays for it
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
    return text if 0 < len(text) <= _TEXT_LIMIT and "\x00" not in text else None


if __name__ == "__main__":
    main(sys.argv[1])
