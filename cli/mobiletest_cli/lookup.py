"""Finds apps, tests, workflows, builds and runs by id or by name."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from mobiletest_cli.api import Api
from mobiletest_cli.errors import NOT_FOUND, USAGE, CliError
from mobiletest_cli.names import is_id

if TYPE_CHECKING:
    from mobiletest_cli.api_types import App, Build, Execution, Run, Test, Workflow

_SHOWN = 5


def find_app(api: Api, wanted: str, platform: str | None = None) -> App:
    """The app with this id or name.

    Raises:
        CliError: there is none, or several (of the platform).
    """
    app = _find(api, "apps", "app", wanted, platform=platform)
    if platform and app["platform"] != platform:
        raise CliError(f'the app "{app["name"]}" is for {app["platform"]}, not for {platform}', USAGE)
    return cast("App", app)


def only_app(api: Api, platform: str | None = None) -> App | None:
    """The app, if there is exactly one (of the platform)."""
    apps = list(api.pages("apps", limit=2, platform=platform))
    return cast("App", apps[0]) if len(apps) == 1 else None


def app_candidates(api: Api) -> tuple[Sequence[App], str]:
    """The first apps, and how they are listed for a choice."""
    apps = list(api.pages("apps", limit=_SHOWN + 1))
    return cast("Sequence[App]", apps), _some(apps)


def app_of_file(api: Api, file: Path, platform: str, package_name: str | None) -> App | None:
    """The app that has builds of the file's package or bundle id, else the only one of the platform; None without any.

    Raises:
        CliError: several apps may be meant, or the only one has builds of another package.
    """
    if package_name:
        same = list(api.pages("apps", limit=_SHOWN + 1, platform=platform, package_name=package_name))
        if len(same) == 1:
            return cast("App", same[0])
        if same:
            raise _which(file, f"several apps have builds of {package_name}", same)
    apps = list(api.pages("apps", limit=_SHOWN + 1, platform=platform))
    if len(apps) > 1:
        of_package = f", and none has a build of {package_name}" if package_name else ""
        raise _which(file, f"there are several {platform} apps{of_package}", apps)
    if not apps:
        return None
    earlier = next((build["package_name"] for build in api.pages(f"apps/{apps[0]['id']}/builds", limit=1)), None)
    if package_name and earlier and not _are_variants(package_name, earlier):
        raise _which(file, f"it is {package_name}, and builds of the only {platform} app are {earlier}", apps)
    return cast("App", apps[0])


def _are_variants(one: str, other: str) -> bool:
    """Whether they may be build types of one app, such as com.example.shop and com.example.shop.debug."""
    return f"{one}.".startswith(f"{other}.") or f"{other}.".startswith(f"{one}.")


def _which(file: Path, what: str, apps: Sequence[Any]) -> CliError:
    hint = f"Name one with --app, or make another: mobiletest apps create. There {'is' if len(apps) == 1 else 'are'} "
    return CliError(f"{file}: {what}", USAGE, hint + _some(apps))


def find_test(api: Api, wanted: str) -> Test:
    """The test with this id or name.

    Raises:
        CliError: there is none, or several.
    """
    return cast("Test", _find(api, "tests", "test", wanted))


def find_workflow(api: Api, wanted: str) -> Workflow:
    """The workflow with this id or name.

    Raises:
        CliError: there is none, or several.
    """
    return cast("Workflow", _find(api, "workflows", "workflow", wanted))


def find_build(api: Api, app: App, version: str) -> Build:
    """The build of the app with this version.

    Raises:
        CliError: there is none.
    """
    for build in api.pages(f"apps/{app['id']}/builds", version=version):
        return cast("Build", build)
    hint = f"mobiletest builds list --app {shlex.quote(str(app['name']))}"
    raise CliError(f'the app "{app["name"]}" has no build "{version}"', NOT_FOUND, hint)


def build_by_id_or_version(api: Api, wanted: str, app: Callable[[], App]) -> Build:
    """The build with this id, or the build of `app` with this version."""
    if is_id(wanted):
        return cast("Build", api.get(f"apps/builds/{wanted}"))
    return find_build(api, app(), wanted)


def selected_runs(runs: Sequence[Run], test: str | None) -> list[Run]:
    """The runs of the test with this name, path or id, or the run with this id; all that did not pass without it.

    Raises:
        CliError: there is none.
    """
    if test is None:
        return [run for run in runs if run["success"] is not True]
    selected = [run for run in runs if test in (run["test_name"], run.get("source_path"), run["test_id"], run["id"])]
    if not selected:
        names = ", ".join(sorted({run["test_name"] for run in runs})[:10])
        raise CliError(f'the execution has no test "{test}"', NOT_FOUND, f"It has: {names}")
    return selected


def _find(api: Api, collection: str, kind: str, wanted: str, **query: Any) -> Any:
    if is_id(wanted):
        return api.get(f"{collection}/{wanted}")
    near = list(api.pages(collection, limit=500, search=wanted, **query))
    named = [item for item in near if item["name"] == wanted]
    named = named or [item for item in near if item["name"].casefold() == wanted.casefold()]
    if len(named) == 1:
        return named[0]
    if named:
        raise CliError(f'{len(named)} {kind}s are called "{wanted}"', USAGE, f"Give an id: {_some(named)}")
    hint = f"Similar: {_some(near)}" if near else f"mobiletest {collection} list"
    raise CliError(f'no {kind} is called "{wanted}"', NOT_FOUND, hint)


def _some(items: Iterable[Any]) -> str:
    shown = [f"{item['id']} ({', '.join(_described(item))})" for item in items]
    return ", ".join(shown[:_SHOWN]) + (", ..." if len(shown) > _SHOWN else "")


def _described(item: Mapping[str, Any]) -> list[str]:
    """What tells an app, a test or a workflow from others of its name."""
    told_apart = [item["name"], item.get("platform"), item.get("workspace"), item.get("source_path")]
    if "test_ids" in item:
        count = len(item["test_ids"])
        told_apart += [f"{count or 'no'} test{'' if count == 1 else 's'}", *(f"tag {tag}" for tag in item["tags"])]
    return [str(text) for text in told_apart if text]


def base_branch_of(execution: Execution) -> str | None:
    """The branch that the start of the execution named for its gate."""
    ci = execution.get("ci")
    return ci.get("base_branch") if ci else None
