"""A workspace: a folder of Maestro flows with the files that they run, and perhaps a config.yaml that selects them."""

import json
import posixpath
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TypeAlias

from mobiletest_automation.flows.documents import read_documents
from mobiletest_automation.flows.labels import NAME_LIMIT, TAG_LIMIT, TAGS_LIMIT, InvalidLabel, clean_tags, clean_text
from mobiletest_automation.flows.loader import load_flow
from mobiletest_automation.flows.nodes import DocumentError, Node, Notice, quote, suggest
from mobiletest_automation.flows.parser import split_steps
from mobiletest_automation.flows.steps import Flow
from mobiletest_automation.flows.workspace_config import (
    CONFIG_FILES,
    Remark,
    WorkspaceConfig,
    is_config_shaped,
    read_workspace_config,
)
from mobiletest_automation.flows.workspace_media import Absent, MediaFile, WorkspaceMedia

FLOW_ENDINGS = (".yaml", ".yml")
NO_TEXT = "this is not a UTF-8 text of at most 1 MiB"
_CONFIG_STEM = "config"
# Of one flow.
PROBLEMS_LIMIT = 20
NOTICES_LIMIT = 1_000
# Of all flows together, as JSON.
STEPS_BYTES = 8 * 2**20
# Of the positions of all flows together; those of further flows are left out.
POSITIONS_LENGTH = 4 * 2**20


class InvalidWorkspace(ValueError):
    """A folder whose flows are not known; `remark` says why."""

    def __init__(self, remark: Remark) -> None:
        super().__init__(remark.message)
        self.remark = remark


@dataclass(frozen=True, slots=True)
class WorkspaceFlow:
    """A flow that the workspace selects: its steps as JSON text, with the `files` that they need; or its problems.

    `positions` are those of the steps, as `positions.write_positions` writes them. `unparsed` are the sentences that no
    rule parses, if that was checked.
    """

    path: str
    name: str
    tags: tuple[str, ...] = ()
    steps: str = "[]"
    files: tuple[MediaFile, ...] = ()
    problems: tuple[Remark, ...] = ()
    positions: str = ""
    notices: tuple[Remark, ...] = ()
    unparsed: tuple[Remark, ...] = ()


@dataclass(frozen=True, slots=True)
class FoundWorkspace:
    """The selected flows of a workspace, by path; `order` are the paths of those that run first.

    `is_part`: the flows were named, so that the workspace may have others. `unparsed`: see WorkspaceFlow.
    """

    flows: Sequence[WorkspaceFlow]
    notices: tuple[Remark, ...] = ()
    order: tuple[str, ...] = ()
    continue_on_failure: bool = True
    is_part: bool = False
    unparsed: tuple[Remark, ...] = ()


SentenceCheck: TypeAlias = Callable[[Flow], tuple[Notice, ...]]
NO_OTHERS: Mapping[str, bytes] = MappingProxyType({})
# The path and the name of each flow.
Names: TypeAlias = Sequence[tuple[str, str]]


