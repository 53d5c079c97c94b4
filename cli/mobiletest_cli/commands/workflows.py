"""`mobiletest workflows`: named sets of tests that CI starts."""

from __future__ import annotations

from typing import Annotated

import typer

from mobiletest_cli.context import Context, command

WorkflowArgument = Annotated[str, typer.Argument(metavar="WORKFLOW", help="Name or id.")]


def register(app: typer.Typer) -> None:
    """Add the group."""
    text = "List, create, show and delete workflows; start one with: mobiletest run --workflow NAME"
    group = typer.Typer(help=text, no_args_is_help=True, rich_markup_mode=None)
    for name, function in (("list", list_workflows), ("create", create), ("show", show), ("delete", delete)):
        command(group, name)(function)
    app.add_typer(group, name="workflows")


def list_workflows(
    context: Context, search: Annotated[str | None, typer.Option(help="Part of the name.")] = None
) -> None:
    """List the workflows."""
    from mobiletest_cli.output import ago

    context.output.list(
        list(context.api.pages("workflows", search=search)),
        ("Workflow", "Tests", "Tags", "Changed", "Id"),
        lambda each: [
            each["name"],
            str(len(each["test_ids"])),
            ", ".join(each["tags"]),
            ago(each["updated_at"]),
            each["id"],
        ],
        empty="There are no workflows: mobiletest workflows create NAME --tag smoke",
    )


def create(
    context: Context,
    name: Annotated[str, typer.Argument(help="Name of the workflow.")],
    test: Annotated[list[str] | None, typer.Option(help="Test, by name or id; may be repeated.")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="All tests with this tag; may be repeated.")] = None,
) -> None:
    """Create a workflow of tests and tags."""
    import uuid

    from mobiletest_cli.lookup import find_test

    body = {"name": name, "test_ids": [find_test(context.api, each)["id"] for each in test or ()], "tags": tag or []}
    workflow = context.api.post("workflows", body, key=str(uuid.uuid4()))
    context.output.item(workflow, workflow["id"])


def show(context: Context, workflow: WorkflowArgument) -> None:
    """Show a workflow with its tests and its newest executions."""
    from mobiletest_cli.lookup import find_workflow
    from mobiletest_cli.output import ago
    from mobiletest_cli.presentation import counts, state

    workflow_details = find_workflow(context.api, workflow)
    if context.output.as_json:
        context.output.document(workflow_details)
        return
    context.output.result(f"{workflow_details['name']}, {workflow_details['id']}")
    if workflow_details["tags"]:
        context.output.result(f"tags: {', '.join(workflow_details['tags'])}")
    tests = [context.api.get(f"tests/{test_id}") for test_id in workflow_details["test_ids"]]
    context.output.table(
        ("Test", "Version", "Id"), [[test["name"], str(test["version_number"]), test["id"]] for test in tests]
    )
    newest = context.api.pages("executions", limit=5, workflow_id=workflow_details["id"])
    rows = [[each["id"], state(each), counts(each), ago(each["created_at"])] for each in newest]
    context.output.table(("Execution", "Result", "Runs", "Started"), rows)


def delete(
    context: Context,
    workflow: WorkflowArgument,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Delete a workflow."""
    from mobiletest_cli.lookup import find_workflow

    workflow_details = find_workflow(context.api, workflow)
    context.confirm(f'Delete the workflow "{workflow_details["name"]}"?', yes=yes)
    context.api.delete(f"workflows/{workflow_details['id']}")
    context.output.done(f'Deleted the workflow "{workflow_details["name"]}".', id=workflow_details["id"])
