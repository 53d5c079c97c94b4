"""Limits on archives, checked before anything is unpacked: plausible apps pass, zip bombs do not."""

import stat
import struct
import zipfile
from collections.abc import Sequence
from typing import BinaryIO

MIB = 1024 * 1024
MAX_ENTRIES = 65_535
MAX_DIRECTORY_BYTES = 16 * MIB
MAX_RATIO = 200
MAX_TOTAL_BYTES = 16 * 1024 * MIB
MAX_MANIFEST_BYTES = 4 * MIB

_LOCAL_HEADER_BYTES = 30
_END = struct.Struct("<4s4H2LH")
_END64 = struct.Struct("<4sQ2H2L4Q")
_LOCATOR64 = struct.Struct("<4sLQL")


class HostileArchive(Exception):
    """An archive that no build tool produces; the message says which limit it exceeds."""


def check_directory(file: BinaryIO) -> None:
    """Check the size that the end record declares, before the directory is read into memory.

    Raises:
        HostileArchive: the archive exceeds a limit, or is made to deceive.
    """
    entries, size = _declared_size(file)
    if entries > MAX_ENTRIES:
        raise HostileArchive(f"it declares {entries} entries; at most {MAX_ENTRIES} are read")
    if size > MAX_DIRECTORY_BYTES:
        raise HostileArchive(f"its directory has {size} bytes; at most {MAX_DIRECTORY_BYTES} are read")


def check_entries(entries: Sequence[zipfile.ZipInfo]) -> None:
    """Check the number, names, sizes, compression ratio and overlap of the entries.

    Raises:
        HostileArchive: the archive exceeds a limit, or is made to deceive.
    """
    if len(entries) > MAX_ENTRIES:
        raise HostileArchive(f"it has {len(entries)} entries; at most {MAX_ENTRIES} are read")
    for entry in entries:
        if _escapes(entry.orig_filename):
            raise HostileArchive("it has an entry whose name leads out of the archive")
    packed, unpacked = sum(e.compress_size for e in entries), sum(e.file_size for e in entries)
    if unpacked > MAX_TOTAL_BYTES or unpacked > MAX_RATIO * max(packed, MIB):
        raise HostileArchive(f"its entries unpack to {unpacked} bytes from {packed}")
    _check_overlap(entries)


def read_entry(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, most: int = MAX_MANIFEST_BYTES) -> bytes:
    """The bytes of a manifest or of resources, at most so many even if the header declares less.

    Raises:
        HostileArchive: the archive exceeds a limit, or is made to deceive.
    """
    if entry.flag_bits & 1:
        raise HostileArchive("its manifest is encrypted")
    if stat.S_ISLNK(entry.external_attr >> 16):
        raise HostileArchive("its manifest is a symbolic link")
    with archive.open(entry) as file:
        content = file.read(most + 1)
    if len(content) > most or entry.file_size > most:
        raise HostileArchive(f"its manifest has more than {most} bytes")
    return content


def _check_overlap(entries: Sequence[zipfile.ZipInfo]) -> None:
    end = 0
    for entry in sorted(entries, key=lambda e: e.header_offset):
        if entry.header_offset < end:
            raise HostileArchive("its entries overlap")
        end = entry.header_offset + _LOCAL_HEADER_BYTES + entry.compress_size


def _escapes(name: str) -> bool:
    parts = name.replace("\\", "/").split("/")
    return ".." in parts or name.startswith(("/", "\\")) or parts[0].endswith(":") or "\x00" in name


def _declared_size(file: BinaryIO) -> tuple[int, int]:
    size = file.seek(0, 2)
    file.seek(max(0, size - _END.size - 65_535))
    tail = file.read()
    place = tail.rfind(b"PK\x05\x06")
    if place < 0 or len(tail) - place < _END.size:
        raise zipfile.BadZipFile("the end of the archive is missing")
    _, _, _, _, entries, directory, _, _ = _END.unpack_from(tail, place)
    if entries == 0xFFFF or directory == 0xFFFFFFFF:
        return _declared_size64(file, tail, place)
    return entries, directory


def _declared_size64(file: BinaryIO, tail: bytes, place: int) -> tuple[int, int]:
    if place < _LOCATOR64.size:
        raise zipfile.BadZipFile("the end of the 64-bit archive is missing")
    mark, _, offset, _ = _LOCATOR64.unpack_from(tail, place - _LOCATOR64.size)
    if mark != b"PK\x06\x07":
        return 0xFFFF, 0
    file.seek(min(offset, 2**62))
    record = file.read(_END64.size)
    if len(record) < _END64.size:
        raise zipfile.BadZipFile("the end of the 64-bit archive is missing")
    fields = _END64.unpack(record)
    return fields[7], fields[8]