class Workspace:
    """The files of a folder by their paths: `texts`, and `others` that are no text.

    A content of `others` is read when a flow needs it, and may be cut as in WorkspaceMedia. The `named` files are its
    flows, whatever the configuration says; without any, it decides. Paths that begin with `../` lie beside the folder:
    flows may run these files, and none is a flow itself. `absent` says why a file is not among them.

    Raises:
        InvalidWorkspace: the files make no workspace.
    """

    def __init__(
        self,
        texts: Mapping[str, str],
        others: Mapping[str, bytes] = NO_OTHERS,
        named: Collection[str] = (),
        absent: Absent | None = None,
    ) -> None:
        self.named = tuple(sorted(named))
        self._absent = absent
        self._texts = texts
        self._media = WorkspaceMedia(others)
        self._config_file = next((name for name in CONFIG_FILES if name in texts or name in others), CONFIG_FILES[0])
        self.config = self._read_config()
        self._paths = self._check_named() if named else self._select(sorted({*texts, *others}))

    def flows(self, sentences: SentenceCheck | None = None) -> Iterator[WorkspaceFlow]:
        """The flows that the configuration selects, by path, each read with the files that it runs.

        `sentences` says which of their sentences no rule parses.
        """
        return filter(None, (self._read_flow(path, sentences) for path in self._paths))

    def order(self, flows: Names, refused: Collection[str] = ()) -> tuple[tuple[str, ...], tuple[Remark, ...]]:
        """The paths of the flows that run first, in this order, and notices. `refused` are the names of others.

        As in Maestro, the order ends at the first name that no flow has. Of flows that were named, the order is that of
        those among them.

        Raises:
            InvalidWorkspace: that is the first of all, and flows follow it.
        """
        paths = {name: path for path, name in reversed(flows)}
        if self.named:
            return tuple(dict.fromkeys(paths[node.raw] for node in self.config.flows_order if node.raw in paths)), ()
        names = self.config.flows_order
        missing = next((index for index, node in enumerate(names) if node.raw not in paths), len(names))
        first = tuple(dict.fromkeys(paths[node.raw] for node in names[:missing]))
        if missing == len(names):
            return first, ()
        name, hint = names[missing], suggest(names[missing].raw, paths)
        follows = any(node.raw in paths for node in names[missing:])
        if follows and not first and name.raw not in refused:
            message = f"the order begins with {quote(name.raw)}, which no selected flow has as its name{hint}"
            raise InvalidWorkspace(_remark(name.error(message)))
        ends = "the order ends here, and those after it run in any order" if follows else "the order ends here"
        why = f"no selected flow has the name {quote(name.raw)}"
        if name.raw in refused:
            why, hint = f"the flow {quote(name.raw)} has errors", ""
        message = f"{why}: {ends}{hint}"
        return first, (_remark(name.error(message)),)

    def _read_config(self) -> WorkspaceConfig:
        text = self._texts.get(self._config_file)
        try:
            return read_workspace_config(text, self._config_file) if text is not None else WorkspaceConfig()
        except DocumentError as error:
            raise InvalidWorkspace(_remark(error)) from None

    def _check_named(self) -> tuple[str, ...]:
        for path in self.named:
            if path not in self._texts and path not in self._media.paths:
                raise InvalidWorkspace(Remark(path, None, None, f"the file {path} was not sent along"))
        return self.named

    def _select(self, paths: Iterable[str]) -> tuple[str, ...]:
        """The paths of the files that may be flows. InvalidWorkspace if there is none."""
        candidates = [path for path in paths if may_be_flow(path) and not path.startswith("../")]
        selected = tuple(path for path in candidates if self.config.takes_path(path))
        if selected:
            return selected
        if not candidates:
            raise _invalid("there is no flow: no file of the folder ends with .yaml or .yml")
        if self.config.rules:
            error = self.config.rules[0].source.error("no file fits these patterns of paths")
            raise InvalidWorkspace(_remark(error))
        raise _invalid(
            f"no flow lies in the top folder, but {candidates[0]}: name its folder or the file itself, or write a "
            'config.yaml that says which files are flows, such as flows: "**"'
        )

    def _read_flow(self, path: str, sentences: SentenceCheck | None) -> WorkspaceFlow | None:
        """The flow in a file; None if its tags are not selected, or if it is no flow but a configuration."""
        text = self._texts.get(path)
        if text is None:
            return WorkspaceFlow(path, _stem(path), problems=(Remark(path, None, None, NO_TEXT),))
        loaded = load_flow(text, self._texts, root=path, path=path, media=self._media, absent=self._absent)
        if loaded.flow is None:
            return self._read_refused(path, text, loaded.problems)
        if not self.named and not self.config.takes_tags(loaded.flow.tags):
            return None
        return WorkspaceFlow(
            path,
            loaded.flow.name or _stem(path),
            loaded.flow.tags,
            json.dumps(loaded.steps, ensure_ascii=False),
            notices=tuple(map(_remark, loaded.notices)),
            files=loaded.files,
            positions=loaded.positions,
            unparsed=tuple(map(_remark, sentences(loaded.flow))) if sentences is not None else (),
        )

    def _read_refused(self, path: str, text: str, problems: Sequence[DocumentError]) -> WorkspaceFlow | None:
        """A flow with problems; None if it is not selected. One whose tags cannot be read might be, so it is."""
        refused = WorkspaceFlow(path, _stem(path), problems=tuple(map(_remark, problems)))
        try:
            tags = _read_tags(path, text)
        except DocumentError:
            return refused
        if not self.named and (tags is None or not self.config.takes_tags(tags)):
            return None
        return replace(refused, tags=tags or ())


