"""Lists, writes, changes and deletes comments of runs."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import datetime

from mobiletest_automation.flows.labels import InvalidLabel, clean_text
from services.chassis.context import current
from services.chassis.errors import InvalidArgument, PermissionDenied, Violation
from services.chassis.ids import new_id
from services.chassis.limit_refusals import limit_reached
from services.executor.model.run_comments import COMMENTS_LIMIT, COMMENTS_OF_RUN, TEXT_LENGTH, RunComment
from services.executor.ports.executions import Page
from services.executor.ports.run_comments import RunComments
from services.executor.ports.runs import RunKey

# Who writes without an API key.
INTERNAL = "internal"
NOT_THE_AUTHOR = (
    "Another API key wrote this comment: only that key, or one with the scopes write and admin, may change or delete it"
)


class RunCommentUseCases:
    """Comments of the runs of the caller's organisation."""

    def __init__(self, comments: RunComments, now: Callable[[], Awaitable[datetime]]) -> None:
        self._comments = comments
        self._now = now

    async def page(self, run: RunKey, page: Page) -> tuple[Sequence[RunComment], int]:
        """A page of the run's comments, oldest first, and how many it has.

        Raises:
            NotFound: there is no such run.
        """
        return await self._comments.page(run, page)

    async def create(self, run: RunKey, text: str) -> RunComment:
        """The new comment. Processes may exceed the limit of the organisation by what others write in the same moment.

        Raises:
            NotFound: there is no such run.
            InvalidArgument: the text cannot be written.
            PermissionDenied: the run or the organisation has as many as it may.
        """
        cleaned, caller = _clean(text), current()
        comment = RunComment(
            id=new_id(),
            execution_id=run.execution_id,
            run_id=run.run_id,
            text=cleaned,
            by=caller.subject_name or caller.subject or INTERNAL,
            by_key_id=caller.subject,
            created_at=await self._now(),
        )
        if await self._comments.count(COMMENTS_LIMIT) >= COMMENTS_LIMIT:
            raise limit_reached("run_comments", COMMENTS_LIMIT, "delete comments that nobody needs any more")
        stored = await self._comments.add(comment, COMMENTS_OF_RUN)
        if stored is None:
            raise limit_reached("comments_of_run", COMMENTS_OF_RUN, "delete comments of this run that nobody needs")
        return stored

    async def update(self, run: RunKey, comment_id: str, text: str) -> RunComment:
        """The comment with the new text.

        Raises:
            NotFound: the run has no such comment.
            InvalidArgument: the text cannot be written.
            PermissionDenied: the caller did not write it.
        """
        cleaned = _clean(text)
        comment = await self._changeable(run, comment_id)
        if comment.text == cleaned:
            return comment
        changed = replace(comment, text=cleaned, edited_at=await self._now())
        await self._comments.save(changed)
        return changed

    async def delete(self, run: RunKey, comment_id: str) -> None:
        """Delete the comment.

        Raises:
            NotFound: the run has no such comment.
            PermissionDenied: the caller did not write it.
        """
        await self._changeable(run, comment_id)
        await self._comments.delete(run, comment_id)

    async def _changeable(self, run: RunKey, comment_id: str) -> RunComment:
        comment = await self._comments.get(run, comment_id)
        if not may_change(comment):
            raise PermissionDenied(NOT_THE_AUTHOR, reason="NOT_THE_AUTHOR")
        return comment


def may_change(comment: RunComment) -> bool:
    """Whether the caller may change and delete the comment."""
    caller = current()
    return comment.may_be_changed(caller.subject, caller.scopes)


def _clean(text: str) -> str:
    try:
        return clean_text(text, "text", TEXT_LENGTH, lines=True)
    except InvalidLabel as wrong:
        violations = [Violation(wrong.field, wrong.message, wrong.kind)]
        raise InvalidArgument(f"{wrong.field}: {wrong.message}", violations=violations) from None
