"""Finds the files of a folder that may belong to its flows, and those beside it."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from mobiletest_automation.flows.nodes import suggest
from mobiletest_automation.flows.subflows import ENDINGS
from mobiletest_automation.flows.workspace import FLOW_ENDINGS
from mobiletest_automation.flows.workspace_files import DEPTH_LIMIT, TEXT_BYTES, is_text, normalize_path
from mobiletest_automation.flows.workspace_media import FILE_BYTES
from mobiletest_cli.errors import INVALID_FILE, CliError

FLOW_FOLDER = ".maestro"
MEDIA_ENDINGS = (".png", ".jpg", ".jpeg", ".gif", ".mp4", ".m4v", ".mov")
NEIGHBOURS_LIMIT = 2_000
# Of files that come along only when a script names them.
DOCUMENT_ENDINGS = (".pdf", ".csv", ".zip", ".webp", ".heic", ".mp3", ".wav", ".docx", ".xlsx")
# The characters of a name that systems take.
NAME_LIMIT = 255
# What is left out, and so is everything hidden except `.maestro`.
IGNORED = frozenset(("node_modules", "__MACOSX", "Thumbs.db"))


@dataclass
class FoundFiles:
    """Files by their paths from the folder, with their sizes in bytes.

    `left_out` says of others that may be missed why they are not sent.
    """

    files: dict[str, Path] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)

    def add(self, path: str, file: Path) -> None:
        """Add a file, unless it is so large that the server has no use for it.

        Raises:
            OSError: it cannot be read.
        """
        size = file.stat().st_size
        if reason := _excess(path, size):
            self.left_out[path] = reason
        else:
            self.files[path], self.sizes[path] = file, size


def find_repository(folder: Path) -> Path | None:
    """The root of the git repository that a folder is in."""
    return next((each for each in (folder, *folder.parents) if (each / ".git").exists()), None)


def search(root: Path) -> FoundFiles:
    """The flows, scripts, pictures and videos in a folder.

    Of a folder elsewhere in the repository that is linked into it only the flows: other files come when a flow names
    them.

    Raises:
        CliError: one cannot be read, or sent under its name.
    """
    found_files = FoundFiles()
    for file in sorted(_walk(root, found_files)):
        path = _sent_path(file, root)
        if path in found_files.files:
            raise CliError(
                f"{shown(file)}: duplicate path {path}, written in other characters: rename one of the files",
                INVALID_FILE,
            )
        try:
            found_files.add(path, file)
        except OSError as error:
            raise unreadable(file, error) from None
    return found_files


def _walk(root: Path, found_files: FoundFiles) -> Iterator[Path]:
    """The files in a folder. A link to a folder of the same repository is followed, but no other link in that one."""
    links = LinkLimits(root)
    folders = [(root, False, False)]
    while folders:
        folder, is_linked, is_elsewhere = folders.pop()
        for entry in _entries(folder):
            path = folder / entry.name
            is_wanted = is_flow_name(entry.name) if is_elsewhere else _has_kept_name(entry.name)
            if not entry.is_symlink():
                if entry.is_dir(follow_symlinks=False):
                    is_near = len(path.relative_to(root).parts) <= DEPTH_LIMIT
                    folders += [(path, is_linked, is_elsewhere)] if is_near else []
                elif entry.is_file() and is_wanted:
                    yield path
            elif reason := links.check(path):
                if path.is_dir() or is_wanted:
                    found_files.left_out[_sent_path(path, root)] = reason
            elif path.is_file() and is_wanted:
                yield path
            elif path.is_dir() and not is_linked and not folder.resolve().is_relative_to(path.resolve()):
                folders.append((path, True, links.leads_out(path)))


class LinkLimits:
    """Which links in a folder may be followed: those into the folder itself, and into its git repository."""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()
        repository = find_repository(self._root)
        self._limit = repository or self._root
        self._what = "repository" if repository else "folder"

    def check(self, link: Path) -> str:
        """Why what a link leads to is not sent; empty if it is."""
        try:
            target = link.resolve(strict=True)
        except (OSError, RuntimeError):
            return "is a link that is not followed: it leads to nothing"
        if target.is_relative_to(self._root):
            return ""
        if not target.is_relative_to(self._limit):
            return f"is a link that is not followed: it leads out of the {self._what}"
        return "is a link to something hidden" * is_hidden(target.relative_to(self._limit).parts)

    def leads_out(self, link: Path) -> bool:
        """Whether what a link leads to is not in the folder."""
        return not link.resolve().is_relative_to(self._root)


class NamedFiles:
    """The files in a folder and beside it that flows name, found one at a time.

    They are in the git repository of the folder or, if there is none, in the folder above it, and never hidden. The
    paths are from the folder: of files beside it, with leading `../`. `flows` are the paths of files of any name,
    `known` are paths that may have been meant where a file is missing.
    """

    def __init__(self, folder: Path, flows: Collection[str], known: Collection[str] = ()) -> None:
        self._folder = folder
        self._known = known
        self._flows = flows
        repository = find_repository(folder)
        self._boundary = repository or folder.parent
        self._links = LinkLimits(folder)
        self._reasons: dict[str, str | None] = {}
        self.found = FoundFiles()

    def find(self, path: str) -> Path | None:
        """The file at a path.

        Raises:
            CliError: it cannot be read.
        """
        if path not in self._reasons:
            self._reasons[path] = self._add(path)
        return self.found.files.get(path)

    def explain(self, path: str) -> str:
        """Why the file at a path is not among those found; empty where the server can say it as well."""
        self.find(path)
        if reason := self._reasons[path]:
            return f"the file {path} does not come along: {reason}"
        hint = suggest(path, (*self._neighbours(path), *self._known))
        if self._known and not (path.startswith("../") and hint):
            return ""
        return f"there is no file {path}{hint}"

    def _neighbours(self, path: str) -> Iterator[str]:
        folder, slash, _ = path.rpartition("/")
        place = self._folder / folder
        if place.is_dir() and place.resolve().is_relative_to(self._boundary.resolve()):
            for entry in _entries(place)[:NEIGHBOURS_LIMIT]:
                if _has_kept_name(entry.name):
                    yield f"{folder}{slash}{entry.name}"

    def _add(self, path: str) -> str | None:
        """Add the file at a path to those found; the reason if it is not to be sent."""
        file = Path(os.path.normpath(self._folder / path))
        if path.startswith("/") or not file.is_relative_to(self._boundary):
            return f"it lies outside of {shown(self._boundary)}"
        if is_hidden(part for part in path.split("/") if part != ".."):
            return "hidden files are not sent"
        is_wanted = path in self._flows or _has_kept_name(path) or path.lower().endswith(DOCUMENT_ENDINGS)
        if max(map(len, path.split("/"))) > NAME_LIMIT:
            return ""
        if not is_wanted:
            return f"files whose names end like this are not sent ({ENDINGS})" if file.is_file() else ""
        actual = self._find_actual(file, path)
        if actual is None:
            return self._explain_parent(file)
        link = next((each for each in (actual, *actual.parents) if self._is_link(each)), None)
        if link is not None and (reason := self._links.check(actual)):
            return f"{shown(link)} {reason}"
        try:
            self.found.add(path, actual)
        except OSError as error:
            raise unreadable(actual, error) from None
        return f"it {self.found.left_out[path]}" if path in self.found.left_out else None

    def _explain_parent(self, file: Path) -> str:
        """Why there is no folder, if a file is in its place: git may check out a link as a text."""
        parent = next((each for each in file.parents if each.is_relative_to(self._boundary) and each.is_file()), None)
        return f"{shown(parent)} is a file, perhaps a link that git has written as a text" if parent else ""

    def _is_link(self, file: Path) -> bool:
        return file.is_relative_to(self._boundary) and file != self._boundary and file.is_symlink()

    def _find_actual(self, file: Path, path: str) -> Path | None:
        """The file under the name that the system gave it; None if it is missing."""
        if file.is_file():
            return file
        if file.is_symlink() or not file.parent.is_dir():
            return file if file.is_symlink() else None
        name = path.rpartition("/")[2]
        same = (entry.name for entry in _entries(file.parent) if normalize_path(entry.name) == name)
        return next((file.parent / each for each in same if (file.parent / each).is_file()), None)


def is_hidden(parts: Iterable[str]) -> bool:
    """Whether a part of a path is hidden, except the folder of Maestro."""
    return any(part.startswith(".") and part != FLOW_FOLDER for part in parts)


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    """What is in a folder, without what cannot belong to flows."""
    try:
        with os.scandir(folder) as entries:
            return [
                entry
                for entry in entries
                if entry.name not in IGNORED and (entry.name == FLOW_FOLDER or not entry.name.startswith("."))
            ]
    except OSError as error:
        raise unreadable(folder, error) from None


def _has_kept_name(name: str) -> bool:
    return is_text(name) or name.lower().endswith(MEDIA_ENDINGS)


def is_flow_name(name: str) -> bool:
    """Whether a file has the ending of a flow."""
    return name.lower().endswith(FLOW_ENDINGS)


def _sent_path(file: Path, root: Path) -> str:
    """The path of a file in the archive."""
    path = file.relative_to(root).as_posix()
    try:
        path.encode()
    except UnicodeEncodeError:
        raise CliError(f"{shown(file)}: its name is not in UTF-8: rename it", INVALID_FILE) from None
    return normalize_path(path)


def _excess(path: str, size: int) -> str:
    """Why the server uses a file of this size for nothing. A flow is sent, so that it is refused by its name."""
    limit = TEXT_BYTES if is_text(path) else FILE_BYTES
    if size <= limit or is_flow_name(path):
        return ""
    return f"has {size} bytes; at most {limit} are taken"


def unreadable(path: Path, error: OSError) -> CliError:
    """The error to raise about a file or a folder that the system refuses to read."""
    return CliError(f"{shown(path)}: cannot be read: {error.strerror}", INVALID_FILE)


def shown(path: Path) -> str:
    """The path of a file relative to the working directory, if it is there; printable in any case."""
    path = Path(os.path.abspath(path))
    relative = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
    return os.fsencode(relative.as_posix()).decode(errors="replace")