def find_flows(workspace: Workspace, sentences: SentenceCheck | None = None) -> FoundWorkspace:
    """Read the flows that a workspace selects; with the sentences that no rule parses, if there is a check of them.

    Raises:
        InvalidWorkspace: they are too large together.
    """
    notices, flows, size, positions = [*workspace.config.notices], [], 0, 0
    unparsed: list[Remark] = []
    for flow in workspace.flows(sentences):
        notices += flow.notices
        size += len(flow.steps)
        if size > STEPS_BYTES:
            message = f"the steps of the flows, with the files that they run, have more than {STEPS_BYTES} bytes"
            raise InvalidWorkspace(Remark(flow.path, None, None, f"{message}: import the folder in parts"))
        positions += len(flow.positions)
        kept_positions = flow.positions if positions <= POSITIONS_LENGTH else ""
        problems = flow.problems[:PROBLEMS_LIMIT] or _label_problems(flow)
        unparsed += flow.unparsed[: NOTICES_LIMIT - len(unparsed)]
        flows.append(replace(flow, problems=problems, positions=kept_positions, notices=(), unparsed=()))
    names = [(flow.path, flow.name) for flow in flows if not flow.problems]
    order, missing = workspace.order(names, [flow.name for flow in flows if flow.problems])
    kept = (*notices, *repeated_names(names), *missing)[:NOTICES_LIMIT]
    return FoundWorkspace(
        flows, kept, order, workspace.config.continue_on_failure, bool(workspace.named), tuple(unparsed)
    )


def _label_problems(flow: WorkspaceFlow) -> tuple[Remark, ...]:
    """Why no test can have the name or the tags of the flow."""
    try:
        clean_text(flow.name, "name", NAME_LIMIT)
        clean_tags(flow.tags)
    except InvalidLabel as wrong:
        return (Remark(flow.path, None, None, f"{wrong.field} of the flow: {wrong.message}"),)
    return ()


def may_be_flow(path: str) -> bool:
    """Whether a file has the name of a flow."""
    return path.lower().endswith(FLOW_ENDINGS) and _stem(path) != _CONFIG_STEM


def find_root(paths: Collection[str]) -> str:
    """The folder of the workspace: that of config.yaml, or else the deepest folder that has all files; "" for the top.

    Archives often have the folder itself around its files.
    """
    root = ""
    while not any(root + name in paths for name in CONFIG_FILES):
        inside = {path[len(root) :].partition("/")[::2] for path in paths}
        folders = {folder for folder, _ in inside}
        if len(folders) != 1 or not all(rest for _, rest in inside):
            break
        root += f"{folders.pop()}/"
    return root


def repeated_names(flows: Names) -> Iterator[Remark]:
    """A notice for each flow whose name an earlier one has: they are two tests, hard to tell apart in reports."""
    first: dict[str, str] = {}
    for path, name in flows:
        if (earlier := first.setdefault(name, path)) != path:
            yield Remark(path, None, None, f"{earlier} has the same name {quote(name)}: reports show two tests of it")


def _read_tags(path: str, text: str) -> tuple[str, ...] | None:
    """The tags of a file that has problems; None if it is a configuration, so no flow. Raise DocumentError."""
    first, *commands = read_documents(text, path, limit=2)
    if not commands and is_config_shaped(first):
        return None
    header = split_steps(first)[0] if isinstance(first.value, tuple) else first
    return _texts_of(header.mapping().get("tags")) if header is not None and header.is_mapping else ()


def _texts_of(node: Node | None) -> tuple[str, ...]:
    return node.texts(limit=TAGS_LIMIT, each=TAG_LIMIT) if node is not None else ()


def _stem(path: str) -> str:
    """The name of the file without its ending."""
    return posixpath.splitext(posixpath.basename(path))[0]


def _remark(problem: DocumentError | Notice) -> Remark:
    return Remark(problem.file, problem.line, problem.column, problem.message)


def _invalid(message: str) -> InvalidWorkspace:
    return InvalidWorkspace(Remark(CONFIG_FILES[0], None, None, message))
