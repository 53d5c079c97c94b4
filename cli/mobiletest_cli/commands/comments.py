"""`mobiletest comments`: what people wrote about the runs of an execution."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from mobiletest_cli.commands.executions import ExecutionArgument
from mobiletest_cli.context import Context, command
from mobiletest_cli.errors import USAGE, CliError

if TYPE_CHECKING:
    from mobiletest_cli.api_types import Run


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "comments")(comments)


def comments(
    context: Context,
    execution: ExecutionArgument,
    test: Annotated[str | None, typer.Argument(help="Name or id of a test; all without it.")] = None,
    add: Annotated[str | None, typer.Option(help="Write this about the run of the test.")] = None,
    delete: Annotated[
        str | None, typer.Option(metavar="COMMENT", help="Delete the comment with this id, which this key wrote.")
    ] = None,
) -> None:
    """List what people wrote about runs, write a comment, or delete one."""
    from mobiletest_cli.lookup import selected_runs
    from mobiletest_cli.run_comments import add_comment, delete_comment, read_comments, show_comments

    if add is not None and delete is not None:
        raise CliError("give either --add or --delete", USAGE, "mobiletest comments --help")
    runs: list[Run] = list(context.api.pages(f"executions/{execution}/runs"))
    runs = runs if test is None else selected_runs(runs, test)
    if add is not None:
        comment = add_comment(context.api, runs, add)
        context.output.item(comment, comment["id"])
    elif delete is not None:
        delete_comment(context.api, runs, delete)
        context.output.done("Deleted the comment.", id=delete)
    else:
        commented = [(run, found) for run in runs if (found := read_comments(context.api, run))]
        if context.output.as_json:
            items = [{**each, "run_id": run["id"]} for run, found in commented for each in found]
            context.output.document({"items": items})
        for run, found in commented:
            context.output.result(run["test_name"])
            show_comments(context.output, found)
        if not commented:
            context.output.say("There are no comments.")
