"""Imports a folder of flows, shows what the server refuses, and selects the tests to start."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from mobiletest_cli.api import Api, judging_a_file
from mobiletest_cli.errors import INVALID_FILE, NOT_FOUND, CliError
from mobiletest_cli.output import Output
from mobiletest_cli.validation import Problem, render
from mobiletest_cli.workspace import Workspace

if TYPE_CHECKING:
    from mobiletest_cli.api_types import FileRemark, ImportedTest, ImportTestsResult


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


def select(
    answer: ImportTestsResult,
    selected: frozenset[str],
    *,
    names: Sequence[str] = (),
    tags: Sequence[str] = (),
    excluded_tags: Sequence[str] = (),
) -> list[ImportedTest]:
    """The imported tests to start, in the order of the folder: of the selected flows (all if none is), names and tags.

    Raises:
        CliError: there is none.
    """
    every = [*answer["created"], *answer["changed"], *answer["unchanged"]]
    order = {path: position for position, path in enumerate(answer["flows_order"])}
    every.sort(key=lambda test: (order.get(test["path"], len(order)), test["path"]))
    chosen = [
        test
        for test in every
        if (not selected or test["path"] in selected)
        and (not names or test["name"] in names or test["path"] in names or test["test_id"] in names)
        and (not tags or set(tags) & set(test["tags"]))
        and not set(excluded_tags) & set(test["tags"])
    ]
    missing = selected - {test["path"] for test in every}
    if missing:
        hint = "config.yaml, tags or its content exclude it: mobiletest tests validate"
        raise CliError(f"{', '.join(sorted(missing))}: is not a flow of the folder", INVALID_FILE, hint)
    if not chosen:
        what = f"has a name or tag of: {', '.join([*names, *tags])}" if names or tags else "is in the folder"
        without = f" without the tags: {', '.join(excluded_tags)}" if excluded_tags else ""
        raise CliError(f"no flow {what}{without}", NOT_FOUND if names or tags or excluded_tags else INVALID_FILE)
    return chosen
