"""Reads the archives of workspaces in child processes: thousands of files take seconds of CPU, and may be malicious."""

import json
import os
import posixpath
import stat
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mobiletest_automation.app_files.archive_limits import HostileArchive, check_directory, check_entries
from mobiletest_automation.flows.nodes import quote
from mobiletest_automation.flows.workspace import FoundWorkspace, InvalidWorkspace, WorkspaceFlow, find_flows
from mobiletest_automation.flows.workspace_config import Remark
from mobiletest_automation.flows.workspace_files import (
    InvalidFiles,
    WorkspaceFiles,
    check_path,
    check_totals,
    find_manifest,
    is_ignored,
    normalize_path,
)
from mobiletest_automation.flows.workspace_media import FILE_BYTES, MediaFile
from mobiletest_automation.sentences.unparsed import SentenceCheck
from services.catalog.model.values import InvalidValue
from services.chassis.child_pool import ChildPool, JobFailed, JobLimits
from services.chassis.child_process import preload
from services.chassis.context import current
from services.chassis.fair_turns import FairTurns

LIMITS = JobLimits(cpu_seconds=30, wall_seconds=120, memory_bytes=256 * 2**20, answer_bytes=FILE_BYTES + 2**20)
CHILDREN = 2
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED, _UTF8 = 0x1, 0x800
# Ends a request that asks for the sentences, too: no path of a file in a workspace has a NUL.
_SENTENCES = b"\0\0"


class ChildWorkspaceReader:
    """Reads each workspace in a child of its own. An organisation occupies at most one of them."""

    def __init__(self, limits: JobLimits = LIMITS) -> None:
        preload(__name__)
        turns = FairTurns(CHILDREN, per_org=1, waiting_per_org=8, waiting=32)
        self._children = ChildPool("workspaces", answer, turns, limits)

    async def read(self, path: Path, *, sentences: bool = False) -> FoundWorkspace:
        """See the port."""
        return parse_answer(await self._call(workspace_request(path, sentences=sentences)))

    async def read_file(self, path: Path, name: str) -> bytes:
        """See the port."""
        return await self._call(b"\0".join((os.fsencode(path), name.encode())))

    async def _call(self, request: bytes) -> bytes:
        try:
            return await self._children.call(current().org_id, request)
        except JobFailed as failure:
            raise InvalidValue(
                "file", f"reading the folder failed: {failure}; import it in parts", "too_long"
            ) from None


def workspace_request(path: Path, *, sentences: bool) -> bytes:
    """What a child is asked to read a workspace, with its sentences if they are to be checked."""
    return os.fsencode(path) + (_SENTENCES if sentences else b"")


def parse_answer(text: bytes) -> FoundWorkspace:
    """The workspace that a child answers with.

    Raises:
        InvalidValue: it refuses it.
    """
    workspace = json.loads(text)
    if "kind" in workspace:
        raise InvalidValue("file", workspace["message"], workspace["kind"])
    return FoundWorkspace(
        flows=tuple(
            WorkspaceFlow(
                path, name, tuple(tags), steps, tuple(MediaFile(*file) for file in files), _remarks(problems), positions
            )
            for path, name, tags, steps, files, problems, positions in workspace["flows"]
        ),
        notices=_remarks(workspace["notices"]),
        order=tuple(workspace["order"]),
        continue_on_failure=workspace["continue_on_failure"],
        is_part=workspace["is_part"],
        unparsed=_remarks(workspace["unparsed"]),
    )


def answer(request: bytes) -> bytes:
    """What a child does with the path of an archive: the workspace in it as JSON, or why it is refused.

    With a NUL and the path of a file in the workspace after it: the content of the file. With two: the sentences that
    no rule parses, too.
    """
    path, _, name = request.removesuffix(_SENTENCES).partition(b"\0")
    if name:
        return read_file(os.fsdecode(path), name.decode())
    try:
        workspace = read_workspace(os.fsdecode(path), SentenceCheck() if request.endswith(_SENTENCES) else None)
    except HostileArchive as problem:
        workspace = {"kind": "hostile_archive", "message": str(problem)}
    except InvalidWorkspace as problem:
        workspace = {"kind": "workspace", "message": _sentence(problem.remark)}
    return json.dumps(workspace).encode()


def read_workspace(path: str, sentences: SentenceCheck | None = None) -> dict[str, Any]:
    """The workspace in an archive, as JSON values; with the sentences that no rule parses, if there is a check of them.

    Raises:
        HostileArchive: the archive exceeds a limit, or is made to deceive.
        InvalidWorkspace: the files make no workspace.
    """
    with open_archive(path) as files:
        found_workspace = find_flows(files.workspace, sentences)
    return {
        "flows": [_entry(flow) for flow in found_workspace.flows],
        "notices": _values(found_workspace.notices),
        "order": found_workspace.order,
        "continue_on_failure": found_workspace.continue_on_failure,
        "is_part": found_workspace.is_part,
        "unparsed": _values(found_workspace.unparsed),
    }


def _entry(flow: WorkspaceFlow) -> tuple[str, str, tuple[str, ...], str, list[Any], list[Any], str]:
    return (
        flow.path,
        flow.name,
        flow.tags,
        flow.steps,
        _values(flow.files),
        _values(flow.problems),
        flow.positions,
    )


def _values(rows: Iterable[Remark | MediaFile]) -> list[Any]:
    return [list(asdict(row).values()) for row in rows]


def _remarks(values: Iterable[Any]) -> tuple[Remark, ...]:
    return tuple(Remark(*each) for each in values)


def _sentence(remark: Remark) -> str:
    if remark.line is None:
        return remark.message
    return f"{remark.file}, line {remark.line}, column {remark.column}: {remark.message}"


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
    entries: dict[str, zipfile.ZipInfo] = {}
    for entry in listed:
        path = _path(entry)
        if is_ignored(path):
            continue
        _check_entry(entry, path)
        if entry.is_dir() or path.endswith("/"):
            continue
        if path in entries:
            raise HostileArchive(f"duplicate file {quote(path)} in the archive")
        entries[path] = entry
    check_totals(len(entries), sum(entry.file_size for entry in listed))
    check_entries(listed)
    return entries


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
