"""Reports over builds: matrix, coverage, compare, flaky, durations; and quarantine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mobiletest_cli.context import Context, app_option, command

if TYPE_CHECKING:
    from mobiletest_cli.branches import ChosenBuilds

AppArgument = Annotated[str | None, typer.Argument(metavar="[APP]", help="App, by name or id; --app names it, too.")]
_REASON_LENGTH, _COMMIT_LENGTH, _BRANCHES_SHOWN = 120, 9, 3
AppOption = Annotated[str | None, app_option("App, by name or id.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for function in (matrix, coverage, flaky, durations, compare, quarantine):
        command(app, function.__name__)(function)


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
    """List flaky tests with the reason and what they cost, the flakiest first; without an app those of all apps."""
    from mobiletest_cli.output import ago, duration

    named = app or app_name or context.project.app
    app_id = context.find_app(named)["id"] if named else None
    tests = list(context.api.pages("flaky_tests", app_id=app_id))
    of_app = () if app_id else ("App",)
    context.output.list(
        tests,
        ("Test", *of_app, "Score", "Last 20", "Costs", "Since", "Why"),
        lambda test: [
            f"{test['test_name']} ({test['variant']})" if test.get("variant") else test["test_name"],
            *(test["app_name"] for _ in of_app),
            f"{test['flaky_score']:.2f}",
            "".join("+" if passed else "-" for passed in test["newest_verdicts"]),
            duration(test["wasted_seconds"] or None),
            ago(test["first_seen_at"]),
            test["classification_detail"],
        ],
        empty="No test is flaky.",
    )


def durations(
    context: Context,
    app: AppArgument = None,
    app_name: AppOption = None,
    builds: Annotated[int, typer.Option(min=2, max=50, help="Newest builds.")] = 10,
    limit: Annotated[int, typer.Option(min=1, help="At most so many.")] = 20,
) -> None:
    """List how long the tests of an app take on the newest build on which they passed, the slowest first."""
    from mobiletest_cli.output import duration

    app_id = context.find_app(app or app_name)["id"]
    context.output.list(
        list(context.api.pages(f"apps/{app_id}/durations", limit=limit, builds=builds)),
        ("Test", "Build", "Takes", "Before", "Change"),
        lambda test: [
            test["test_name"],
            test["builds"][0]["build_version"] if test["builds"] else "-",
            duration(test["seconds"]),
            duration(test["former_seconds"]),
            f"{(test['seconds'] / test['former_seconds'] - 1) * 100:+.0f} %" if test["former_seconds"] else "-",
        ],
        empty="No test has passed on these builds.",
    )


@dataclass
class ComparedBuilds:
    """Options that say what is compared with what."""

    app: Annotated[str | None, app_option("App, by name or id.")] = None
    branch: Annotated[
        str | None, typer.Option(help="The newest build of this branch, with that of the base branch before it.")
    ] = None
    pr: Annotated[int | None, typer.Option("--pr", min=1, help="The same, of this pull request.")] = None
    base_branch: Annotated[
        str | None, typer.Option(help="Branch of the base if no build is named; without it, as in `run`.")
    ] = None


def compare(
    context: Context,
    wanted: ComparedBuilds,
    build: Annotated[
        str | None,
        typer.Argument(help="Version (with --app) or id of the build; the newest with a verdict without it."),
    ] = None,
    base: Annotated[
        str | None,
        typer.Argument(
            help="Build to compare with; without it, the one before of its branch, else of the base branch."
        ),
    ] = None,
) -> None:
    """Compare the results of two builds: what is newly failing, never passed, fixed, flaky, not run."""
    from mobiletest_cli.branches import build_words

    base_branch = context.base_branch(wanted.base_branch)
    build_id, base_id, sharing = _compared(context, wanted, build, base_branch)
    if base is not None:
        base_id = _build_id(context, wanted.app, base)
    answer = context.api.get(f"apps/builds/{build_id}/compare", base=base_id, base_branch=base_branch)
    context.output.result(f"{build_words(answer['build'])} compared with {build_words(answer['base'])}:")
    if sharing:
        tested = ", ".join(sharing[:_BRANCHES_SHOWN])
        context.output.result(f"The build was tested on {tested} too: each test counts with its newest result.")
    kinds = ("newly_failing", "never_passed", "not_run_before", "still_failing", "fixed", "flaky", "not_run")
    context.output.report(
        {**answer, **({"also_tested_by": sharing} if sharing else {})},
        ("Change", "Test", "Since", "Reason"),
        [_comparison_row(kind, row) for kind in kinds for row in answer[kind]],
        empty="Nothing differs.",
    )


def _compared(context: Context, wanted: ComparedBuilds, build: str | None, base_branch: str | None) -> ChosenBuilds:
    from mobiletest_cli.branches import ChosenBuilds, choose_builds
    from mobiletest_cli.errors import USAGE, CliError

    if sum(each is not None for each in (build, wanted.branch, wanted.pr)) > 1:
        raise CliError("give one of a build, --branch and --pr", USAGE, "mobiletest compare --help")
    if build is not None:
        return ChosenBuilds(_build_id(context, wanted.app, build))
    return choose_builds(context.api, context.find_app(wanted.app)["id"], wanted.branch, wanted.pr, base_branch)


def _build_id(context: Context, app: str | None, wanted: str) -> str:
    from mobiletest_cli.lookup import build_by_id_or_version

    return str(build_by_id_or_version(context.api, wanted, lambda: context.find_app(app))["id"])


def _comparison_row(kind: str, row: Any) -> list[str]:
    from mobiletest_cli.failure_groups import triage_words
    from mobiletest_cli.presentation import shorten

    breakage = row.get("breakage") or {}
    reason = " ".join((row.get("failure_message") or row.get("failure_reason") or "").split())
    reason = shorten(reason, _REASON_LENGTH)
    written = triage_words(row.get("triage"))
    name = f"{row['test_name']} ({row['variant']})" if row.get("variant") else row["test_name"]
    said = f"{reason} ({written})" if written else reason
    since = "..".join(commit[:_COMMIT_LENGTH] for commit in (breakage.get("commit_range") or "-").split(".."))
    return [kind.replace("_", " "), name, since, said]


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
