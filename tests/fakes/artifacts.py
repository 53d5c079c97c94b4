"""Artifacts made in code: an APK with a binary manifest, an IPA, and archives that mean harm."""

import plistlib
import struct

from tests.fakes.workspaces import zip_files as archive

ANDROID = "http://schemas.android.com/apk/res/android"
_NONE = 0xFFFFFFFF
_STRING = 0x03


def apk(package: str = "com.example.shop", version: str | None = "1.0", *, extra: bytes = b"classes") -> bytes:
    """A minimal APK: a binary AndroidManifest.xml and one more entry, whose bytes make two builds differ."""
    return archive({"AndroidManifest.xml": manifest(package, version), "classes.dex": extra})


def ipa(bundle_id: str = "com.example.shop", version: str | None = "1.0", *, build: str | None = None) -> bytes:
    """A minimal IPA: Payload/Shop.app/Info.plist."""
    named = {"CFBundleIdentifier": bundle_id, "CFBundleShortVersionString": version, "CFBundleVersion": build}
    plist = plistlib.dumps({key: value for key, value in named.items() if value is not None})
    return archive({"Payload/Shop.app/Info.plist": plist, "Payload/Shop.app/Shop": b"code"})


def manifest(package: str, version: str | None) -> bytes:
    """A binary Android manifest: `<manifest package=... android:versionName=.../>`."""
    strings = ["versionName", "android", ANDROID, "manifest", "package", package, version or ""]
    attributes = [(_NONE, 4, 5)] + ([(2, 0, 6)] if version is not None else [])
    body = _pool(strings) + _namespace(0x0100) + _start(attributes) + _end() + _namespace(0x0101)
    return struct.pack("<HHI", 0x0003, 8, 8 + len(body)) + body


def _pool(strings: list[str]) -> bytes:
    encoded = [_utf16(text) for text in strings]
    offsets = [sum(map(len, encoded[:index])) for index in range(len(encoded))]
    content = b"".join(encoded)
    content += b"\x00" * (-len(content) % 4)
    start = 28 + 4 * len(strings)
    head = struct.pack("<HHIIIIII", 0x0001, 28, start + len(content), len(strings), 0, 0, start, 0)
    return head + struct.pack(f"<{len(offsets)}I", *offsets) + content


def _utf16(text: str) -> bytes:
    return struct.pack("<H", len(text)) + text.encode("utf-16-le") + b"\x00\x00"


def _node(kind: int, body: bytes) -> bytes:
    return struct.pack("<HHIII", kind, 16, 16 + len(body), 1, _NONE) + body


def _namespace(kind: int) -> bytes:
    return _node(kind, struct.pack("<II", 1, 2))


def _start(attributes: list[tuple[int, int, int]]) -> bytes:
    head = struct.pack("<IIHHHHHH", _NONE, 3, 20, 20, len(attributes), 0, 0, 0)
    return _node(0x0102, head + b"".join(_attribute(*each) for each in attributes))


def _attribute(namespace: int, name: int, value: int) -> bytes:
    return struct.pack("<IIIHBBI", namespace, name, value, 8, 0, _STRING, value)


def _end() -> bytes:
    return _node(0x0103, struct.pack("<II", _NONE, 3))
