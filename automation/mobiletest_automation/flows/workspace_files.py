"""The files of a workspace as they are sent: their paths, their limits, and which of them are texts."""

import json
import posixpath
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from mobiletest_automation.flows.labels import has_controls, normalize
from mobiletest_automation.flows.nodes import quote
from mobiletest_automation.flows.subflows import SCRIPT_ENDINGS
from mobiletest_automation.flows.workspace import FLOW_ENDINGS, Workspace, find_root
from mobiletest_automation.flows.workspace_media import FILE_BYTES

# The size of the archive of one workspace.
ARCHIVE_BYTES = 64 * 1024**2
FILES_LIMIT = 2_000
DEPTH_LIMIT = 20
PATH_LIMIT = 400
# Of one file; a flow may have a quarter of it.
TEXT_BYTES = 1024**2
TEXTS_BYTES = 32 * 1024**2
UNPACKED_BYTES = 256 * 1024**2
# The name of the file in the top folder that says where the workspace is, and which of its files are flows.
MANIFEST = ".mobiletest.json"
FLOWS_LIMIT = 2_000
# What systems add to folders; a file is left out if a part of its path is one of these.
IGNORED = frozenset(("__MACOSX", ".git", ".DS_Store", "Thumbs.db"))

# The content of the file at a path, or its first bytes if it has more than so many.
Read: TypeAlias = Callable[[str, int], bytes]


class InvalidFiles(Exception):
    """Files that are no workspace; the message says which limit they exceed, and what to do."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """The folder of a workspace among the files that are sent: "" for the top, or with a slash at its end.

    The files beside it are parts of its flows. `flows` are the paths of those that are flows, whatever the
    configuration says; without any, it decides.
    """

    root: str = ""
    flows: tuple[str, ...] = ()

    def write(self) -> bytes:
        return json.dumps({"root": self.root, "flows": self.flows}, ensure_ascii=False).encode()

    def path_of(self, file: str) -> str:
        """The path of a file from the folder of the workspace: of one beside it, with leading `../`."""
        if file.startswith(self.root):
            return file.removeprefix(self.root)
        return posixpath.relpath(file, self.root)


def read_manifest(content: bytes) -> Manifest:
    """The manifest in a file.

    Raises:
        InvalidFiles: the manifest is wrong.
    """
    try:
        values = json.loads(content.decode("utf-8-sig"))
        root, flows = values.get("root", ""), values.get("flows", [])
        texts = [root, *flows] if isinstance(flows, list) else [None]
    except (ValueError, AttributeError, RecursionError):
        texts = [None]
    if not all(isinstance(text, str) and len(text) <= PATH_LIMIT for text in texts) or len(texts) > FLOWS_LIMIT + 1:
        message = f'{MANIFEST} must have a "root" and up to {FLOWS_LIMIT} "flows", which are paths'
        raise InvalidFiles(message)
    root = f"{root.strip('/')}/" if root.strip("/") else ""
    for path in (root, *flows):
        if path:
            check_path(path)
    return Manifest(root, tuple(dict.fromkeys(flows)))


class OtherFiles(Mapping[str, bytes]):
    """Files by their paths, read one at a time; of one above FILE_BYTES, a byte more than these."""

    def __init__(self, names: Mapping[str, str], read: Read) -> None:
        self._names = names
        self._read = read

    def __getitem__(self, path: str) -> bytes:
        return self._read(self._names[path], FILE_BYTES + 1)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class WorkspaceFiles:
    """The texts of a workspace by their paths from its `root`, and its other files, which are read when needed.

    Raises:
        InvalidFiles: the texts are too large together, or the manifest is wrong.
    """

    def __init__(self, paths: Collection[str], read: Read) -> None:
        self.manifest = find_manifest(paths, read)
        self.root = self.manifest.root
        self.texts: dict[str, str] = {}
        others, size = dict[str, str](), 0
        for file in paths:
            if file == MANIFEST:
                continue
            path = self.manifest.path_of(file)
            text = decode_text(read(file, TEXT_BYTES + 1)) if is_text(file) or path in self.manifest.flows else None
            if text is None:
                others[path] = file
                continue
            size += len(text)
            if size > TEXTS_BYTES:
                raise InvalidFiles(f"its flows and scripts have more than {TEXTS_BYTES} bytes: send fewer of them")
            self.texts[path] = text
        self.others: Mapping[str, bytes] = OtherFiles(others, read)

    @property
    def workspace(self) -> Workspace:
        """The workspace that the files make.

        Raises:
            InvalidWorkspace: the files make no workspace.
        """
        return Workspace(self.texts, self.others, self.manifest.flows)


def find_manifest(paths: Collection[str], read: Read) -> Manifest:
    """What the files say of themselves, or else their root as it is found.

    Raises:
        InvalidFiles: the manifest is wrong.
    """
    if MANIFEST in paths:
        return read_manifest(read(MANIFEST, TEXT_BYTES + 1))
    return Manifest(find_root(paths))


def normalize_path(path: str) -> str:
    """The path with `/` and whole letters: systems may store these apart from their accents, and flows do not."""
    return normalize(path.replace("\\", "/").removeprefix("./"))


def is_text(path: str) -> bool:
    """Whether the name of a file is that of a flow or a script."""
    return path.lower().endswith((*FLOW_ENDINGS, *SCRIPT_ENDINGS))


def is_ignored(path: str) -> bool:
    """Whether a file is left out."""
    return not IGNORED.isdisjoint(path.split("/"))


def check_path(path: str) -> None:
    """Check the path of a file.

    Raises:
        InvalidFiles: the path is long or deep, has control characters, or leads out of the folder.
    """
    parts = path.rstrip("/").split("/")
    if ".." in parts or path.startswith("/") or parts[0].endswith(":"):
        raise InvalidFiles(f"the path {quote(path)} leads out of the folder: send the folder without it")
    if has_controls(path):
        raise InvalidFiles(f"the name of {quote(path)} has control characters: rename it")
    if "" in parts or "." in parts or len(path) > PATH_LIMIT:
        raise InvalidFiles(f"{quote(path)} is not a plain path of at most {PATH_LIMIT} characters")
    if len(parts) > DEPTH_LIMIT:
        raise InvalidFiles(f"{quote(path)} lies more than {DEPTH_LIMIT} folders deep")


def check_totals(count: int, size: int) -> None:
    """Check the number and the bytes of the files.

    Raises:
        InvalidFiles: there are too many files, or too many bytes in them.
    """
    if count > FILES_LIMIT:
        advice = "send only the folder of the flows, or several folders as workspaces of their own"
        raise InvalidFiles(f"the folder has {count} files; at most {FILES_LIMIT} are taken: {advice}")
    if size > UNPACKED_BYTES:
        raise InvalidFiles(f"its files have {size} bytes; at most {UNPACKED_BYTES} are taken")


def check_archive(size: int) -> None:
    """Check the bytes of the archive.

    Raises:
        InvalidFiles: the archive has too many bytes.
    """
    if size > ARCHIVE_BYTES:
        raise InvalidFiles(f"the folder has more than {ARCHIVE_BYTES} bytes: import it in parts")


def decode_text(content: bytes) -> str | None:
    """The text of a file; None if it is too long or not in UTF-8."""
    try:
        return content.decode("utf-8-sig") if len(content) <= TEXT_BYTES else None
    except UnicodeDecodeError:
        return None
