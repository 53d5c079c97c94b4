"""Package name and version out of an artifact, and the caps that keep zip bombs out."""

import io
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from services.catalog.inspection.archive_limits import MAX_ENTRIES, MAX_MANIFEST_BYTES, HostileArchive
from services.catalog.inspection.manifest_reader import UnreadableArtifact, read_manifest
from services.catalog.model.builds import Inspection
from tests.fakes.artifacts import apk, archive, ipa, manifest


def inspected(folder: Path, content: bytes) -> Inspection:
    """What is read from a file with this content."""
    path = folder / "artifact"
    path.write_bytes(content)
    return read_manifest(str(path))


READABLE = [
    (apk("com.example.shop", "2.1.0"), Inspection("com.example.shop", "2.1.0")),
    (apk("com.example.shop", None), Inspection("com.example.shop", None)),
    (apk("com.example.shop", "  "), Inspection("com.example.shop", None)),
    (apk("com.example.shop", "v" * 201), Inspection("com.example.shop", None)),
    (apk("com.\u00e9xample.\u0436", "1 \u03b2"), Inspection("com.\u00e9xample.\u0436", "1 \u03b2")),
    (ipa("com.example.shop", "3.0", build="77"), Inspection("com.example.shop", "3.0")),
    (ipa("com.example.shop", None, build="77"), Inspection("com.example.shop", "77")),
    (archive({"Shop.app/Info.plist": b"<plist><dict/></plist>"}), Inspection()),
]


@pytest.mark.parametrize(("content", "expected"), READABLE)
def test_what_an_artifact_says_of_itself(tmp_path: Path, content: bytes, expected: Inspection) -> None:
    assert inspected(tmp_path, content) == expected


UNREADABLE = [
    (b"PK", "not a readable zip"),
    (apk()[:-30], "not a readable zip"),
    (archive({"readme.txt": b"hello"}), "neither AndroidManifest.xml nor"),
    (archive({"nested/Payload/Shop.app/Info.plist": b""}), "neither AndroidManifest.xml nor"),
    (archive({"AndroidManifest.xml": b"<manifest package='x'/>"}), "not a binary manifest"),
    (archive({"AndroidManifest.xml": b""}), "not a binary manifest"),
]


@pytest.mark.parametrize(("content", "problem"), UNREADABLE)
def test_an_unreadable_artifact_says_why(tmp_path: Path, content: bytes, problem: str) -> None:
    """The build is kept, with this text as its metadata_error."""
    with pytest.raises(UnreadableArtifact, match=problem):
        inspected(tmp_path, content)


def encrypted() -> bytes:
    """An APK whose entries claim to be encrypted."""
    content = bytearray(apk())
    for mark, offset in ((b"PK\x01\x02", 8), (b"PK\x03\x04", 6)):
        place = content.find(mark)
        while place >= 0:
            content[place + offset] |= 1
            place = content.find(mark, place + 1)
    return bytes(content)


def linked() -> bytes:
    """An APK whose manifest is a symbolic link."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        entry = zipfile.ZipInfo("AndroidManifest.xml")
        entry.external_attr = 0o120777 << 16
        made.writestr(entry, "/etc/passwd")
    return file.getvalue()


def overlapping() -> bytes:
    """Two directory entries for the same compressed bytes."""
    content = bytearray(archive({"a": b"x" * 1000, "b": b"x" * 1000}))
    second = content.rfind(b"PK\x01\x02")
    content[second + 42 : second + 46] = struct.pack("<I", 0)
    return bytes(content)


def swelling() -> bytes:
    """An entry that says it unpacks to a gigabyte."""
    content = bytearray(archive({"zeros": b"\x00" * 1000}))
    entry = content.rfind(b"PK\x01\x02")
    content[entry + 24 : entry + 28] = struct.pack("<I", 2**30)
    return bytes(content)


def repeated(count: int) -> bytes:
    """A directory that names one entry so many times; its end record's 16 bits cannot say how many."""
    content = archive({"a": b""})
    entry, end = content.rfind(b"PK\x01\x02"), content.rfind(b"PK\x05\x06")
    directory = content[entry:end] * count
    last = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, count % 65_536, count % 65_536, len(directory), entry, 0)
    return content[:entry] + directory + last


def declaring(count: int, size: int) -> bytes:
    """A 64-bit end record that declares a directory of this many entries and bytes."""
    record = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, count, count, size, 0)
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, 2, 1)
    return b"PK" + record + locator + struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 0xFFFF, 0xFFFF, 0, 0, 0)


def too_big(name: str) -> bytes:
    """A manifest that unpacks to more than 4 MiB."""
    return archive({name: b"\x00" * (MAX_MANIFEST_BYTES + 1)})


HOSTILE: dict[str, Callable[[], bytes]] = {
    "names that lead out": lambda: archive({"../../etc/passwd": b"", "AndroidManifest.xml": manifest("a.b", "1")}),
    "absolute names": lambda: archive({"/etc/passwd": b""}),
    "backslashes": lambda: archive({"a\\..\\..\\b": b""}),
    "ratio": swelling,
    "manifest size": lambda: too_big("AndroidManifest.xml"),
    "plist size": lambda: too_big("Payload/A.app/Info.plist"),
    "overlap": overlapping,
    "entries, without saying so": lambda: repeated(MAX_ENTRIES + 1),
    "declared entries": lambda: declaring(10**6, 100),
    "declared size of the directory": lambda: declaring(10, 2**40),
    "encryption": encrypted,
    "symbolic link": linked,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_archive_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(HostileArchive, match=r"^its? "):
        inspected(tmp_path, HOSTILE[name]())
