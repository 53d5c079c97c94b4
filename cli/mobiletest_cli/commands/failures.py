"""`mobiletest failures`: failures of the same kind over all runs, and what people write about them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from mobiletest_cli.context import Context, app_option, command

if TYPE_CHECKING:
    from mobiletest_cli.api_types import FailureDetails, FailureItem, FailureSighting

FingerprintArgument = Annotated[str, typer.Argument(metavar="FINGERPRINT", help="As `failures list` shows it.")]
AppOption = Annotated[str | None, app_option("App, by name or id.")]
_MESSAGE_LENGTH = 120


def register(app: typer.Typer) -> None:
    """Add the group."""
    text = "List failures of the same kind, show one, and mark it as known or fixed."
    group = typer.Typer(help=text, no_args_is_help=True, rich_markup_mode=None)
    for name, function in (("list", list_failures), ("show", show), ("mark", mark)):
        command(group, name)(function)
    app.add_typer(group, name="failures")


def list_failures(
    context: Context,
    app: Annotated[str | None, app_option("Only of this app, by name or id.")] = None,
    search: Annotated[str | None, typer.Option(help="A part of the message.")] = None,
    state: Annotated[str | None, typer.Option(help="open, known or fixed; open are also those that came back.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="At most so many.")] = 20,
) -> None:
    """List failures of all apps, those that were seen last first."""
    app_id = context.find_app(app)["id"] if app else None
    failures = list(context.api.pages("failures", limit=limit, app_id=app_id, search=search, state=state))
    columns = ("Failure", "State", "Runs", "Last seen", "App", "Message")
    context.output.list(failures, columns, _row, empty="No failure matches.")


def _row(failure: FailureItem) -> list[str]:
    from mobiletest_cli.failure_groups import failure_state
    from mobiletest_cli.output import ago
    from mobiletest_cli.presentation import shorten

    return [
        failure["fingerprint"],
        failure_state(failure),
        str(failure["count"]),
        ago(failure["last_seen"] and failure["last_seen"]["at"]),
        failure["app_name"],
        shorten(" ".join(failure["sample_message"].split()), _MESSAGE_LENGTH),
    ]


def show(context: Context, fingerprint: FingerprintArgument, app: AppOption = None) -> None:
    """Show a failure: since when, the tests and builds that have it, and what people wrote."""
    from mobiletest_cli.failure_groups import failure_path

    failure: FailureDetails = context.api.get(failure_path(context.find_app(app)["id"], fingerprint))
    if context.output.as_json:
        context.output.document(failure)
        return
    for line in _described(failure):
        context.output.result(line)
    _show_places(context, failure)


def _described(failure: FailureDetails) -> list[str]:
    from mobiletest_cli.failure_groups import failure_state, triage_words

    runs = f"{failure['count']} run{'' if failure['count'] == 1 else 's'}"
    written = triage_words(failure.get("triage"))
    return [
        f"{failure['category']}: {failure['sample_message']}",
        f"{failure['app_name']}: {failure_state(failure)}, {runs}",
        f"first seen {_seen(failure['first_seen'])}",
        f"last seen {_seen(failure['last_seen'])}",
        *([f"written: {written}"] if written else []),
    ]


def _seen(sighting: FailureSighting | None) -> str:
    from mobiletest_cli.output import local_time

    if sighting is None:
        return "never"
    build = f" on build {sighting['build_version']}" if sighting["build_version"] else ""
    branch = f" of {sighting['branch']}" if sighting["branch"] else ""
    execution = f", execution {sighting['execution_id']}" if sighting["execution_id"] else ""
    return f"{local_time(sighting['at'])}{build}{branch}{execution}"


def _show_places(context: Context, failure: FailureDetails) -> None:
    from mobiletest_cli.output import ago

    rows: list[Any] = [("test", each["test_name"], each) for each in failure["tests"]]
    rows += [("build", each["version"], each) for each in failure["builds"]]
    context.output.table(
        ("Where", "Name", "Runs", "Last seen"),
        [[kind, name or "-", str(each["count"]), ago(each["last_seen_at"])] for kind, name, each in rows],
    )


def mark(
    context: Context,
    fingerprint: FingerprintArgument,
    state: Annotated[str | None, typer.Argument(metavar="[STATE]", help="open, known or fixed.")] = None,
    app: AppOption = None,
    ticket: Annotated[str | None, typer.Option(help="Address of a ticket; an empty text removes it.")] = None,
    note: Annotated[str | None, typer.Option(help="A note; an empty text removes it.")] = None,
    owner: Annotated[str | None, typer.Option(help="Who takes care of it; an empty text removes it.")] = None,
    fixed_in: Annotated[str | None, typer.Option(help="With fixed: version of the first build without it.")] = None,
) -> None:
    """Write about a failure: that it is known or fixed, a ticket, a note, an owner. The gate and reports say it."""
    from mobiletest_cli.failure_groups import triage_failure, triage_words

    app_id = context.find_app(app)["id"]
    changes = {"state": state, "ticket_url": ticket, "note": note, "owner": owner, "fixed_in": fixed_in}
    triage = triage_failure(context.api, app_id, fingerprint, changes)
    context.output.item(triage, triage_words(triage) or "open")
