"""Reads the archive of a workspace within limits. It runs in a child process: an archive may be malicious."""

import stat
import unicodedata
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from services.catalog.inspection.archive_limits import HostileArchive, check_directory, check_entries
from services.catalog.model.text import has_controls
from services.flows.nodes import quote
from services.flows.workspace import find_root
from services.flows.workspace_media import FILE_BYTES

FILES_LIMIT = 2_000
DEPTH_LIMIT = 20
PATH_LIMIT = 400
TEXT_BYTES = 1024**2
"""Of one file; a flow may have a quarter of it."""
TEXTS_BYTES = 32 * 1024**2
UNPACKED_BYTES = 256 * 1024**2
TEXT_ENDINGS = (".yaml", ".yml", ".js")
IGNORED = frozenset(("__MACOSX", ".git", ".DS_Store", "Thumbs.db"))
"""What systems add to folders; a file is left out if a part of its path is one of these."""
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED, _UTF8 = 0x1, 0x800


class ArchivedFiles(Mapping[str, bytes]):
    """Files of an open archive by their paths, read one at a time; of one above FILE_BYTES, a byte more than these."""

    def __init__(self, archive: zipfile.ZipFile, entries: Mapping[str, zipfile.ZipInfo]) -> None:
        self._archive = archive
        self._entries = entries

    def __getitem__(self, path: str) -> bytes:
        return _read(self._archive, self._entries[path], FILE_BYTES + 1)

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


@dataclass(frozen=True, slots=True)
class WorkspaceFiles:
    """The texts of a workspace by their paths, and its other files, which can be read while the archive is open."""

    texts: Mapping[str, str]
    others: Mapping[str, bytes]


@contextmanager
def open_archive(path: str) -> Iterator[WorkspaceFiles]:
    """The files of the workspace in a zip archive. HostileArchive, which says what to do."""
    with open(path, "rb") as file:
        with _reading():
            check_directory(file)
            archive = zipfile.ZipFile(file)
        with archive:
            yield _read_all(archive, _check_all(archive.infolist()))


def read_file(path: str, name: str) -> bytes:
    """The content of one of the other files of the workspace in a zip archive. HostileArchive; KeyError."""
    with open(path, "rb") as file, _reading(), zipfile.ZipFile(file) as archive:
        entries = _check_all(archive.infolist())
        return _read(archive, entries[find_root(entries) + name], FILE_BYTES + 1)


@contextmanager
def _reading() -> Iterator[None]:
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, NotImplementedError) as problem:
        raise HostileArchive(f"this is not a readable zip archive: {problem}") from None


def _check_all(listed: Sequence[zipfile.ZipInfo]) -> dict[str, zipfile.ZipInfo]:
    """The files by their paths, which are safe and unique."""
    found: dict[str, zipfile.ZipInfo] = {}
    for entry in listed:
        path = _path(entry)
        if not IGNORED.isdisjoint(path.split("/")):
            continue
        _check_entry(entry, path)
        if entry.is_dir() or path.endswith("/"):
            continue
        if path in found:
            raise HostileArchive(f"the file {quote(path)} is in it twice")
        found[path] = entry
    if len(found) > FILES_LIMIT:
        advice = "send only the folder of the flows, or several folders as workspaces of their own"
        raise HostileArchive(f"the folder has {len(found)} files; at most {FILES_LIMIT} are taken: {advice}")
    _check_sizes(listed)
    return found


def _path(entry: zipfile.ZipInfo) -> str:
    """The path with `/`. Names without the mark of UTF-8 are in UTF-8 nevertheless if they can be.

    Archives from macOS may have letters apart from their accents; flows name the files with whole letters.
    """
    name = entry.orig_filename
    if not entry.flag_bits & _UTF8:
        try:
            name = name.encode("cp437").decode()
        except UnicodeError:
            name = entry.orig_filename
    return unicodedata.normalize("NFC", name.replace("\\", "/").removeprefix("./"))


def _check_entry(entry: zipfile.ZipInfo, path: str) -> None:
    parts = path.rstrip("/").split("/")
    if ".." in parts or path.startswith("/") or parts[0].endswith(":"):
        raise HostileArchive(f"the path {quote(path)} leads out of the folder: send the folder without it")
    if "" in parts or "." in parts or has_controls(path) or len(path) > PATH_LIMIT:
        raise HostileArchive(f"{quote(path)} is no plain path of at most {PATH_LIMIT} characters")
    if len(parts) > DEPTH_LIMIT:
        raise HostileArchive(f"{quote(path)} lies more than {DEPTH_LIMIT} folders deep")
    if stat.S_IFMT(entry.external_attr >> 16) not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise HostileArchive(f"{quote(path)} is a link or no file: put the file itself in its place")
    if entry.flag_bits & _ENCRYPTED or entry.compress_type not in _METHODS:
        raise HostileArchive(f"{quote(path)} is encrypted or packed in an unusual way: send a plain zip archive")


def _check_sizes(listed: Sequence[zipfile.ZipInfo]) -> None:
    unpacked = sum(entry.file_size for entry in listed)
    if unpacked > UNPACKED_BYTES:
        raise HostileArchive(f"its files have {unpacked} bytes; at most {UNPACKED_BYTES} are taken")
    check_entries(listed)


def _read_all(archive: zipfile.ZipFile, entries: dict[str, zipfile.ZipInfo]) -> WorkspaceFiles:
    root, size = find_root(entries), 0
    texts: dict[str, str] = {}
    others: dict[str, zipfile.ZipInfo] = {}
    for path, entry in entries.items():
        text = _read_text(archive, entry) if path.endswith(TEXT_ENDINGS) else None
        if text is None:
            others[path.removeprefix(root)] = entry
            continue
        size += len(text)
        if size > TEXTS_BYTES:
            raise HostileArchive(f"its flows and scripts have more than {TEXTS_BYTES} bytes: send fewer of them")
        texts[path.removeprefix(root)] = text
    return WorkspaceFiles(texts, ArchivedFiles(archive, others))


def _read_text(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> str | None:
    """The text of a file; None if it is too long or not in UTF-8."""
    content = _read(archive, entry, TEXT_BYTES + 1)
    try:
        return content.decode("utf-8-sig") if len(content) <= TEXT_BYTES else None
    except UnicodeDecodeError:
        return None


def _read(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, most: int) -> bytes:
    with _reading(), archive.open(entry) as file:
        return file.read(most)
