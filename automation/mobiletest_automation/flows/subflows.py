"""Replaces the files that runFlow and retry name by their commands, so that a stored test needs no files."""

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import replace

from mobiletest_automation.flows.configuration import CONFIGURATION_KEYS, known_entries
from mobiletest_automation.flows.documents import DEFAULT_LIMITS, read_documents
from mobiletest_automation.flows.nodes import DocumentError, Node, Notice, suggest
from mobiletest_automation.flows.parser import COMMANDS, split_steps
from mobiletest_automation.flows.script_commands import with_named_argument
from mobiletest_automation.flows.steps import STEP_LIMIT
from mobiletest_automation.flows.templates import is_template
from mobiletest_automation.flows.variables import HOOKS, INNER_COMMANDS, ON_COMPLETE
from mobiletest_automation.flows.workspace_media import Absent, FlowMedia

SCRIPT_ENDINGS = (".js", ".mjs", ".cjs")
ENDINGS = f"flows end with .yaml or .yml, scripts with {', '.join(SCRIPT_ENDINGS[:-1])} or {SCRIPT_ENDINGS[-1]}"
TYPESCRIPT_ENDINGS = (".ts", ".mts", ".cts", ".tsx")
INCLUSIONS_LIMIT = 100
DEPTH_LIMIT = 8
# Of all files that are run together, each counted once.
CHARACTERS_LIMIT = 512 * 1024
# Commands that act on the app of their file, unless they name another.
APP_COMMANDS = frozenset(spec.name for spec in COMMANDS.values() if spec.of_app)
# Of the files each time that they are run, before they are read as steps; not all values of a file are stored.
VALUES_LIMIT = 2 * DEFAULT_LIMITS.values


class LimitExceeded(DocumentError):
    """The files are too many or too large, and nothing more is read of them."""


def split_file(documents: Sequence[Node]) -> tuple[Node | None, Node]:
    """The configuration, if there is one, and the commands of a Maestro file.

    Raises:
        DocumentError: for the first problem in the document.
    """
    commands = documents[-1]
    if commands.is_mapping and set(commands.mapping()) & set(CONFIGURATION_KEYS):
        raise commands.error("the commands are missing: after the configuration comes ---, and then their list")
    _check_commands(commands, is_alone=len(documents) == 1)
    if (name := documents[0].raw.partition(":")[0]) in CONFIGURATION_KEYS:
        raise documents[0].error(f'a blank is missing after "{name}:"')
    if len(documents) > 1 and not documents[0].is_empty:
        return documents[0], commands
    return split_steps(commands)


def _check_commands(node: Node, *, is_alone: bool) -> None:
    """Raise DocumentError for what is no list of commands."""
    if node.is_null:
        where = "the file has no commands" if is_alone else "the commands are missing after ---"
        raise node.error(f"{where}: write a list of them, such as - launchApp")
    first = next(iter(node.mapping()), "") if node.is_mapping else node.raw
    if first.startswith("-"):
        raise node.error("a space is missing after the dash of a command, such as - launchApp")
    if node.is_mapping or (isinstance(node.value, str) and node.raw in COMMANDS):
        raise node.error("the commands are a list: begin each with a dash, such as - launchApp")


