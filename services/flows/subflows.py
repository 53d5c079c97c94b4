"""Puts the commands of other files where runFlow and retry name them, so that a test stands alone."""

import posixpath
from collections.abc import Mapping
from dataclasses import replace

from services.flows.configuration import CONFIGURATION_KEYS
from services.flows.documents import read_documents
from services.flows.interpolation import COMMANDS, is_template
from services.flows.nodes import DocumentError, Node, suggest

INCLUSIONS_LIMIT = 100
DEPTH_LIMIT = 8
STEPS_LIMIT = 1_000
CHARACTERS_LIMIT = 512 * 1024
"""Of all files together."""

HOOKS = ("onFlowStart", "onFlowComplete")


def read_file(text: str, root: str) -> tuple[Node | None, Node]:
    """The configuration of a Maestro file, if it has one, and its commands. DocumentError."""
    documents = read_documents(text, root, limit=2)
    commands = documents[-1]
    if commands.is_mapping and set(commands.mapping()) & set(CONFIGURATION_KEYS):
        raise commands.error("the commands are missing: after the configuration comes ---, and then their list")
    if len(documents) == 1 or documents[0].is_null:
        return None, commands
    documents[0].fields(CONFIGURATION_KEYS)
    return documents[0], commands


class SubflowExpander:
    """The files of one test, by their paths from the folder that its own file lies in."""

    def __init__(self, files: Mapping[str, str], root: str) -> None:
        if sum(map(len, files.values())) > CHARACTERS_LIMIT:
            raise DocumentError(root, 1, 1, f"the files are longer than {CHARACTERS_LIMIT} characters together")
        self._files = {posixpath.normpath(path): text for path, text in files.items()}
        self._read: dict[str, tuple[Node | None, Node]] = {}
        self._inclusions = 0
        self._steps = 0

    def steps(self, node: Node, here: tuple[str, ...] = ("",)) -> Node:
        """A list of steps with the commands of the files that it names. `here` are the files that it stands in."""
        if not isinstance(node.value, tuple):
            return node
        self._steps += len(node.value)
        if self._steps > STEPS_LIMIT:
            raise node.error(f"a test may have at most {STEPS_LIMIT} steps")
        return replace(node, value=tuple(self._step(item, here) for item in node.value))

    def configuration(self, node: Node) -> Node:
        """A configuration with the commands of the files that its hooks name."""
        entries = node.mapping()
        return replace(node, value={**entries, **{n: self.steps(entries[n]) for n in HOOKS if n in entries}})

    def _step(self, node: Node, here: tuple[str, ...]) -> Node:
        if not node.is_mapping:
            return node
        return replace(node, value={name: self._arguments(name, held, here) for name, held in node.mapping().items()})

    def _arguments(self, name: str, node: Node, here: tuple[str, ...]) -> Node:
        if name == "runFlow" and isinstance(node.value, str):
            return self._included(Node({}, node.location, key_location=node.key_location), node, here)
        if not node.is_mapping:
            return node
        entries = node.mapping()
        if name == "runFlow" and "file" in entries:
            return self._included(node, entries["file"], here)
        if name == "retry" and "file" in entries and COMMANDS not in entries:
            flow = self._included(Node({}, node.location), entries["file"], here)
            tried = Node((Node({"runFlow": flow}, node.location),), node.location)
            return replace(node, value={**{k: held for k, held in entries.items() if k != "file"}, COMMANDS: tried})
        if COMMANDS not in entries:
            return node
        return replace(node, value={**entries, COMMANDS: self.steps(entries[COMMANDS], here)})

    def _included(self, node: Node, file: Node, here: tuple[str, ...]) -> Node:
        """The arguments with the file's commands and variables instead of its name."""
        entries = {name: held for name, held in node.mapping().items() if name != "file"}
        if COMMANDS in entries:
            raise file.error_at_key("either file or commands")
        path = self._found(file, here)
        if path not in self._read:
            self._read[path] = read_file(self._files[path], path)
        configuration, commands = self._read[path]
        inside = (*here, path)
        said = configuration.mapping() if configuration is not None else {}
        if "onFlowComplete" in said:
            raise said["onFlowComplete"].error_at_key("only the flow of a test has onFlowComplete, none inside it")
        items = self.steps(commands, inside).items()
        if "onFlowStart" in said:
            items = (*self.steps(said["onFlowStart"], inside).items(), *items)
        entries.setdefault("label", Node(path, file.location, path))
        return _add_variables(replace(node, value=entries), said, replace(commands, value=items), file)

    def _found(self, file: Node, here: tuple[str, ...]) -> str:
        """The path of a file that is named in another one."""
        name = file.string(limit=500).strip()
        if is_template(name):
            raise file.error("the name of a file cannot have variables")
        path = posixpath.normpath(posixpath.join(posixpath.dirname(here[-1]), name))
        if path not in self._files:
            known = suggest(path, self._files) or ", and no other file was either" * (not self._files)
            raise file.error(f"the file {path} was not sent along{known}")
        if path in here or len(here) > DEPTH_LIMIT:
            raise file.error(f"{path} runs within itself" if path in here else f"more than {DEPTH_LIMIT} files deep")
        self._inclusions += 1
        if self._inclusions > INCLUSIONS_LIMIT:
            raise file.error(f"more than {INCLUSIONS_LIMIT} files are run")
        return path


def _add_variables(node: Node, said: Mapping[str, Node], commands: Node, file: Node) -> Node:
    """The arguments with the commands, and with the file's variables but for those that are given where it is run.

    If the file's use variables they may use those that are given, and stand in a flow of their own inside.
    """
    entries = node.mapping()
    given = entries["env"].mapping() if "env" in entries else {}
    own = said["env"].mapping() if "env" in said else {}
    own = {name: held for name, held in own.items() if name not in given}
    if given and any(is_template(held.raw) for held in own.values()):
        inner = {
            "label": Node(file.raw, file.location, file.raw),
            "env": Node(own, file.location),
            COMMANDS: commands,
        }
        commands = Node((Node({"runFlow": Node(inner, file.location)}, file.location),), file.location)
        own = {}
    env = {"env": Node({**own, **given}, file.location)} if own or given else {}
    return replace(node, value={**entries, **env, COMMANDS: commands})


def expand_flow(text: str, root: str, files: Mapping[str, str]) -> Node:
    """The list of steps that a Maestro file means, its configuration first. DocumentError."""
    configuration, commands = read_file(text, root)
    if files:
        including = SubflowExpander(files, root)
        commands = including.steps(commands)
        configuration = including.configuration(configuration) if configuration is not None else None
    if configuration is None:
        return commands
    return Node((configuration, *commands.items()), commands.location)
