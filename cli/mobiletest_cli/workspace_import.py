"""Imports a folder of flows, and shows what the server refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from mobiletest_cli.api import Api, judging_a_file
from mobiletest_cli.errors import INVALID_FILE, CliError
from mobiletest_cli.output import Output
from mobiletest_cli.validation import WARNING, Problem, render
from mobiletest_cli.workspace import Workspace

if TYPE_CHECKING:
    from mobiletest_cli.api_types import FileRemark, ImportTestsResult


def import_folder(
    api: Api, output: Output, files: Workspace, workspace: str | None, app_id: str | None, *, dry_run: bool = False
) -> ImportTestsResult:
    """Import the files of a folder, and attach its tests to the app.

    Raises:
        CliError: the server refuses a flow, so nothing is imported; it has file, line and column of each problem.
    """
    answer = _send(api, files, workspace, app_id, dry_run=dry_run)
    for notice in answer["notices"]:
        for line in _rendered(notice, "notice", files):
            output.say(line)
    _warn(api, output, answer, files)
    _check(answer, files)
    counts = (answer["created_count"], answer["changed_count"], answer["unchanged_count"])
    output.say("Imported {}: {} new, {} changed, {} unchanged.".format(answer["workspace"], *counts))
    return answer


def validate_folder(api: Api, output: Output, files: Workspace, workspace: str | None) -> ImportTestsResult:
    """What the import would do.

    Raises:
        CliError: as in `import_folder`.
    """
    answer = _send(api, files, workspace, None, dry_run=True)
    _warn(api, output, answer, files)
    _check(answer, files)
    count = answer["created_count"] + answer["changed_count"] + answer["unchanged_count"]
    output.say(f"Validated {count} flow{'' if count == 1 else 's'}.")
    return answer


def _send(api: Api, files: Workspace, workspace: str | None, app_id: str | None, *, dry_run: bool) -> ImportTestsResult:
    with judging_a_file():
        response = api.call(
            "POST",
            "tests/import",
            params={
                **({"workspace": workspace} if workspace else {}),
                **({"app_id": app_id} if app_id else {}),
                **({"dry_run": "true"} if dry_run else {}),
            },
            content=files.archive,
            headers={"Content-Type": "application/zip"},
        )
    return cast("ImportTestsResult", api.document(response))


def _warn(api: Api, output: Output, answer: ImportTestsResult, files: Workspace) -> None:
    """Say which sentences no rule parses, if the server has no model; a server that does not know gives no warning."""
    unparsed = answer.get("unparsed") or []
    if not unparsed or api.get("settings/limits").get("models_available") is not False:
        return
    for remark in unparsed:
        for line in _rendered(remark, WARNING, files):
            output.say(line)


def _check(answer: ImportTestsResult, files: Workspace) -> None:
    """CliError: a flow is refused."""
    problems = [problem for flow in answer["refused"] for problem in flow["problems"]]
    if problems:
        shown = [line for problem in problems for line in _rendered(problem, "error", files)]
        count = answer["refused_count"]
        raise CliError(f"{count} flow{'s' if count > 1 else ''} cannot be run:", INVALID_FILE, details=shown)


def _rendered(remark: FileRemark, severity: str, files: Workspace) -> list[str]:
    problem = Problem(remark["file"], remark["line"], remark["column"], remark["message"], severity)
    return render(problem, files.text(remark["file"]), files.display_path(remark["file"]))