class SubflowExpander:
    """The files of one flow, whose `path` is empty if it is unknown; `root` is the name of its text in messages.

    With a path, all files have normal names from the root of the workspace: it may have thousands, of which each flow
    runs a few. Otherwise they are named relative to the folder of the flow.
    What is wrong with a step is appended to `problems`, and the step is left out. `stack` are the files around a step,
    outermost first. `absent` says why a file of the workspace is not among the files.
    """

    def __init__(
        self,
        files: Mapping[str, str],
        root: str,
        path: str,
        media: FlowMedia,
        problems: list[DocumentError],
        notices: list[Notice],
        absent: Absent | None,
    ) -> None:
        self._absent = absent
        self._files = files if path else {posixpath.normpath(name): text for name, text in files.items()}
        self._root = root
        self._path = posixpath.normpath(path) if path else ""
        self._own_folder: str | None = None
        self._media = media
        self._problems = problems
        self._notices = notices
        self._read: dict[str, tuple[Node | None, Node]] = {}
        self._sizes: dict[str, int] = {}
        self._characters_left = CHARACTERS_LIMIT
        self._values_left = VALUES_LIMIT
        self._inclusions = 0
        self._steps = 0
        self._own_apps: frozenset[str] = frozenset()
        self._apps: dict[str, Node] = {}

    def expand_file(self, configuration: Node | None, commands: Node) -> tuple[Node | None, Node]:
        """The parts of the flow with the commands of the files that it runs in its steps and hooks."""
        self._own_apps = frozenset(app.raw.strip() for app in _apps_of(configuration))
        expanded = self._expand_steps(commands, (self._path,))
        if configuration is None or not configuration.is_mapping:
            return configuration, expanded
        entries = configuration.mapping()
        hooks = {name: self._expand_steps(entries[name], (self._path,)) for name in HOOKS if name in entries}
        return replace(configuration, value={**entries, **hooks}), expanded

    def _expand_steps(self, node: Node, stack: tuple[str, ...]) -> Node:
        """A list of steps with the commands of the files that it runs."""
        if not isinstance(node.value, tuple):
            return node
        self._steps += len(node.value)
        if self._steps > STEP_LIMIT:
            raise _exceeded(node, f"a test may have at most {STEP_LIMIT} steps")
        expanded = (self._expand_step(item, stack) for item in node.value)
        return replace(node, value=tuple(step for step in expanded if step is not None))

    def _expand_step(self, node: Node, stack: tuple[str, ...]) -> Node | None:
        node = _name_app(node, self._app_of(stack))
        if not node.is_mapping:
            return node
        try:
            entries = {name: self._expand_arguments(name, child, stack) for name, child in node.mapping().items()}
        except LimitExceeded:
            raise
        except DocumentError as error:
            self._problems.append(error)
            return None
        return replace(node, value=entries)

    def _app_of(self, stack: tuple[str, ...]) -> Node | None:
        """The app of a file's commands that name none: of its header, or else of the file that runs it.

        None is the app under test.
        """
        app = next((self._apps[path] for path in reversed(stack) if path in self._apps), None)
        return app if app is not None and app.raw.strip() not in self._own_apps else None

    def _expand_arguments(self, name: str, node: Node, stack: tuple[str, ...]) -> Node:
        if name == "runFlow" and isinstance(node.value, str):
            return self._include(Node({}, node.location, key_location=node.key_location), node, stack)
        if name == "runScript":
            return self._embed_script(with_named_argument(name, node), stack)
        if name == "evalScript":
            self._media.note_script(_script_of(node), "", node)
            return node
        node = self._media.resolve(name, node, posixpath.dirname(stack[-1]))
        if not node.is_mapping:
            return node
        entries = node.mapping()
        if name == "runFlow" and "file" in entries:
            return self._include(node, entries["file"], stack)
        if name == "retry" and "file" in entries and INNER_COMMANDS not in entries:
            file = entries["file"]
            flow = self._include(Node({}, node.location, key_location=file.key_location), file, stack)
            commands = Node((Node({"runFlow": flow}, node.location),), node.location)
            return replace(node, value={**_without_file(entries), INNER_COMMANDS: commands})
        if INNER_COMMANDS not in entries:
            return node
        return replace(node, value={**entries, INNER_COMMANDS: self._expand_steps(entries[INNER_COMMANDS], stack)})

    def _embed_script(self, node: Node, stack: tuple[str, ...]) -> Node:
        """The arguments of runScript with the text of the file that they name."""
        entries = node.mapping() if node.is_mapping else {}
        if "script" in entries:
            self._media.note_script(entries["script"].raw, "", node)
        if "file" not in entries or "script" in entries:
            return node
        file = entries["file"]
        path = self._find(file, stack)
        text = self._files[path]
        self._media.note_script(text, posixpath.dirname(path), file)
        named = {"file": Node(path, file.location, path), "script": Node(text, file.location, text)}
        return replace(node, value={**entries, **named})

    def _include(self, node: Node, file: Node, stack: tuple[str, ...]) -> Node:
        """The arguments of runFlow with the file's commands and variables instead of its name."""
        entries = _without_file(node.mapping())
        if INNER_COMMANDS in entries:
            raise file.error_at_key("either file or commands")
        path = self._find(file, stack)
        configuration, commands = self._read_file(path, file)
        fields = known_entries(configuration, self._notices) if configuration is not None else {}
        self._note_app(path, configuration)
        items = self._expand_steps(commands, (*stack, path)).items()
        if "onFlowStart" in fields:
            items = (*self._expand_steps(fields["onFlowStart"], (*stack, path)).items(), *items)
        contents = {INNER_COMMANDS: replace(commands, value=items)}
        if ON_COMPLETE in fields:
            contents[ON_COMPLETE] = self._expand_steps(fields[ON_COMPLETE], (*stack, path))
        entries.setdefault("label", Node(path, file.location, path))
        return _add_variables(replace(node, value=entries), fields, contents, file)

    def _note_app(self, path: str, configuration: Node | None) -> None:
        """Remember the app of a file; one that differs by platform has to be that of the flow."""
        apps = _apps_of(configuration)
        others = [app for app in apps if app.raw.strip() not in self._own_apps]
        if len(apps) > 1 and others:
            raise others[0].error("a file that a flow runs has one appId, or those of the flow")
        if apps and self._own_apps:
            self._apps[path] = apps[0]

    def _read_file(self, path: str, file: Node) -> tuple[Node | None, Node]:
        """The parts of a file, which is parsed once; its values count each time that it is run."""
        if path not in self._read:
            self._characters_left -= len(self._files[path])
            if self._characters_left < 0:
                raise _exceeded(file, f"the files that are run are longer than {CHARACTERS_LIMIT} characters together")
            documents = read_documents(self._files[path], path, limit=2)
            self._sizes[path] = sum(document.count_values() for document in documents)
            self._read[path] = split_file(documents)
        self._values_left -= self._sizes[path]
        if self._values_left < 0:
            raise _exceeded(file, f"more than {VALUES_LIMIT} values in the files that are run")
        return self._read[path]

    def _find(self, file: Node, stack: tuple[str, ...]) -> str:
        """The path of a file that is named in another one."""
        name = file.string(limit=500).strip()
        if is_template(name):
            raise file.error("the name of a file cannot have variables")
        named = posixpath.normpath(posixpath.join(posixpath.dirname(stack[-1]), name))
        path = named if self._path else self._find_relative(named)
        if path in stack:
            raise file.error(f"{path} runs itself")
        if path not in self._files:
            raise file.error(self._describe_missing(path))
        if len(stack) > DEPTH_LIMIT:
            raise _exceeded(file, f"files run each other more than {DEPTH_LIMIT} files deep")
        self._inclusions += 1
        if self._inclusions > INCLUSIONS_LIMIT:
            raise _exceeded(file, f"more than {INCLUSIONS_LIMIT} files are run")
        return path

    def _find_relative(self, path: str) -> str:
        """The file of a path that leaves the folder of the flow, which is unknown, and perhaps comes back to it.

        "../shared/x.yaml" may be sent as "shared/x.yaml", and as "x.yaml" if the flow itself is in shared/. Only one
        name is taken for that of the flow's folder.
        """
        inside = path.removeprefix("../")
        folder, _, rest = inside.partition("/")
        if path in self._files or inside == path or folder == "..":
            return path
        if rest and inside in self._files:
            return inside
        if rest in self._files and self._own_folder in (None, folder):
            self._own_folder = folder
            return rest
        return path

    def _describe_missing(self, path: str) -> str:
        if path.lower().endswith(TYPESCRIPT_ENDINGS):
            stem, _ = posixpath.splitext(path)
            return f"{path}: TypeScript is not run: compile it to JavaScript, and name {posixpath.basename(stem)}.js"
        if path in self._media.paths:
            return f"{path} is not a flow or script: {ENDINGS}"
        if self._absent is not None and (reason := self._absent(path)):
            return reason
        if self._path and path.startswith(("../", "/")):
            return f"{path} is outside the folder of the workspace"
        hint = suggest(path, self._files) or ", and no other file was either" * (not self._files)
        return f"the file {path} was not sent along{hint}"


