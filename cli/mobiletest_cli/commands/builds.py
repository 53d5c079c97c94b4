"""`mobiletest builds`: the builds of an app."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mobiletest_cli.context import Context, app_option, command

if TYPE_CHECKING:
    from mobiletest_cli.api_types import Build

AppOption = Annotated[str | None, app_option("App, by name or id.")]
BuildArgument = Annotated[str, typer.Argument(metavar="BUILD", help="Version (with --app) or id.")]


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(help="Upload, list, download and delete builds.", no_args_is_help=True, rich_markup_mode=None)
    functions = {
        "upload": upload,
        "list": list_builds,
        "download": download,
        "delete": delete,
        "set-current": set_current,
    }
    for name, function in functions.items():
        command(group, name)(function)
    app.add_typer(group, name="builds")


def upload(
    context: Context,
    file: Annotated[Path, typer.Argument(help="App file (.apk, .ipa).")],
    app: AppOption = None,
    version: Annotated[str | None, typer.Option("--build", help="Version; the one in the file without it.")] = None,
    current: Annotated[bool, typer.Option("--current", help="Make it the app's current build.")] = False,
) -> None:
    """Upload a build, unless the server has it."""
    from mobiletest_cli.build_upload import BuildUpload
    from mobiletest_cli.lookup import app_of_file
    from mobiletest_cli.selection import read_file

    read, name = read_file(file), app or context.project.app
    of_file = app_of_file(context.api, file, read.platform, read.package_name) if read.platform and not name else None
    app_details = of_file or context.find_app(app)
    build = BuildUpload(context.api, context.output).ensure(app_details, file, read, version)
    if current:
        context.api.patch(f"apps/{app_details['id']}", {"current_version": build["version"]})
    context.output.item(build, str(build["id"]))


def list_builds(
    context: Context, app: AppOption = None, limit: Annotated[int, typer.Option(min=1, help="At most so many.")] = 50
) -> None:
    """List the builds of an app, newest first."""
    from mobiletest_cli.output import local_time
    from mobiletest_cli.presentation import current_build

    app_details = context.find_app(app)
    current, _ = current_build(app_details)
    context.output.list(
        list(context.api.pages(f"apps/{app_details['id']}/builds", limit=limit)),
        ("Build", "Uploaded", "Package", "Current", "Id"),
        lambda build: [
            build["version"],
            local_time(build["uploaded_at"]),
            build["package_name"] or "-",
            "current" if build["id"] == current else "",
            build["id"],
        ],
        empty=f"The app has no builds: mobiletest builds upload FILE --app {shlex.quote(str(app_details['name']))}",
    )


def download(
    context: Context,
    build: BuildArgument,
    app: AppOption = None,
    output_file: Annotated[Path | None, typer.Option("--output", "-o", help="File to write.")] = None,
) -> None:
    """Download the file of a build."""
    from mobiletest_cli.download import download_to

    build_details = _build(context, build, app)
    path = download_to(context.api, f"apps/builds/{build_details['id']}/download", output_file)
    context.output.done(f"Wrote {path}.", path=str(path))


def delete(
    context: Context,
    build: BuildArgument,
    app: AppOption = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Delete a build; its history stays."""
    build_details = _build(context, build, app)
    context.confirm(f"Delete the build {build_details['version']}?", yes=yes)
    context.api.delete(f"apps/builds/{build_details['id']}")
    context.output.done(f"Deleted the build {build_details['version']}.", id=build_details["id"])


def set_current(context: Context, build: BuildArgument, app: AppOption = None) -> None:
    """Choose the current build of its app, which is otherwise the newest."""
    build_details = _build(context, build, app)
    context.api.patch(f"apps/{build_details['app_id']}", {"current_version": build_details["version"]})
    context.output.done(
        f"The current build is {build_details['version']} now.",
        id=build_details["id"],
        version=build_details["version"],
    )


def _build(context: Context, build: str, app: str | None) -> Build:
    from mobiletest_cli.lookup import build_by_id_or_version

    return build_by_id_or_version(context.api, build, lambda: context.find_app(app))
