"""Reads the archive of a workspace within limits. It runs in a child process: an archive may be malicious."""

import posixpath
import stat
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from mobiletest_automation.app_files.archive_limits import HostileArchive, check_directory, check_entries
from mobiletest_automation.flows.nodes import quote
from mobiletest_automation.flows.workspace_files import (
    InvalidFiles,
    WorkspaceFiles,
    check_path,
    check_totals,
    find_manifest,
    is_ignored,
    normalize_path,
)
from mobiletest_automation.flows.workspace_media import FILE_BYTES

_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED, _UTF8 = 0x1, 0x800


@contextmanager
def open_archive(path: str) -> Iterator[WorkspaceFiles]:
    """The files of the workspace in a zip archive.

    Raises:
        HostileArchive: it exceeds a limit, or is made to deceive; it says what to do.
    """
    with open(path, "rb") as file:
        with _reading():
            check_directory(file)
            archive = zipfile.ZipFile(file)
        with archive:
            with _reading():
                entries = _check_all(archive.infolist())
                files = WorkspaceFiles(entries, lambda path, most: _read(archive, entries[path], most))
            yield files


def read_file(path: str, name: str) -> bytes:
    """The content of one of the other files of the workspace in a zip archive.

    Raises:
        HostileArchive: the archive exceeds a limit, or is made to deceive.
        KeyError: there is no such file.
    """
    with open(path, "rb") as file, _reading(), zipfile.ZipFile(file) as archive:
        entries = _check_all(archive.infolist())
        manifest = find_manifest(entries, lambda file, most: _read(archive, entries[file], most))
        return _read(archive, entries[posixpath.normpath(manifest.root + name)], FILE_BYTES + 1)


@contextmanager
def _reading() -> Iterator[None]:
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, NotImplementedError) as problem:
        raise HostileArchive(f"this is not a readable zip archive: {problem}") from None
    except InvalidFiles as problem:
        raise HostileArchive(str(problem)) from None


def _check_all(listed: Sequence[zipfile.ZipInfo]) -> dict[str, zipfile.ZipInfo]:
    """The files by their paths, which are safe and unique."""
    found: dict[str, zipfile.ZipInfo] = {}
    for entry in listed:
        path = _path(entry)
        if is_ignored(path):
            continue
        _check_entry(entry, path)
        if entry.is_dir() or path.endswith("/"):
            continue
        if path in found:
            raise HostileArchive(f"duplicate file {quote(path)} in the archive")
        found[path] = entry
    check_totals(len(found), sum(entry.file_size for entry in listed))
    check_entries(listed)
    return found


def _path(entry: zipfile.ZipInfo) -> str:
    """The path of a file. Names without the mark of UTF-8 are in UTF-8 nevertheless if they can be."""
    name = entry.orig_filename
    if not entry.flag_bits & _UTF8:
        try:
            name = name.encode("cp437").decode()
        except UnicodeError:
            name = entry.orig_filename
    return normalize_path(name)


def _check_entry(entry: zipfile.ZipInfo, path: str) -> None:
    check_path(path)
    if stat.S_IFMT(entry.external_attr >> 16) not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise HostileArchive(f"{quote(path)} is a link or no file: put the file itself in its place")
    if entry.flag_bits & _ENCRYPTED or entry.compress_type not in _METHODS:
        raise HostileArchive(f"{quote(path)} is encrypted or packed in an unusual way: send a plain zip archive")


def _read(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, most: int) -> bytes:
    with _reading(), archive.open(entry) as file:
        return file.read(most)