def _script_of(node: Node) -> str:
    """The text of evalScript."""
    script = node.mapping().get("script", node) if node.is_mapping else node
    return script.raw


def _apps_of(configuration: Node | None) -> tuple[Node, ...]:
    """The ids of the app in a configuration; `url` comes before appId, as in Maestro."""
    entries = configuration.mapping() if configuration is not None and configuration.is_mapping else {}
    named = next((entries[key] for key in ("url", "appId") if key in entries and not entries[key].is_null), None)
    if named is None:
        return ()
    return tuple(app for app in (named.mapping().values() if named.is_mapping else (named,)) if app.raw.strip())


def _name_app(step: Node, app: Node | None) -> Node:
    """The step with this app, if its command acts on an app and names none."""
    if app is None:
        return step
    if isinstance(step.value, str) and step.value.strip() in APP_COMMANDS:
        return replace(step, value={step.value.strip(): Node({"appId": app}, step.location)}, raw="")
    if not step.is_mapping:
        return step
    entries = {name: _add_app(child, app) if name in APP_COMMANDS else child for name, child in step.mapping().items()}
    return replace(step, value=entries)


def _add_app(arguments: Node, app: Node) -> Node:
    if not arguments.is_mapping or not {"appId", "url"}.isdisjoint(arguments.mapping()):
        return arguments
    return replace(arguments, value={**arguments.mapping(), "appId": app})


def _exceeded(node: Node, message: str) -> LimitExceeded:
    where = node.location
    return LimitExceeded(where.path, where.line, where.column, message, where.file)


def _without_file(entries: Mapping[str, Node]) -> dict[str, Node]:
    return {key: child for key, child in entries.items() if key != "file"}


def _add_variables(node: Node, configuration: Mapping[str, Node], contents: Mapping[str, Node], file: Node) -> Node:
    """The arguments of runFlow with the steps and the variables of a file, which hide those given to runFlow.

    If the file's variables use others, these may be among those given; then they belong to another flow inside.
    """
    entries = node.mapping()
    given = entries["env"].mapping() if "env" in entries else {}
    own = configuration["env"].mapping() if "env" in configuration else {}
    if given and any(is_template(value.raw) for value in own.values()):
        inner = {
            "label": Node(file.raw, file.location, file.raw),
            "env": Node(own, file.location),
            **contents,
        }
        run = Node({"runFlow": Node(inner, file.location, key_location=node.key_location)}, file.location)
        contents, own = {INNER_COMMANDS: Node((run,), file.location)}, {}
    env = {"env": Node({**given, **own}, file.location)} if own or given else {}
    return replace(node, value={**entries, **env, **contents})
