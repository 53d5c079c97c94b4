"""Android's compiled resources: the first element of a binary XML file, and the text of a resource.

The format is that of ResourceTypes.h in the Android Open Source Project. As on a device, the resource id of an
attribute counts, not its name, which shrinkers blank or change.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

MAX_CHUNKS = 200_000
# So many references of a resource to the next are followed.
MAX_REFERENCES = 10

_XML, _POOL, _TABLE, _RESOURCE_MAP, _START = 0x0003, 0x0001, 0x0002, 0x0180, 0x0102
_PACKAGE, _TYPE = 0x0200, 0x0201
_NONE = 0xFFFFFFFF
_UTF8 = 0x100
_REFERENCE, _TEXT, _FLOAT, _DECIMAL, _HEXADECIMAL, _BOOLEAN = 0x01, 0x03, 0x04, 0x10, 0x11, 0x12
_SPARSE, _SHORT_OFFSETS = 0x01, 0x02
_COMPLEX, _COMPACT = 0x01, 0x08


class UnreadableBinary(Exception):
    """The bytes are not in the format; the message says what is wrong."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute: its resource id (0: none), and its value as text or as a reference to a resource."""

    resource_id: int
    namespace: str
    name: str
    text: str | None
    reference: int | None = None


@dataclass(frozen=True, slots=True)
class _Chunk:
    """A piece of the file: its kind, and where it, its content and its end are."""

    kind: int
    start: int
    body: int
    end: int


def read_root(content: bytes) -> tuple[str, list[Attribute]]:
    """The name and the attributes of the first element of a binary XML file.

    Raises:
        UnreadableBinary: the file is malformed.
    """
    try:
        return _read_root(content)
    except struct.error:
        raise UnreadableBinary("it is cut off") from None


def find_text(table: bytes, resource_id: int) -> str | None:
    """The text of a resource in a resources.arsc, in the default configuration if it has one.

    Raises:
        UnreadableBinary: the file is malformed.
    """
    try:
        return _find_text(table, resource_id)
    except struct.error:
        raise UnreadableBinary("it is cut off") from None


def _read_root(content: bytes) -> tuple[str, list[Attribute]]:
    if len(content) < 8 or not _is_xml(content):
        raise UnreadableBinary("it is not a binary XML file")
    pool: _Pool | None = None
    ids: tuple[int, ...] = ()
    for chunk in _chunks(content, struct.unpack_from("<H", content, 2)[0], len(content)):
        if chunk.kind == _POOL and pool is None:
            pool = _Pool(content, chunk)
        elif chunk.kind == _RESOURCE_MAP:
            ids = struct.unpack_from(f"<{(chunk.end - chunk.body) // 4}I", content, chunk.body)
        elif chunk.kind == _START and pool is not None:
            return pool.text(struct.unpack_from("<I", content, chunk.body + 4)[0]), _attributes(
                content, chunk, pool, ids
            )
    raise UnreadableBinary("it has no element")


def _is_xml(content: bytes) -> bool:
    """Whether the file says so, or has texts where such a file has them: Android does not look at the first number."""
    kind, header = struct.unpack_from("<HH", content)
    return kind == _XML or (header == 8 and content[header : header + 2] == struct.pack("<H", _POOL))


