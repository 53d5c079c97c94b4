"""Finds the files of a folder that may belong to its flows."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from mobiletest_cli.errors import INVALID_FILE, CliError
from mobiletest_cli.flows.workspace_files import DEPTH_LIMIT, TEXT_BYTES, TEXT_ENDINGS, normalize_path
from mobiletest_cli.flows.workspace_media import FILE_BYTES

FLOW_FOLDER = ".maestro"
MEDIA_ENDINGS = (".png", ".jpg", ".jpeg", ".gif", ".mp4", ".m4v", ".mov")
IGNORED = frozenset(("node_modules", "__MACOSX", "Thumbs.db"))
"""What is left out, and so is everything hidden except `.maestro`."""


@dataclass
class FoundFiles:
    """Files by their paths from the folder, with their sizes in bytes.

    `left_out` says of others that may be missed why they are not sent.
    """

    files: dict[str, Path] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)

    def add(self, path: str, file: Path) -> None:
        """Add a file, unless it is so large that the server has no use for it. OSError."""
        size = file.stat().st_size
        if reason := _excess(path, size):
            self.left_out[path] = reason
        else:
            self.files[path], self.sizes[path] = file, size


def search(root: Path) -> FoundFiles:
    """The flows, scripts, pictures and videos in a folder. CliError: one cannot be read, or sent under its name."""
    found = FoundFiles()
    for file in sorted(_walk(root, found)):
        path = _sent_path(file, root)
        if path in found.files:
            raise CliError(f"{shown(file)}: {path} is there twice, with other characters: rename one", INVALID_FILE)
        try:
            found.add(path, file)
        except OSError as error:
            raise unreadable(file, error) from None
    return found


def _walk(root: Path, found: FoundFiles) -> Iterator[Path]:
    """The files in a folder. A link to a folder inside is followed, but no other links to folders in this one."""
    real_root = root.resolve()
    folders = [(root, False)]
    while folders:
        folder, is_linked = folders.pop()
        for entry in _entries(folder):
            path = folder / entry.name
            if not entry.is_symlink():
                if entry.is_dir(follow_symlinks=False):
                    folders += [(path, is_linked)] if len(path.relative_to(root).parts) <= DEPTH_LIMIT else []
                elif entry.is_file() and _has_kept_name(entry.name):
                    yield path
            elif not _leads_inside(path, real_root):
                if path.is_dir() or _has_kept_name(entry.name):
                    found.left_out[_sent_path(path, root)] = "is a link that leads out of the folder"
            elif path.is_file() and _has_kept_name(entry.name):
                yield path
            elif path.is_dir() and not is_linked and not folder.resolve().is_relative_to(path.resolve()):
                folders.append((path, True))


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


def _leads_inside(link: Path, real_root: Path) -> bool:
    """Whether a link leads to something in the folder."""
    try:
        return link.resolve(strict=True).is_relative_to(real_root)
    except (OSError, RuntimeError):
        return False


def _has_kept_name(name: str) -> bool:
    return name.endswith(TEXT_ENDINGS) or name.lower().endswith(MEDIA_ENDINGS)


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
    limit = TEXT_BYTES if path.endswith(".js") else FILE_BYTES
    if size <= limit or path.endswith((".yaml", ".yml")):
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
