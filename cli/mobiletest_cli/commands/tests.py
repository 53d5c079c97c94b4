"""`mobiletest tests`: folders of flows and the tests that the server makes of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mobiletest_cli.context import Context, app_option, command
from mobiletest_cli.errors import INVALID_FILE, NOT_FOUND, OK, CliError

TestArgument = Annotated[str, typer.Argument(metavar="TEST", help="Name or id.")]
Paths = Annotated[list[Path] | None, typer.Argument(help="Folder of flows, or flow files in it.")]
WorkspaceOption = Annotated[str | None, typer.Option(help="Name of the folder on the server.")]


def register(app: typer.Typer) -> None:
    """Add the group."""
    text = "Validate, push and pull flows; list tests and their results."
    group = typer.Typer(help=text, no_args_is_help=True, rich_markup_mode=None)
    named = {
        "list": list_tests,
        "push": push,
        "pull": pull,
        "validate": validate,
        "show": show,
        "runs": runs,
        "history": history,
        "delete": delete,
    }
    for name, function in named.items():
        command(group, name)(function)
    app.add_typer(group, name="tests")


def list_tests(
    context: Context,
    search: Annotated[str | None, typer.Option(help="Part of the name.")] = None,
    tag: Annotated[str | None, typer.Option(help="Only tests with this tag.")] = None,
    app: Annotated[str | None, app_option("Only of this app, by name or id.")] = None,
) -> None:
    """List the tests."""
    from mobiletest_cli.output import ago

    app_id = context.find_app(app)["id"] if app else None
    context.output.list(
        list(context.api.pages("tests", search=search, tag=tag, app_id=app_id)),
        ("Test", "Tags", "Flow", "Version", "Changed", "Id"),
        lambda test: [
            test["name"],
            ", ".join(test["tags"]),
            f"{test['workspace']}: {test['source_path']}" if test.get("source_path") else "-",
            str(test["version_number"]),
            ago(test["updated_at"]),
            test["id"],
        ],
        empty="There are no tests: mobiletest tests push .maestro",
    )


def push(
    context: Context,
    paths: Paths = None,
    app: Annotated[str | None, app_option("Attach to this app, by name or id.")] = None,
    workspace: WorkspaceOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")] = False,
) -> None:
    """Send a folder of flows to the server: new flows become tests, changed ones new versions."""
    from mobiletest_cli.lookup import only_app
    from mobiletest_cli.workspace import find_files
    from mobiletest_cli.workspace_import import import_folder

    name = app or context.project.app
    app_details = context.find_app(name) if name else None if workspace else only_app(context.api)
    chosen = workspace or context.project.workspace or (str(app_details["name"])[:100] if app_details else None)
    files = find_files(context.flow_paths(paths))
    answer = import_folder(
        context.api, context.output, files, chosen, app_details["id"] if app_details else None, dry_run=dry_run
    )
    rows = [
        [kind, test["path"], test["name"]]
        for kind in ("created", "changed", "unchanged", "missing")
        for test in answer[kind]
    ]
    context.output.report(answer, ("Change", "Flow", "Test"), rows)


def pull(
    context: Context,
    folder: Annotated[Path, typer.Argument(help="Folder to write flows to.")],
    workspace: WorkspaceOption = None,
    app: Annotated[str | None, app_option("Only of this app, by name or id.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite files that differ.")] = False,
) -> None:
    """Write the server's tests as flow files."""
    from mobiletest_cli.flow_files import write_flows

    app_id = context.find_app(app)["id"] if app else None
    tests = context.api.pages("tests", app_id=app_id, include_steps="true")
    wanted = [test for test in tests if workspace is None or test["workspace"] == workspace]
    if workspace and not wanted:
        raise CliError(f'no test belongs to the folder "{workspace}"', NOT_FOUND, "mobiletest tests list")
    written = [str(path) for path in write_flows(folder, wanted, force=force)]
    rows = [[path] for path in written]
    context.output.report({"items": written}, ("Written",), rows, empty="Every file is as on the server.")


def validate(context: Context, paths: Paths = None) -> int:
    """Check flows without a server: every problem with file, line and column."""
    from dataclasses import asdict

    from mobiletest_cli.validation import render
    from mobiletest_cli.validation import validate as find_problems
    from mobiletest_cli.workspace import find_files

    files = find_files(context.flow_paths(paths))
    problems = find_problems(files)
    if context.output.as_json:
        context.output.document({"items": [asdict(problem) for problem in problems]})
    for problem in problems:
        for line in render(problem, files.text(problem.file), files.display_path(problem.file)):
            context.output.result(line)
    errors = sum(problem.severity == "error" for problem in problems)
    context.output.say(f"{errors} problem{'' if errors == 1 else 's'}." if errors else "No problems.")
    return INVALID_FILE if errors else OK


def show(context: Context, test: TestArgument) -> None:
    """Show a test as a flow."""
    from mobiletest_cli.flow_files import flow_text
    from mobiletest_cli.lookup import find_test

    test_details = context.api.get(f"tests/{find_test(context.api, test)['id']}")
    if context.output.as_json:
        context.output.document(test_details)
    else:
        context.output.text(flow_text(test_details))


def runs(
    context: Context,
    test: TestArgument,
    limit: Annotated[int, typer.Option(min=1, help="At most so many.")] = 20,
    result: Annotated[
        str | None, typer.Option(help="Only runs that ended so: passed, failed, no_verdict, flaky or cancelled.")
    ] = None,
) -> None:
    """List the newest runs of a test, and say whether it is flaky, broken or stable, and why."""
    from mobiletest_cli.classifications import classify_test
    from mobiletest_cli.lookup import find_test
    from mobiletest_cli.output import ago, duration
    from mobiletest_cli.presentation import outcome

    test_id = find_test(context.api, test)["id"]
    newest = list(context.api.pages(f"tests/{test_id}/runs", limit=limit, result=result))
    classifications = classify_test(context.api, test_id, newest)
    if context.output.as_json:
        context.output.document({"items": newest, "classifications": classifications})
        return
    context.output.list(
        newest,
        ("Result", "Build", "Branch", "Time", "When", "Execution"),
        lambda run: [
            outcome(run),
            run["resolved_build_version"] or "-",
            str((run["metadata"] or {}).get("branch") or "-"),
            duration(run["execution_time_seconds"]),
            ago(run["completed_at"] or run["started_at"]),
            run["execution_id"],
        ],
        empty="No run matches." if result else "It has not been run yet.",
    )
    for each in classifications:
        app = f" on the app {each['app_id']}" if len(classifications) > 1 else ""
        context.output.result(f"{str(each['classification']).replace('_', ' ')}{app}: {each['classification_detail']}")


def history(context: Context, test: TestArgument) -> None:
    """List the versions of a test's steps."""
    from mobiletest_cli.lookup import find_test
    from mobiletest_cli.output import local_time

    test_details = find_test(context.api, test)
    context.output.list(
        list(context.api.pages(f"tests/{test_details['id']}/versions", include_steps="true")),
        ("Version", "Created", "Steps"),
        lambda version: [
            str(version["version_number"]),
            local_time(version["created_at"]),
            str(len(version["steps"] or ())),
        ],
        empty="It has no versions.",
    )


def delete(
    context: Context, test: TestArgument, yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False
) -> None:
    """Delete a test; its history stays."""
    from mobiletest_cli.lookup import find_test

    test_details = find_test(context.api, test)
    context.confirm(f'Delete the test "{test_details["name"]}"?', yes=yes)
    context.api.delete(f"tests/{test_details['id']}")
    context.output.done(f'Deleted the test "{test_details["name"]}".', id=test_details["id"])