def _attributes(content: bytes, chunk: _Chunk, pool: "_Pool", ids: tuple[int, ...]) -> list[Attribute]:
    first, stride, count = struct.unpack_from("<HHH", content, chunk.body + 8)
    return [
        _attribute(content, chunk.body + first + index * (stride or 20), pool, ids)
        for index in range(min(count, (chunk.end - chunk.body) // 20))
    ]


def _attribute(content: bytes, place: int, pool: "_Pool", ids: tuple[int, ...]) -> Attribute:
    namespace, name, raw, _, _, kind, value = struct.unpack_from("<IIIHBBI", content, place)
    return Attribute(
        resource_id=ids[name] if name < len(ids) else 0,
        namespace=pool.text(namespace),
        name=pool.text(name),
        text=_value_text(kind, value, raw, pool),
        reference=value if kind == _REFERENCE else None,
    )


def _value_text(kind: int, value: int, raw: int, pool: "_Pool") -> str | None:
    """The value as the file's author wrote it, where the file keeps that: 3.10 is the number 3.1."""
    if kind == _TEXT:
        return pool.text(value)
    if kind == _REFERENCE:
        return None
    if written := pool.text(raw):
        return written
    if kind == _FLOAT:
        return str(float(f"{struct.unpack('<f', struct.pack('<I', value))[0]:.7g}"))
    if kind in (_DECIMAL, _HEXADECIMAL):
        return str(value - 2**32 if value >= 2**31 else value)
    if kind == _BOOLEAN:
        return "true" if value else "false"
    return None


def _chunks(content: bytes, start: int, end: int) -> Iterator[_Chunk]:
    for _ in range(MAX_CHUNKS):
        if start + 8 > end:
            return
        kind, header, size = struct.unpack_from("<HHI", content, start)
        if size < 8 or header < 8:
            raise UnreadableBinary("it has a piece without a size")
        yield _Chunk(kind, start, start + header, min(start + size, end))
        start += size
    raise UnreadableBinary(f"it has more than {MAX_CHUNKS} pieces")


class _Pool:
    """The texts of a file by their numbers; each is decoded when it is asked for."""

    def __init__(self, content: bytes, chunk: _Chunk) -> None:
        self._content = content
        self._count, _, flags, start, _ = struct.unpack_from("<IIIII", content, chunk.start + 8)
        self._offsets = chunk.body
        self._texts = chunk.start + start
        self._utf8 = bool(flags & _UTF8)

    def text(self, number: int) -> str:
        """The text, empty if there is none of this number."""
        if number >= self._count:
            return ""
        place = self._texts + struct.unpack_from("<I", self._content, self._offsets + 4 * number)[0]
        if self._utf8:
            _, place = self._length8(place)
            size, place = self._length8(place)
            return self._content[place : place + size].decode("utf-8", "replace")
        (size,) = struct.unpack_from("<H", self._content, place)
        place += 2
        if size & 0x8000:
            size, place = (size & 0x7FFF) << 16 | struct.unpack_from("<H", self._content, place)[0], place + 2
        return self._content[place : place + 2 * size].decode("utf-16-le", "replace")

    def _length8(self, place: int) -> tuple[int, int]:
        size = self._content[place] if place < len(self._content) else 0
        if size & 0x80:
            return (size & 0x7F) << 8 | struct.unpack_from("<B", self._content, place + 1)[0], place + 2
        return size, place + 1


def _find_text(table: bytes, resource_id: int) -> str | None:
    if len(table) < 12 or struct.unpack_from("<H", table)[0] != _TABLE:
        raise UnreadableBinary("it is not a table of resources")
    chunks = list(_chunks(table, struct.unpack_from("<H", table, 2)[0], len(table)))
    pool = next((_Pool(table, chunk) for chunk in chunks if chunk.kind == _POOL), None)
    packages = [chunk for chunk in chunks if chunk.kind == _PACKAGE]
    for _ in range(MAX_REFERENCES):
        value = _value(table, packages, resource_id)
        if value is None or pool is None:
            return None
        kind, number = value
        if kind != _REFERENCE:
            return _value_text(kind, number, _NONE, pool)
        resource_id = number
    return None


def _value(table: bytes, packages: list[_Chunk], resource_id: int) -> tuple[int, int] | None:
    """The kind and the number of the value of a resource; that of the default configuration rather than another."""
    values = [
        (default, value)
        for package in packages
        if struct.unpack_from("<I", table, package.start + 8)[0] == resource_id >> 24
        for chunk in _chunks(table, package.body, package.end)
        if chunk.kind == _TYPE and table[chunk.start + 8] == resource_id >> 16 & 0xFF
        for default, value in [(_is_default(table, chunk), _entry(table, chunk, resource_id & 0xFFFF))]
        if value is not None
    ]
    return max(values, key=lambda each: each[0])[1] if values else None


def _is_default(table: bytes, chunk: _Chunk) -> bool:
    """Whether the values are those for every device: nothing but the size is set in their configuration."""
    (size,) = struct.unpack_from("<I", table, chunk.start + 20)
    return not any(table[chunk.start + 24 : min(chunk.start + 20 + size, chunk.body)])


def _entry(table: bytes, chunk: _Chunk, index: int) -> tuple[int, int] | None:
    flags, _, count, entries = struct.unpack_from("<BHII", table, chunk.start + 9)
    offset = _entry_offset(table, chunk, index, count, flags)
    if offset is None:
        return None
    place = chunk.start + entries + offset
    _, entry_flags = struct.unpack_from("<HH", table, place)
    if entry_flags & _COMPACT:
        return entry_flags >> 8, struct.unpack_from("<I", table, place + 4)[0]
    if entry_flags & _COMPLEX:
        return None
    _, _, kind, number = struct.unpack_from("<HBBI", table, place + 8)
    return kind, number


def _entry_offset(table: bytes, chunk: _Chunk, index: int, count: int, flags: int) -> int | None:
    if flags & _SPARSE:
        pairs = struct.iter_unpack("<HH", table[chunk.body : chunk.body + 4 * min(count, 0x10000)])
        return next((offset * 4 for number, offset in pairs if number == index), None)
    if index >= count:
        return None
    if flags & _SHORT_OFFSETS:
        (offset,) = struct.unpack_from("<H", table, chunk.body + 2 * index)
        return None if offset == 0xFFFF else offset * 4
    (offset,) = struct.unpack_from("<I", table, chunk.body + 4 * index)
    return None if offset == _NONE else int(offset)
