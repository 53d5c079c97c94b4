"""Replaces the files that runFlow and retry name by their commands, so that a stored test needs no files."""

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import replace

from services.flows.configuration import CONFIGURATION_KEYS, HOOKS
from services.flows.documents import DEFAULT_LIMITS, read_documents
from services.flows.nodes import DocumentError, Node, suggest
from services.flows.steps import STEP_LIMIT
from services.flows.variables import COMMANDS, is_template

INCLUSIONS_LIMIT = 100
DEPTH_LIMIT = 8
CHARACTERS_LIMIT = 512 * 1024
"""Of all files together."""
VALUES_LIMIT = 2 * DEFAULT_LIMITS.values
"""Of the files each time that they are run, before they are read as steps; not all values of a file are stored."""


def split_file(documents: Sequence[Node]) -> tuple[Node | None, Node]:
    """The configuration, if there is one, and the commands of a Maestro file. Raise DocumentError."""
    commands = documents[-1]
    if commands.is_mapping and set(commands.mapping()) & set(CONFIGURATION_KEYS):
        raise commands.error("the commands are missing: after the configuration comes ---, and then their list")
    return (documents[0] if len(documents) > 1 and not documents[0].is_empty else None), commands


class SubflowExpander:
    """The files of one test, by their paths relative to the folder of the test's own file.

    `stack` are the files around a step, outermost first.
    """

    def __init__(self, files: Mapping[str, str], root: str) -> None:
        if sum(map(len, files.values())) > CHARACTERS_LIMIT:
            raise DocumentError(root, 1, 1, f"the files are longer than {CHARACTERS_LIMIT} characters together")
        self._files = {posixpath.normpath(path): text for path, text in files.items()}
        self._read: dict[str, tuple[Node | None, Node]] = {}
        self._sizes: dict[str, int] = {}
        self._values_left = VALUES_LIMIT
        self._inclusions = 0
        self._steps = 0

    def expand_steps(self, node: Node, stack: tuple[str, ...] = ("",)) -> Node:
        """A list of steps with the commands of the files that it runs. Raise DocumentError."""
        if not isinstance(node.value, tuple):
            return node
        self._steps += len(node.value)
        if self._steps > STEP_LIMIT:
            raise node.error(f"a test may have at most {STEP_LIMIT} steps")
        return replace(node, value=tuple(self._expand_step(item, stack) for item in node.value))

    def expand_configuration(self, node: Node) -> Node:
        """A configuration with the commands of the files that its hooks run. Raise DocumentError."""
        if not node.is_mapping:
            return node
        entries = node.mapping()
        return replace(node, value={**entries, **{n: self.expand_steps(entries[n]) for n in HOOKS if n in entries}})

    def _expand_step(self, node: Node, stack: tuple[str, ...]) -> Node:
        if not node.is_mapping:
            return node
        return replace(
            node, value={name: self._expand_arguments(name, child, stack) for name, child in node.mapping().items()}
        )

    def _expand_arguments(self, name: str, node: Node, stack: tuple[str, ...]) -> Node:
        if name == "runFlow" and isinstance(node.value, str):
            return self._include(Node({}, node.location, key_location=node.key_location), node, stack)
        if not node.is_mapping:
            return node
        entries = node.mapping()
        if name == "runFlow" and "file" in entries:
            return self._include(node, entries["file"], stack)
        if name == "retry" and "file" in entries and COMMANDS not in entries:
            flow = self._include(Node({}, node.location), entries["file"], stack)
            commands = Node((Node({"runFlow": flow}, node.location),), node.location)
            return replace(node, value={**_without(entries, "file"), COMMANDS: commands})
        if COMMANDS not in entries:
            return node
        return replace(node, value={**entries, COMMANDS: self.expand_steps(entries[COMMANDS], stack)})

    def _include(self, node: Node, file: Node, stack: tuple[str, ...]) -> Node:
        """The arguments of runFlow with the file's commands and variables instead of its name."""
        entries = _without(node.mapping(), "file")
        if COMMANDS in entries:
            raise file.error_at_key("either file or commands")
        path = self._find(file, stack)
        configuration, commands = self._read_file(path, file)
        fields = configuration.fields(CONFIGURATION_KEYS) if configuration is not None else {}
        if "onFlowComplete" in fields:
            raise fields["onFlowComplete"].error_at_key("only the flow of a test may have onFlowComplete")
        items = self.expand_steps(commands, (*stack, path)).items()
        if "onFlowStart" in fields:
            items = (*self.expand_steps(fields["onFlowStart"], (*stack, path)).items(), *items)
        entries.setdefault("label", Node(path, file.location, path))
        return _add_variables(replace(node, value=entries), fields, replace(commands, value=items), file)

    def _read_file(self, path: str, file: Node) -> tuple[Node | None, Node]:
        """The parts of a file, which is parsed once; its values count each time that it is run."""
        if path not in self._read:
            documents = read_documents(self._files[path], path, limit=2)
            self._sizes[path] = sum(document.count_values() for document in documents)
            self._read[path] = split_file(documents)
        self._values_left -= self._sizes[path]
        if self._values_left < 0:
            raise file.error(f"more than {VALUES_LIMIT} values in the files that are run")
        return self._read[path]

    def _find(self, file: Node, stack: tuple[str, ...]) -> str:
        """The path of a file that is named in another one."""
        name = file.string(limit=500).strip()
        if is_template(name):
            raise file.error("the name of a file cannot have variables")
        path = posixpath.normpath(posixpath.join(posixpath.dirname(stack[-1]), name))
        if path not in self._files:
            hint = suggest(path, self._files) or ", and no other file was either" * (not self._files)
            raise file.error(f"the file {path} was not sent along{hint}")
        if path in stack:
            raise file.error(f"{path} runs itself")
        if len(stack) > DEPTH_LIMIT:
            raise file.error(f"files run each other more than {DEPTH_LIMIT} files deep")
        self._inclusions += 1
        if self._inclusions > INCLUSIONS_LIMIT:
            raise file.error(f"more than {INCLUSIONS_LIMIT} files are run")
        return path


def _without(entries: Mapping[str, Node], name: str) -> dict[str, Node]:
    return {key: child for key, child in entries.items() if key != name}


def _add_variables(node: Node, configuration: Mapping[str, Node], commands: Node, file: Node) -> Node:
    """The arguments of runFlow with the commands and the variables of a file; those given to runFlow come first.

    If the file's variables use others, these may be among those given; then they belong to another flow inside.
    """
    entries = node.mapping()
    given = entries["env"].mapping() if "env" in entries else {}
    own = configuration["env"].mapping() if "env" in configuration else {}
    own = {name: value for name, value in own.items() if name not in given}
    if given and any(is_template(value.raw) for value in own.values()):
        inner = {
            "label": Node(file.raw, file.location, file.raw),
            "env": Node(own, file.location),
            COMMANDS: commands,
        }
        commands = Node((Node({"runFlow": Node(inner, file.location)}, file.location),), file.location)
        own = {}
    env = {"env": Node({**own, **given}, file.location)} if own or given else {}
    return replace(node, value={**entries, **env, COMMANDS: commands})
