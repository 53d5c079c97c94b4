"""Pictures and videos of a workspace: those of addMedia, and the baselines of assertScreenshot; what scripts send."""

import posixpath
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TypeAlias

from mobiletest_automation.flows.capture_commands import picture_name
from mobiletest_automation.flows.nodes import Node, Notice, quote, suggest
from mobiletest_automation.flows.templates import is_template

# Of a flow, with the files that it runs.
FILES_LIMIT = 20
FILE_BYTES = 16 * 1024**2
PNG, JPEG, GIF, MP4 = "PNG", "JPEG", "GIF", "MP4"
MEDIA = (PNG, JPEG, GIF, MP4)
BASELINES = (PNG, JPEG)
# A script sends no more in a request.
SCRIPT_FILE_BYTES = 2**20
IMPORT_HINT = "import the folder of the flow with POST /tests/import"

_QUOTED = re.compile(r"""'([^'\\\n]{1,400})'|"([^"\\\n]{1,400})"|`([^`\\$\n]{1,400})`""")
_SIGNATURES = ((PNG, 0, b"\x89PNG\r\n\x1a\n"), (JPEG, 0, b"\xff\xd8\xff"), (GIF, 0, b"GIF8"), (MP4, 4, b"ftyp"))


# The message why the file at a path, which may exist, is not among the files of a workspace; empty without one.
Absent: TypeAlias = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class MediaFile:
    """A picture or video that a test needs: `path` is that of its steps, `sha256` in hexadecimal, `size` in bytes."""

    path: str
    sha256: str
    size: int


class InvalidMedia(ValueError):
    """A file that cannot be used; the message says why."""


class WorkspaceMedia:
    """The files of a workspace that are no flows: `contents` by path, which may end after FILE_BYTES and one byte."""

    def __init__(self, contents: Mapping[str, bytes]) -> None:
        self._contents = contents
        self._described: dict[str, tuple[MediaFile, str]] = {}

    @property
    def paths(self) -> Collection[str]:
        return self._contents.keys()

    def describe(self, path: str, kinds: Collection[str]) -> MediaFile:
        """The file at a path, which its first bytes say to be one of these kinds, if there are any.

        Raises:
            InvalidMedia: it is of another kind.
        """
        if path not in self._described:
            self._described[path] = _describe(path, self._contents[path])
        file, kind = self._described[path]
        if kinds and kind not in kinds:
            raise InvalidMedia(f"{path} is not a {' or '.join(kinds)} file")
        return file


