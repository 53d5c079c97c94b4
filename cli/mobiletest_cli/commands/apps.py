"""`mobiletest apps`: the apps of the organisation."""

from __future__ import annotations

from typing import Annotated

import typer

from mobiletest_cli.context import Context, command, platform_name

AppArgument = Annotated[str, typer.Argument(metavar="APP", help="Name or id.")]


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(help="List, register, show and delete apps.", no_args_is_help=True, rich_markup_mode=None)
    for name, function in (("list", list_apps), ("create", create), ("show", show), ("delete", delete)):
        command(group, name)(function)
    app.add_typer(group, name="apps")


def list_apps(
    context: Context,
    platform: Annotated[str | None, typer.Option(help="Android or iOS.")] = None,
    search: Annotated[str | None, typer.Option(help="Part of the name.")] = None,
) -> None:
    """List the apps."""
    from mobiletest_cli.output import ago, percent
    from mobiletest_cli.presentation import current_build

    only = platform_name(platform) if platform else None
    apps = list(context.api.pages("apps", platform=only, search=search))
    context.output.list(
        apps,
        ("App", "Platform", "Current build", "Builds", "Tests", "Pass rate", "Registered", "Id"),
        lambda app: [
            app["name"],
            app["platform"],
            current_build(app)[1] or "-",
            str(app["versions_count"]),
            str(app["attached_tests"]),
            percent(app["rolling_pass_rate"]),
            ago(app["created_at"]),
            app["id"],
        ],
        empty="There are no apps: mobiletest apps create NAME --platform Android",
    )


def create(
    context: Context,
    name: Annotated[str, typer.Argument(help="Name of the app.")],
    platform: Annotated[str, typer.Option(help="Android or iOS.")],
    description: Annotated[str | None, typer.Option(help="A description for people.")] = None,
) -> None:
    """Register an app."""
    import uuid

    body = {"name": name, "platform": platform_name(platform), **({"description": description} if description else {})}
    app = context.api.post("apps", body, key=str(uuid.uuid4()))
    context.output.item(app, app["id"])


def show(context: Context, app: AppArgument) -> None:
    """Show an app with the health of its newest builds."""
    from mobiletest_cli.lookup import find_app
    from mobiletest_cli.output import local_time, percent

    app_details = find_app(context.api, app)
    workspace = context.api.get(f"apps/{app_details['id']}/workspace")
    if context.output.as_json:
        context.output.document(workspace)
        return
    context.output.result(f"{app_details['name']} ({app_details['platform']}), {app_details['id']}")
    chosen, newest = workspace["current_build_version"], workspace["latest_build_version"]
    kind = f"chosen; newest {newest}" if chosen else "the newest" if newest else "none yet"
    context.output.result(
        f"current build {chosen or newest or '-'} ({kind}), "
        f"{workspace['attached_tests']} tests, pass rate {percent(workspace['rolling_pass_rate'])}"
    )
    context.output.table(
        ("Build", "Uploaded", "Tests run", "Passed", "Failed", "Coverage", "Pass rate"),
        [
            [
                build["version"],
                local_time(build["uploaded_at"]),
                str(build["observed_tests"]),
                str(build["passed_tests"]),
                str(build["failed_tests"]),
                percent(build["coverage_rate"]),
                percent(build["pass_rate"]) if build["completed_runs"] else "-",
            ]
            for build in workspace["build_health"]
        ],
    )


def delete(
    context: Context, app: AppArgument, yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False
) -> None:
    """Delete an app."""
    from mobiletest_cli.lookup import find_app

    app_details = find_app(context.api, app)
    context.confirm(f'Delete the app "{app_details["name"]}" with {app_details["versions_count"]} builds?', yes=yes)
    context.api.delete(f"apps/{app_details['id']}")
    context.output.done(f'Deleted the app "{app_details["name"]}".', id=app_details["id"])
