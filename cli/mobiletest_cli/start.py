"""What `run` starts: the builds, the tests of a folder or of the server, and the request that starts them."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mobiletest_cli.build_upload import BuildUpload
from mobiletest_cli.errors import INVALID_FILE, NOT_FOUND, USAGE, CliError
from mobiletest_cli.lookup import app_of_file, find_app, find_build, find_test, find_workflow, only_app
from mobiletest_cli.output import Output
from mobiletest_cli.selection import Selection, read_file, select

if TYPE_CHECKING:
    from mobiletest_automation.app_files.reader import AppFile
    from mobiletest_cli.api import Api
    from mobiletest_cli.api_types import App, ImportedTest, ImportTestsResult
    from mobiletest_cli.workspace import Workspace

MOST_TESTS = 1000
_OF_TEST = ("test_id", "version_number", "positions_digest")
NAME_APP = "Name it: --app; mobiletest apps list shows them"


@dataclass(frozen=True)
class Start:
    """A request that can be sent: its path and body, the import before it, and the flow of each test by its id.

    `display_path` is the path here of a file of the workspace.
    """

    path: str
    body: Mapping[str, Any]
    imported: ImportTestsResult | None = None
    flow_paths: Mapping[str, str] = field(default_factory=dict)
    display_path: Callable[[str], str] = str


class StartBuilder:
    """Makes a start from a selection: uploads what is missing on the server, and imports the folder."""

    def __init__(self, api: Api, output: Output) -> None:
        self._api = api
        self._output = output

    def build(self, wanted: Selection) -> Start:
        """The start.

        All that can be refused is refused first: before an app is registered, a file uploaded, or a flow imported.

        Raises:
            CliError: something does not exist, a file cannot be used, or no test is selected.
        """
        read = {file: read_file(file) for file in wanted.app_files}
        by_platform, files = self._apps(wanted, read)
        prepare = self._preparation(
            wanted, [app for app in by_platform.values() if app is not None], uploads=bool(files)
        )
        apps = {platform: app or self._register(platform) for platform, app in by_platform.items()}
        body = self._common(wanted, self._build_config(wanted, apps, files, read))
        return prepare(body, list(apps.values()))

    def _preparation(
        self, wanted: Selection, known: Sequence[App], *, uploads: bool
    ) -> Callable[[Mapping[str, Any], Sequence[App]], Start]:
        """Find what to run, on the apps that are known; what makes the start of a request and all apps."""
        if wanted.workflow:
            workflow = find_workflow(self._api, wanted.workflow)["id"]
            path = "execution/api/execute_workflow_id_async"
            return lambda body, _: Start(path, {**body, "workflow_id": workflow})
        if not wanted.paths:
            named = {"name": wanted.name} if wanted.name else {}
            tests = self._stored_tests(wanted, known)
            return lambda body, _: Start("executions", {**body, **named, "tests": tests})
        from mobiletest_cli.workspace import find_files
        from mobiletest_cli.workspace_import import validate_folder

        folder = find_files(wanted.paths)
        if uploads:
            answer = validate_folder(self._api, self._output, folder, _workspace(wanted, known))
            _select(answer, folder, wanted)
        return partial(self._of_folder, wanted, folder)

    def _common(self, wanted: Selection, build_config: Mapping[str, Any]) -> dict[str, Any]:
        config: dict[str, Any] = {}
        if wanted.env:
            config["env"] = dict(wanted.env)
        if wanted.retries is not None:
            config["execution_mode"] = {"retries": wanted.retries}
        body: dict[str, Any] = {"run_config": config} if config else {}
        if build_config:
            body |= {"build_config": build_config, "override_build_config": True}
        if wanted.shard:
            body["shard"] = {"index": wanted.shard[0], "count": wanted.shard[1]}
        return body | ({"cancel_previous": True} if wanted.cancel_previous else {})

    def _apps(self, wanted: Selection, read: Mapping[Path, AppFile]) -> tuple[dict[str, App | None], dict[str, Path]]:
        """The apps, and the files, by platform: apps that are named, and those of the files, None: to be registered.

        Else the only one, for a folder, and where a platform or a version is chosen.
        """
        named = [find_app(self._api, name, wanted.platform) for name in wanted.apps]
        chosen = wanted.version or wanted.platform
        if not (named or wanted.app_files) and (chosen or (wanted.paths and not wanted.workspace)):
            only = only_app(self._api, wanted.platform)
            if chosen and not only:
                option = f"--build {wanted.version}" if wanted.version else f"--platform {wanted.platform}"
                raise CliError(f"{option} needs an app to be named: there is not exactly one", USAGE, NAME_APP)
            named = [only] if only else []
        apps: dict[str, App | None] = {str(app["platform"]): app for app in named}
        if len(apps) < len(named):
            raise CliError("two apps of one platform are named", USAGE, "Run them one after the other")
        files: dict[str, Path] = {}
        for file, app_file in read.items():
            platform = _platform(file, app_file, wanted.platform, apps)
            if platform in files:
                raise CliError(f"{file}: a second file for {platform}", USAGE, "Run them one after the other")
            files[platform] = file
            if platform not in apps:
                if named:
                    what = f'"{named[0]["name"]}" is for {named[0]["platform"]}'
                    raise CliError(f"{file}: is for {platform}, and the app {what}", INVALID_FILE, "Name an app: --app")
                apps[platform] = app_of_file(self._api, file, platform, app_file.package_name)
        return apps, files

    def _register(self, platform: str) -> App:
        """A new app, under the name of this folder."""
        name = Path.cwd().name or "app"
        app: App = self._api.post("apps", {"name": name, "platform": platform}, key=str(uuid.uuid4()))
        self._output.say(f'Registered the {platform} app "{name}".')
        return app

    def _build_config(
        self, wanted: Selection, apps: Mapping[str, App], files: Mapping[str, Path], read: Mapping[Path, AppFile]
    ) -> dict[str, Any]:
        uploads = BuildUpload(self._api, self._output, wanted.revision)
        chosen: dict[str, Any] = {}
        for platform, app in apps.items():
            if file := files.get(platform):
                version = uploads.ensure(app, file, read[file], wanted.version)["version"]
            else:
                version = find_build(self._api, app, wanted.version)["version"] if wanted.version else None
            chosen[f"{platform.lower()}_build"] = {"app_id": app["id"], "pinned_version": version}
        return chosen

    def _of_folder(self, wanted: Selection, files: Workspace, body: Mapping[str, Any], apps: Sequence[App]) -> Start:
        """Import the folder for each app, and start the versions of the tests that it has now."""
        from mobiletest_cli.workspace_import import import_folder

        body = self._with_shell(wanted, body, files)
        for app_id in [app["id"] for app in apps] or [None]:
            imported = import_folder(self._api, self._output, files, _workspace(wanted, apps), app_id)
        chosen = _select(imported, files, wanted)
        tests = [{name: value for name, value in test.items() if name in _OF_TEST and value} for test in chosen]
        paths = {str(test["test_id"]): files.display_path(test["path"]) for test in chosen}
        name = wanted.name or imported["workspace"]
        start = {**body, "tests": tests, "name": name, **self._order(wanted, imported, chosen)}
        return Start("executions", start, imported, paths, files.display_path)

    def _order(
        self, wanted: Selection, imported: ImportTestsResult, chosen: Sequence[ImportedTest]
    ) -> Mapping[str, Any]:
        """The order of executionOrder in config.yaml, as far as it is one of the tests to start."""
        ordered = frozenset(imported["flows_order"])
        sequence = [str(test["test_id"]) for test in chosen if test["path"] in ordered]
        if not sequence or len(chosen) == 1:
            return {}
        if wanted.shard and len(sequence) > 1:
            self._output.warn("executionOrder of config.yaml holds inside of each shard, not between shards")
        return {"sequence": sequence, "continue_on_failure": imported["continue_on_failure"]}

    def _with_shell(self, wanted: Selection, body: Mapping[str, Any], files: Workspace) -> Mapping[str, Any]:
        """The body with the variables of the shell that the flows read."""
        from mobiletest_cli.shell_variables import shell_variables

        variables = shell_variables(files, wanted.shell)
        taken = {name: value for name, value in variables.items() if name not in wanted.env}
        if not taken:
            return body
        self._output.say(f"From the environment: {', '.join(sorted(taken))}.")
        config: Mapping[str, Any] = body.get("run_config", {})
        return {**body, "run_config": {**config, "env": {**taken, **wanted.env}}}

    def _stored_tests(self, wanted: Selection, apps: Sequence[App]) -> list[dict[str, Any]]:
        """The tests of the server that have the names or tags."""
        tests: dict[str, Any] = {test["id"]: test for test in (find_test(self._api, name) for name in wanted.tests)}
        for tag in wanted.tags:
            for app_id in [app["id"] for app in apps] or [None]:
                tests |= {test["id"]: test for test in self._api.pages("tests", tag=tag, app_id=app_id)}
        chosen = [test_id for test_id, test in tests.items() if not set(wanted.excluded_tags) & set(test["tags"])]
        if not chosen:
            without = f" and none of: {', '.join(wanted.excluded_tags)}" if wanted.excluded_tags else ""
            raise CliError(
                f"no test has a name or tag of: {', '.join([*wanted.tests, *wanted.tags])}{without}", NOT_FOUND
            )
        return [{"test_id": test_id} for test_id in chosen]


def _workspace(wanted: Selection, apps: Sequence[App]) -> str | None:
    """The name of the folder on the server."""
    return wanted.workspace or (str(apps[0]["name"])[:100] if apps else None)


def _select(answer: ImportTestsResult, files: Workspace, wanted: Selection) -> list[ImportedTest]:
    """The tests to start. CliError: there is none, or too many."""
    chosen = select(answer, files.selected, names=wanted.tests, tags=wanted.tags, excluded_tags=wanted.excluded_tags)
    if len(chosen) > MOST_TESTS:
        message = f"{len(chosen)} tests are selected, and {MOST_TESTS} can be started at once"
        raise CliError(message, USAGE, "Select fewer by --tag or --test")
    return chosen


def _platform(file: Path, read: AppFile, platform: str | None, apps: Mapping[str, App | None]) -> str:
    """The platform of a file. CliError: it is another one than `platform`, or not known."""
    if read.platform and platform and read.platform != platform:
        raise CliError(f"{file}: is for {read.platform}, and --platform is {platform}", INVALID_FILE)
    chosen = read.platform or platform or (next(iter(apps)) if len(apps) == 1 else None)
    if chosen is None:
        raise CliError(f"{file}: the platform is unknown", USAGE, "Give it: --platform Android, or iOS")
    return chosen
