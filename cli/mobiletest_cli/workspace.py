"""The files of a folder of flows, as they are sent to the server."""

from __future__ import annotations

import io
import os
import unicodedata
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from mobiletest_cli.errors import INVALID_FILE, CliError

FILES_LIMIT = 2_000
TOTAL_BYTES = 64 * 1024**2
TEXT_BYTES = 1024**2
MAESTRO_FOLDER = ".maestro"
_FLOW_ENDINGS = (".yaml", ".yml")
_TEXT_ENDINGS = (*_FLOW_ENDINGS, ".js")
_ENDINGS = (*_TEXT_ENDINGS, ".png", ".jpg", ".jpeg", ".gif", ".mp4")
_LEFT_OUT = frozenset({"node_modules", "__pycache__", "build", "dist"})
_EPOCH = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True)
class Workspace:
    """Files by their paths below `root`, with /; `selected` are the paths of flows that were named one by one."""

    root: Path
    files: Mapping[str, Path]
    selected: frozenset[str] = field(default_factory=frozenset)

    def zip(self) -> bytes:
        """An archive of the files; the same files give the same bytes."""
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(self.files):
                entry = zipfile.ZipInfo(path, _EPOCH)
                entry.compress_type = zipfile.ZIP_DEFLATED
                entry.external_attr = 0o644 << 16
                archive.writestr(entry, _read(self.files[path]))
        return content.getvalue()

    def text(self, path: str) -> str | None:
        """The text of a file; None if there is none, or it is no text."""
        file = self.files.get(path)
        if file is None:
            return None
        try:
            return _read(file).decode("utf-8-sig")
        except UnicodeDecodeError:
            return None

    def display_path(self, path: str) -> str:
        """The path of a file as the user can open it."""
        shown = os.path.relpath(self.files.get(path) or self.root / path)
        return PurePosixPath(Path(shown)).as_posix() if os.sep != "/" else shown


def find_files(paths: Sequence[Path]) -> Workspace:
    """The workspace of a folder, or of the folder that flow files are in. CliError: it cannot be sent."""
    for path in paths:
        if not path.exists():
            raise CliError(f"{path}: does not exist", INVALID_FILE)
    folders = {path if path.is_dir() else _folder_of(path) for path in paths}
    if len(folders) > 1:
        names = ", ".join(sorted(map(str, folders)))
        raise CliError(f"{names}: are several folders", INVALID_FILE, "Run one folder at a time, or the one above them")
    top = folders.pop()
    found = {unicodedata.normalize("NFC", file.relative_to(top).as_posix()): file for file in _walk(top)}
    if not any(path.endswith(_FLOW_ENDINGS) for path in found):
        raise CliError(f"{top}: has no flows: no file ends with .yaml or .yml", INVALID_FILE)
    root = _root_of(found)
    files = {path[len(root) :]: file for path, file in found.items()}
    _check_limits(top, files)
    named = {file.resolve() for file in paths if file.is_file()}
    selected = frozenset(path for path, file in files.items() if file.resolve() in named)
    if len(selected) < len(named):
        ignored = next(
            path for path in paths if path.is_file() and path.resolve() not in {f.resolve() for f in files.values()}
        )
        raise CliError(f"{ignored}: is not a flow: its name does not end with .yaml or .yml", INVALID_FILE)
    return Workspace(top / root, files, selected)


def _root_of(files: Mapping[str, Path]) -> str:
    """The prefix of all paths that the server cuts off, with its slash."""
    from mobiletest_cli.flows.workspace import find_root

    root = find_root(files)
    return f"{root}/" if root and not root.endswith("/") else root


def _folder_of(file: Path) -> Path:
    """The folder whose files a flow may use: the nearest above it that is one of flows, or the one that it is in."""
    parent = file.absolute().parent
    for folder in (parent, *parent.parents):
        if folder.name == MAESTRO_FOLDER or any((folder / name).is_file() for name in ("config.yaml", "config.yml")):
            return folder
        if (folder / ".git").exists() or folder == Path.cwd():
            break
    return parent


def _walk(top: Path) -> Iterator[Path]:
    """The files that belong to flows, without hidden folders, those of tools, and links that lead out."""
    inside = top.resolve()
    for folder, folders, names in os.walk(top):
        folders[:] = sorted(name for name in folders if name == MAESTRO_FOLDER or _belongs(name))
        for name in sorted(names):
            file = Path(folder, name)
            if name.startswith(".") or not name.lower().endswith(_ENDINGS):
                continue
            if file.is_file() and file.resolve().is_relative_to(inside):
                yield file


def _belongs(folder: str) -> bool:
    return not folder.startswith(".") and folder not in _LEFT_OUT


def _check_limits(top: Path, files: Mapping[str, Path]) -> None:
    if len(files) > FILES_LIMIT:
        hint = "Name the folder of the flows only"
        raise CliError(f"{top}: has {len(files)} files, and {FILES_LIMIT} can be sent", INVALID_FILE, hint)
    sizes = {file: file.stat().st_size for file in files.values()}
    for file, count in sizes.items():
        if count > TEXT_BYTES and file.name.lower().endswith(_TEXT_ENDINGS):
            raise CliError(f"{file}: has {count} bytes, and a text may have {TEXT_BYTES}", INVALID_FILE)
    if sum(sizes.values()) > TOTAL_BYTES:
        raise CliError(f"{top}: has {sum(sizes.values())} bytes, and {TOTAL_BYTES} can be sent", INVALID_FILE)


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise CliError(f"{file}: cannot be read: {error.strerror}", INVALID_FILE) from None
