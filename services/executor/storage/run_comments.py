"""Comments of runs: a document for each, and their number in the document of the run.

The number is counted anew with each change, in its transaction: processes of an earlier version do not keep it.
"""

from collections.abc import Sequence

from services.chassis.errors import NotFound
from services.chassis.keyed_locks import KeyedLocks
from services.chassis.mongo import Document, Mongo, Session
from services.chassis.org_collection import OrgCollection
from services.executor.model.run_comments import RunComment
from services.executor.ports.executions import Page
from services.executor.ports.runs import RunKey
from services.executor.storage.records import from_document, to_document
from services.executor.storage.schema import RUN_COMMENTS, RUNS


class MongoRunComments:
    """The port `RunComments` on MongoDB."""

    def __init__(self, mongo: Mongo) -> None:
        self._mongo = mongo
        self._comments = OrgCollection(mongo, RUN_COMMENTS)
        self._runs = OrgCollection(mongo, RUNS)
        # Those of one run conflict with each other, and would be tried again until their time is up.
        self._locks: KeyedLocks[str] = KeyedLocks()

    async def page(self, run: RunKey, page: Page) -> tuple[Sequence[RunComment], int]:
        if not await self._runs.count_documents(_run(run), limit=1):
            raise _no_run()
        in_order = self._comments.find(_of(run)).sort([("created_at", 1), ("_id", 1)])
        documents = await in_order.skip((page.number - 1) * page.size).limit(page.size).to_list(None)
        return [_comment(document) for document in documents], await self._comments.count_documents(_of(run))

    async def get(self, run: RunKey, comment_id: str) -> RunComment:
        document = await self._comments.find_one({"_id": comment_id, **_of(run)})
        if document is None:
            raise _no_comment()
        return _comment(document)

    async def count(self, limit: int) -> int:
        return await self._comments.count_documents(limit=limit)

    async def add(self, comment: RunComment, most: int) -> RunComment | None:
        run = RunKey(comment.execution_id, comment.run_id)

        async def add(session: Session) -> RunComment | None:
            comments = OrgCollection(self._mongo, RUN_COMMENTS, session)
            stored = await comments.find_one({"_id": comment.id, **_of(run)})
            if stored is not None:
                return _comment(stored)
            number = await comments.count_documents(_of(run))
            if number >= most:
                return None
            await self._set_count(session, run, number + 1)
            document = to_document(comment)
            await comments.insert_one({"_id": document.pop("id"), **document})
            return comment

        async with self._locks[comment.run_id]:
            return await self._mongo.transaction(add)

    async def save(self, comment: RunComment) -> None:
        this = {"_id": comment.id, **_of(RunKey(comment.execution_id, comment.run_id))}
        change = {"text": comment.text, "edited_at": comment.edited_at}
        if not await self._comments.update_one(this, {"$set": change}):
            raise _no_comment()

    async def delete(self, run: RunKey, comment_id: str) -> None:
        async def delete(session: Session) -> None:
            comments = OrgCollection(self._mongo, RUN_COMMENTS, session)
            if await comments.find_one({"_id": comment_id, **_of(run)}) is None:
                raise _no_comment()
            await comments.delete_one({"_id": comment_id})
            await self._set_count(session, run, await comments.count_documents(_of(run)))

        async with self._locks[run.run_id]:
            await self._mongo.transaction(delete)

    async def _set_count(self, session: Session, run: RunKey, number: int) -> None:
        """The document of the run is changed by all who add or delete, so they cannot do so at the same time."""
        runs = OrgCollection(self._mongo, RUNS, session)
        if not await runs.update_one(_run(run), {"$set": {"comment_count": number}}):
            raise _no_run()


def _run(run: RunKey) -> Document:
    return {"_id": run.run_id, "execution_id": run.execution_id}


def _of(run: RunKey) -> Document:
    return {"execution_id": run.execution_id, "run_id": run.run_id}


def _comment(document: Document) -> RunComment:
    return from_document(RunComment, {**document, "id": document["_id"]})


def _no_run() -> NotFound:
    return NotFound("Run not found", reason="RUN_NOT_FOUND")


def _no_comment() -> NotFound:
    return NotFound("Comment not found", reason="COMMENT_NOT_FOUND")
