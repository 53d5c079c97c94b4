"""Port of what people write about runs."""

from collections.abc import Sequence
from typing import Protocol

from services.executor.model.run_comments import RunComment
from services.executor.ports.executions import Page
from services.executor.ports.runs import RunKey


class RunComments(Protocol):
    """The comments of the runs of the caller's organisation."""

    async def page(self, run: RunKey, page: Page) -> tuple[Sequence[RunComment], int]:
        """A page of the run's comments, oldest first, and how many it has.

        Raises:
            NotFound: there is no such run.
        """

    async def get(self, run: RunKey, comment_id: str) -> RunComment:
        """The comment.

        Raises:
            NotFound: the run has no such comment.
        """

    async def count(self, limit: int) -> int:
        """How many comments the organisation has; `limit` if it has more."""

    async def add(self, comment: RunComment, most: int) -> RunComment | None:
        """Store a new comment and count it at its run; None if the run has `most` already. One with an id that is
        stored already is returned as it is stored.

        Raises:
            NotFound: there is no such run.
        """

    async def save(self, comment: RunComment) -> None:
        """Store its text and when it was changed.

        Raises:
            NotFound: the run has no such comment.
        """

    async def delete(self, run: RunKey, comment_id: str) -> None:
        """Delete the comment, and count those that are left at its run.

        Raises:
            NotFound: the run has no such comment.
        """
