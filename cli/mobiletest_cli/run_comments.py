"""What people wrote about runs: reads, shows, adds and deletes comments."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, cast

from mobiletest_cli.api import Api
from mobiletest_cli.errors import NOT_FOUND, USAGE, CliError
from mobiletest_cli.names import is_id
from mobiletest_cli.output import Output, local_time

if TYPE_CHECKING:
    from mobiletest_cli.api_types import Run, RunComment


_SHOWN = 3


def read_comments(api: Api, run: Run) -> list[RunComment]:
    """The comments of the run, oldest first."""
    return list(api.pages(_path(run))) if run.get("comment_count") else []


def show_comments(output: Output, comments: Iterable[RunComment]) -> None:
    """Each comment in a line: who wrote it, when, the text without its line breaks, and its id."""
    for comment in comments:
        edited = ", edited" if comment["edited_at"] else ""
        when = f"{local_time(comment['created_at'])}{edited}"
        output.result(f"  comment of {comment['by']}, {when}: {comment['text']} ({comment['id']})")


def add_comment(api: Api, runs: Sequence[Run], text: str) -> RunComment:
    """Write a comment about the run.

    Raises:
        CliError: the test has several runs in the execution, or the server refuses the text.
    """
    if len(runs) != 1:
        hint = f"Name the test, or the run by its id: {', '.join(run['id'] for run in runs[:_SHOWN])}"
        raise CliError(f"a comment is about one run, and these are {len(runs)}", USAGE, hint)
    return cast("RunComment", api.post(_path(runs[0]), {"text": text}, key=str(uuid.uuid4())))


def delete_comment(api: Api, runs: Iterable[Run], comment: str) -> None:
    """Delete the comment of one of the runs.

    Raises:
        CliError: none of them has it, or another API key wrote it.
    """
    for run in runs if is_id(comment) else ():
        if any(each["id"] == comment for each in read_comments(api, run)):
            api.delete(f"{_path(run)}/{comment}")
            return
    raise CliError(f'there is no comment "{comment}"', NOT_FOUND, "mobiletest comments EXECUTION lists them")


def _path(run: Run) -> str:
    return f"executions/{run['execution_id']}/runs/{run['id']}/comments"