class FlowMedia:
    """The files that the commands of one flow name; without `media` the files of its folder are not known."""

    def __init__(self, media: WorkspaceMedia | None, notices: list[Notice], absent: Absent | None) -> None:
        self._absent = absent
        self._media = media
        self._notices = notices
        self._taken: set[str] = set()
        self._files: dict[str, MediaFile] = {}
        self._sent: dict[str, MediaFile] = {}

    @property
    def files(self) -> tuple[MediaFile, ...]:
        """Those of the commands, then those that only scripts send."""
        return tuple({**self._files, **self._sent}.values())[:FILES_LIMIT]

    @property
    def paths(self) -> Collection[str]:
        """The paths of the files of the folder that are no texts."""
        return self._media.paths if self._media is not None else ()

    def resolve(self, command: str, node: Node, folder: str) -> Node:
        """The arguments of a command in a file of this folder, with the paths of its files in the workspace.

        Raises:
            DocumentError: for a file that is missing or cannot be used.
        """
        match command:
            case "addMedia":
                return self._resolve_media(node, folder)
            case "assertScreenshot":
                return self._resolve_baseline(node, folder)
            case "takeScreenshot":
                self._note_taken(node)
        return node

    def note_script(self, source: str, folder: str, named: Node) -> None:
        """The files that a script in this folder names in quotes come along, for http.post with a multipartForm."""
        if self._media is None:
            return
        texts = dict.fromkeys("".join(quoted) for quoted in _QUOTED.findall(source))
        for text in texts:
            paths = (posixpath.normpath(posixpath.join(folder, text)), posixpath.normpath(text))
            path = next((path for path in paths if path in self._media.paths), None)
            if path is not None and path not in self._sent:
                self._add_sent(self._media, path, named)

    def _add_sent(self, media: WorkspaceMedia, path: str, named: Node) -> None:
        try:
            file = media.describe(path, ())
        except InvalidMedia as problem:
            self._notices.append(named.location.notice(str(problem)))
            return
        if len({*self._files, *self._sent}) < FILES_LIMIT and file.size <= SCRIPT_FILE_BYTES:
            self._sent[path] = file
            return
        limits = (
            f"a flow has at most {FILES_LIMIT} files, and its scripts send at most {SCRIPT_FILE_BYTES} bytes of one"
        )
        self._notices.append(named.location.notice(f"{path} does not come along: {limits}"))

    def _resolve_media(self, node: Node, folder: str) -> Node:
        if self._media is None:
            self._notices.append(node.location.notice(f"addMedia needs files that are not sent along: {IMPORT_HINT}"))
            return node
        if isinstance(node.value, tuple):
            return replace(node, value=tuple(self._resolve_item(self._media, item, folder) for item in node.value))
        files = node.mapping().get("files") if node.is_mapping else None
        if files is None or not isinstance(files.value, tuple):
            return node
        return replace(node, value={**node.mapping(), "files": self._resolve_media(files, folder)})

    def _resolve_item(self, media: WorkspaceMedia, item: Node, folder: str) -> Node:
        name = item.string(limit=500).strip()
        if is_template(name):
            raise item.error("the name of a file cannot have variables")
        path = posixpath.normpath(posixpath.join(folder, name))
        if path not in media.paths and self._absent is not None and (reason := self._absent(path)):
            raise item.error(reason)
        if path not in media.paths and path.startswith(("../", "/")):
            raise item.error(f"{path} is outside the folder of the workspace")
        if path not in media.paths:
            raise item.error(f"the file {path} was not sent along{suggest(path, media.paths)}")
        self._add(media, path, MEDIA, item)
        return replace(item, value=path, raw=path)

    def _note_taken(self, node: Node) -> None:
        name = node.mapping().get("path") if node.is_mapping else node
        if name is not None:
            self._taken.add(picture_name(name.raw))

    def _resolve_baseline(self, node: Node, folder: str) -> Node:
        """With the field `file`, if the folder has the picture."""
        entries = node.mapping() if node.is_mapping else {"path": node}
        if "file" in entries:
            raise entries["file"].error_at_key(f"unknown field {quote('file')}")
        name = entries.get("path")
        if self._media is None or name is None or not isinstance(name.value, str | int | float):
            return node
        picture = picture_name(name.raw.strip())
        path = posixpath.normpath(posixpath.join(folder, picture))
        if path not in self._media.paths:
            if picture not in self._taken:
                what = "its name has variables" if is_template(name.raw) else f"the folder has no {path}"
                self._notices.append(name.location.notice(f"{what}: accept the picture of the first run"))
            return node
        self._add(self._media, path, BASELINES, name)
        return replace(node, value={**entries, "file": Node(path, name.location, path)}, raw="")

    def _add(self, media: WorkspaceMedia, path: str, kinds: Collection[str], named: Node) -> None:
        try:
            self._files[path] = media.describe(path, kinds)
        except InvalidMedia as problem:
            raise named.error(str(problem)) from None
        if len(self._files) > FILES_LIMIT:
            raise named.error(f"a flow may need at most {FILES_LIMIT} pictures and videos, with the files that it runs")


def _describe(path: str, content: bytes) -> tuple[MediaFile, str]:
    if len(content) > FILE_BYTES:
        raise InvalidMedia(f"{path} has more than {FILE_BYTES} bytes")
    kind = next((kind for kind, at, start in _SIGNATURES if content.startswith(start, at)), "")
    return MediaFile(path, sha256(content).hexdigest(), len(content)), kind
