"""`mobiletest apps`: the apps of the organisation."""

from __future__ import annotations

from typing import Annotated

import typer

from mobiletest_cli.context import Context, command, platform_name

AppArgument = Annotated[str, typer.Argument(metavar="APP", help="Name or id.")]


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(
        help="List, register, show and delete apps; what is broken on them.",
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    named = {"list": list_apps, "health": health, "branches": branches, "create": create, "show": show}
    for name, function in {**named, "delete": delete}.items():
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


def health(
    context: Context,
    platform: Annotated[str | None, typer.Option(help="Android or iOS.")] = None,
    search: Annotated[str | None, typer.Option(help="Part of the name.")] = None,
) -> None:
    """List the apps with what their newest build with a verdict broke, those with newly broken tests first."""
    from mobiletest_cli.output import ago

    only = platform_name(platform) if platform else None
    context.output.list(
        list(context.api.pages("apps/health", platform=only, search=search)),
        ("App", "Result", "Build", "Branch", "New", "Still", "Flaky", "Not run", "Last run"),
        lambda app: [
            f"{app['name']} ({app['app_id'][:8]})" if app["shares_name"] else app["name"],
            app["result"],
            (app["build"] or {}).get("version") or "-",
            (app["build"] or {}).get("branch") or "-",
            str(app["newly_failing"]),
            str(app["still_failing"] + app["never_passed"]),
            str(app["flaky"]),
            str(app["not_run"]),
            ago(app["last_run_at"]),
        ],
        empty="There are no apps: mobiletest apps create NAME --platform Android",
    )


def branches(
    context: Context,
    app: Annotated[str | None, typer.Argument(metavar="[APP]", help="Name or id.")] = None,
    search: Annotated[str | None, typer.Option(help="The beginning of a branch or of a number.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="At most so many.")] = 20,
) -> None:
    """List the branches and pull requests of an app, those with the newest run first."""
    from mobiletest_cli.output import ago

    app_id = context.find_app(app)["id"]
    context.output.list(
        list(context.api.pages(f"apps/{app_id}/branches", limit=limit, search=search)),
        ("Branch", "Last run", "Ended", "Commit", "Newest build"),
        lambda branch: [
            f"pull request {branch['name']}" if branch["kind"] == "pull_request" else branch["name"],
            branch["last_status"].replace("_", " "),
            ago(branch["last_run_at"]),
            (branch["commit_sha"] or "-")[:9],
            branch["builds"][0]["version"] if branch["builds"] else "-",
        ],
        empty="No finished run names a branch.",
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
        ("Build", "Branch", "Commit", "Uploaded", "Tests run", "Passed", "Failed", "Coverage", "Pass rate"),
        [
            [
                build["version"],
                build["branch"] or "-",
                (build["commit_sha"] or "-")[:9],
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
