"""Artifacts made in code: APKs with binary manifests and resources, IPAs, and archives that mean harm."""

import plistlib
import struct
from dataclasses import dataclass

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


@dataclass(frozen=True)
class Named:
    """An attribute of a manifest: its value is a text, or a kind and number of Android's Res_value.

    `resource_id` 0: it has none. `written` is the text that the compiler keeps beside a number.
    """

    name: str
    value: str | tuple[int, int]
    resource_id: int = 0
    namespace: str = ANDROID
    written: str = ""


def manifest(package: str, version: str | None, *others: Named, element: str = "manifest") -> bytes:
    """A binary Android manifest: `<manifest package=... android:versionName=.../>` and other attributes."""
    own = [Named("package", package, namespace="")] if package else []
    named = [*others, *own, *([Named("versionName", version)] if version is not None else [])]
    named.sort(key=lambda each: not each.resource_id)  # the resource map covers the first texts of the pool
    strings = [each.name for each in named] + ["android", ANDROID, element, ""]
    for each in named:
        strings += [text for text in (each.value, each.written, each.namespace) if isinstance(text, str)]
    ids = [each.resource_id for each in named if each.resource_id]
    head = struct.pack(f"<HHI{len(ids)}I", 0x0180, 8, 8 + 4 * len(ids), *ids) if ids else b""
    attributes = b"".join(_attribute(each, place, strings) for place, each in enumerate(named))
    start = struct.pack("<IIHHHHHH", _NONE, strings.index(element), 20, 20, len(named), 0, 0, 0)
    body = _pool(strings) + head + _namespace(0x0100) + _node(0x0102, start + attributes) + _end() + _namespace(0x0101)
    return struct.pack("<HHI", 0x0003, 8, 8 + len(body)) + body


def resources(*entries: tuple[int, int] | str | None, sparse: bool = False, language: str = "") -> bytes:
    """A resources.arsc whose package 0x7f has one type, 0x01, with these texts, values or gaps."""
    texts = [entry for entry in entries if isinstance(entry, str)]
    values = [(_STRING, texts.index(entry)) if isinstance(entry, str) else entry for entry in entries]
    present = [(number, value) for number, value in enumerate(values) if value is not None]
    packed = [struct.pack("<HHIHBBI", 8, 0, 0, 8, 0, *value) for _, value in present]
    places = {number: 16 * position for position, (number, _) in enumerate(present)}
    if sparse:
        offsets = b"".join(struct.pack("<HH", number, place // 4) for number, place in places.items())
    else:
        offsets = b"".join(struct.pack("<I", places.get(number, _NONE)) for number in range(len(values)))
    kinds = b"".join(_type(language.encode(), offsets, b"".join(packed), len(offsets) // 4, flags=int(sparse)))
    package = struct.pack("<HHII256xIIIII", 0x0200, 288, 288 + len(kinds), 0x7F, 0, 0, 0, 0, 0) + kinds
    body = _pool(texts, utf8=True) + package
    return struct.pack("<HHII", 0x0002, 12, 12 + len(body), 1) + body


def _type(language: bytes, offsets: bytes, entries: bytes, count: int, *, flags: int) -> tuple[bytes, ...]:
    config = struct.pack("<IHH2s18x", 28, 0, 0, language)
    start = 20 + len(config)
    head = struct.pack(
        "<HHIBBHII", 0x0201, start, start + len(offsets) + len(entries), 1, flags, 0, count, start + len(offsets)
    )
    return head, config, offsets, entries


def _pool(strings: list[str], *, utf8: bool = False) -> bytes:
    encoded = [_utf8(text) if utf8 else _utf16(text) for text in strings]
    offsets = [sum(map(len, encoded[:index])) for index in range(len(encoded))]
    content = b"".join(encoded)
    content += b"\x00" * (-len(content) % 4)
    start = 28 + 4 * len(strings)
    head = struct.pack("<HHIIIIII", 0x0001, 28, start + len(content), len(strings), 0, 0x100 if utf8 else 0, start, 0)
    return head + struct.pack(f"<{len(offsets)}I", *offsets) + content


def _utf16(text: str) -> bytes:
    return struct.pack("<H", len(text)) + text.encode("utf-16-le") + b"\x00\x00"


def _utf8(text: str) -> bytes:
    content = text.encode()
    lengths = (len(text), len(content))
    return b"".join(_length8(size) for size in lengths) + content + b"\x00"


def _length8(size: int) -> bytes:
    return bytes([0x80 | size >> 8, size & 0xFF]) if size > 0x7F else bytes([size])


def _node(kind: int, body: bytes) -> bytes:
    return struct.pack("<HHIII", kind, 16, 16 + len(body), 1, _NONE) + body


def _namespace(kind: int) -> bytes:
    return _node(kind, struct.pack("<II", 1, 2))


def _attribute(named: Named, place: int, strings: list[str]) -> bytes:
    namespace = strings.index(named.namespace) if named.namespace else _NONE
    if isinstance(named.value, str):
        kind, number = _STRING, strings.index(named.value)
        raw = number
    else:
        (kind, number), raw = named.value, strings.index(named.written) if named.written else _NONE
    return struct.pack("<IIIHBBI", namespace, place, raw, 8, 0, kind, number)


def _end() -> bytes:
    return _node(0x0103, struct.pack("<II", _NONE, 3))
