"""`mobiletest executions`: the list of executions, and what it can be filtered by."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mobiletest_cli.context import Context, app_option, command

if TYPE_CHECKING:
    from mobiletest_cli.api_types import Execution

# The words of the API.
RESULTS = ("passed", "failed", "no_verdict", "flaky", "cancelled", "running")
ORDERS = ("newest", "oldest", "longest")


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "executions")(list_executions)


@dataclass
class ExecutionFilters:
    """Options, which are called as the parameters of the API unless `_PARAMETERS` says otherwise."""

    branch: Annotated[str | None, typer.Option(help="Only of branches that begin so.")] = None
    commit: Annotated[str | None, typer.Option(help="Only of commits that begin so.")] = None
    pr: Annotated[int | None, typer.Option("--pr", min=1, help="Only of this pull request.")] = None
    ci_run: Annotated[str | None, typer.Option(help="Only of CI runs whose id begins so.")] = None
    name: Annotated[
        str | None, typer.Option(help="Only whose name, or that of their workflow or only test, begins so.")
    ] = None
    started_by: Annotated[str | None, typer.Option(help="Only that API keys started whose names begin so.")] = None
    result: Annotated[str | None, typer.Option(help=f"Only with this result: {', '.join(RESULTS)}.")] = None
    since: Annotated[str | None, typer.Option(help="Only from this day or time on, such as 2026-12-24.")] = None
    until: Annotated[str | None, typer.Option(help="Only until this day, including it, or time.")] = None
    exact: Annotated[bool, typer.Option("--exact", help="Texts are whole values, not beginnings.")] = False
    sort: Annotated[str | None, typer.Option(help=f"The order: {', '.join(ORDERS)} first.")] = None


_PARAMETERS = {
    "commit": "commit_sha",
    "pr": "pr_number",
    "ci_run": "ci_run_id",
    "since": "created_after",
    "until": "created_before",
}


def list_executions(
    context: Context,
    filters: ExecutionFilters,
    app: Annotated[str | None, app_option("App, by name or id.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="At most so many.")] = 20,
) -> None:
    """List executions, newest first."""
    query = _query(filters)
    app_id = context.find_app(app)["id"] if app else None
    executions = list(context.api.pages("executions", limit=limit, app_id=app_id, **query))
    empty = "No execution matches." if query or app else "There are no executions: mobiletest run --help"
    columns = ("Execution", "Of", "Result", "Runs", "Branch", "When")
    context.output.list(executions, columns, _row, empty=empty)


def _query(filters: ExecutionFilters) -> dict[str, Any]:
    """The filters that are given, as parameters of the API: a day begins at midnight of this machine, and is included.

    Raises:
        CliError: what should be a day or time is none.
    """
    from datetime import timedelta

    from mobiletest_cli.output import utc_time

    given = {
        each.name: value for each in fields(filters) if (value := getattr(filters, each.name)) not in (None, False)
    }
    for name, of_day in (("since", timedelta()), ("until", timedelta(days=1))):
        if name in given:
            given[name] = utc_time(given[name], of_day=of_day)
    if "exact" in given:
        given["exact"] = "true"
    return {_PARAMETERS.get(name, name): value for name, value in given.items()}


def _row(execution: Execution) -> list[str]:
    from mobiletest_cli.output import ago
    from mobiletest_cli.presentation import run_counts, state

    return [
        execution["id"],
        execution["workflow_name"] or execution.get("name") or execution.get("test_name") or str(execution["kind"]),
        state(execution),
        run_counts(execution["counts"] or {}),
        (execution["ci"] and execution["ci"].get("branch")) or "-",
        ago(execution["created_at"]),
    ]
