"""Reports over builds: matrix, coverage, compare, flaky; and quarantine."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from mobiletest_cli.context import Context, app_option, command

AppArgument = Annotated[str | None, typer.Argument(metavar="[APP]", help="App, by name or id; --app names it, too.")]
AppOption = Annotated[str | None, app_option("App, by name or id.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    named = {"matrix": matrix, "coverage": coverage, "flaky": flaky, "compare": compare, "quarantine": quarantine}
    for name, function in named.items():
        command(app, name)(function)


def matrix(
    context: Context,
    app: AppArgument = None,
    app_name: AppOption = None,
    builds: Annotated[int, typer.Option(min=2, max=50, help="Newest builds.")] = 10,
) -> None:
    """Show every test on the newest builds."""
    app_details = context.find_app(app or app_name)
    answer = context.api.get(f"apps/{app_details['id']}/test_matrix", page_size=builds)
    versions = [build["version"] for build in answer["builds"]]
    context.output.report(
        answer,
        ("Test", *versions, "Classification"),
        [[row["test_name"], *_cells(row, versions), row["classification"]] for row in answer["tests"]],
    )


def _cells(row: Any, versions: list[str]) -> list[str]:
    """The cell of each build: "passed", "failed", "2/3" for mixed results with the failing variant, "-" for none."""
    cells = {cell["build_version"]: cell for cell in row["cells"]}
    return [_cell(cells.get(version)) for version in versions]


def _cell(cell: Any) -> str:
    if cell is None or not cell["total_runs"]:
        return "-"
    passed, failed = cell["passed_runs"], cell["failed_runs"]
    if passed and failed:
        failing = [variant["variant"] for variant in cell.get("variants", ()) if variant["success"] is False]
        return f"{passed}/{passed + failed}{f' ({failing[0][:40]})' if failing else ''}"
    return "passed" if passed else "failed" if failed else "no verdict" if cell["infra_failed_runs"] else "cancelled"


def coverage(context: Context, app: AppArgument = None, app_name: AppOption = None) -> None:
    """Show what has been run on the version that each test targets."""
    from mobiletest_cli.output import ago, plain

    app_details = context.find_app(app or app_name)
    answer = context.api.get(f"apps/{app_details['id']}/coverage")
    context.output.report(
        answer,
        ("Test", "Relationship", "Target", "Last result", "Last run"),
        [
            [
                *plain(item, ("test_name", "relationship", "target_build_version", "last_status")),
                ago(item["last_execution_time"]),
            ]
            for item in answer["items"]
        ],
    )


def flaky(context: Context, app: AppArgument = None, app_name: AppOption = None) -> None:
    """List the tests of an app that are flaky, or may be, with the reason."""
    app_details = context.find_app(app or app_name)
    answer = context.api.get(f"apps/{app_details['id']}/test_matrix")
    rows = [row for row in answer["tests"] if "flaky" in row["classification"]]
    context.output.report(
        {"items": [{name: value for name, value in row.items() if name != "cells"} for row in rows]},
        ("Test", "Classification", "Score", "Why"),
        [
            [row["test_name"], row["classification"], f"{row['flaky_score']:.2f}", row["classification_detail"]]
            for row in rows
        ],
        empty="No test is flaky.",
    )


def compare(
    context: Context,
    build: Annotated[str, typer.Argument(help="Version (with --app) or id of the build.")],
    base: Annotated[
        str | None,
        typer.Argument(
            help="Build to compare with; without it, the one before of its branch, else of the base branch."
        ),
    ] = None,
    app: Annotated[str | None, app_option("App, by name or id.")] = None,
    base_branch: Annotated[
        str | None, typer.Option(help="Branch of the base if no build is named; without it, as in `run`.")
    ] = None,
) -> None:
    """Compare the results of two builds: what is newly failing, never passed, fixed, flaky, not run."""
    from mobiletest_cli.lookup import build_by_id_or_version

    def find(wanted: str) -> Any:
        return build_by_id_or_version(context.api, wanted, lambda: context.find_app(app))["id"]

    base_id = find(base) if base else None
    branch = context.base_branch(base_branch)
    answer = context.api.get(f"apps/builds/{find(build)}/compare", base=base_id, base_branch=branch)
    kinds = ("newly_failing", "never_passed", "not_run_before", "still_failing", "fixed", "flaky", "not_run")
    context.output.report(
        answer,
        ("Change", "Test", "Since", "Reason"),
        [_comparison_row(kind, row) for kind in kinds for row in answer[kind]],
        empty="Nothing differs.",
    )


def _comparison_row(kind: str, row: Any) -> list[str]:
    breakage = row.get("breakage") or {}
    reason = " ".join((row.get("failure_message") or row.get("failure_reason") or "").split())
    name = f"{row['test_name']} ({row['variant']})" if row.get("variant") else row["test_name"]
    return [kind.replace("_", " "), name, breakage.get("commit_range") or "-", reason]


def quarantine(
    context: Context,
    test: Annotated[str, typer.Argument(help="Test, by name or id.")],
    reason: Annotated[str | None, typer.Option(help="Why its failures should not block.")] = None,
    until: Annotated[str | None, typer.Option(help="Day or time of its end, such as 2026-12-24.")] = None,
    remove: Annotated[bool, typer.Option("--remove", help="End the quarantine.")] = False,
) -> None:
    """Quarantine a test: it runs, and its failures do not block."""
    from mobiletest_cli.errors import USAGE, CliError
    from mobiletest_cli.lookup import find_test
    from mobiletest_cli.output import local_time, utc_time

    test_details = find_test(context.api, test)
    if remove:
        context.api.delete(f"tests/{test_details['id']}/quarantine")
        context.output.done(f'"{test_details["name"]}" is not in quarantine.', id=test_details["id"])
        return
    if not reason:
        raise CliError("a quarantine needs a reason", USAGE, 'Such as --reason "SHOP-12: the cart changes"')
    body = {"reason": reason, **({"until": utc_time(until)} if until else {})}
    answer = context.api.put(f"tests/{test_details['id']}/quarantine", body)
    end = local_time((answer["quarantine"] or {}).get("until"))
    context.output.item(answer, f'"{test_details["name"]}" is in quarantine until {end}.')
