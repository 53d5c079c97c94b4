"""Runs and executions of all organisations, page by page, for rebuilding read models."""

from services.chassis.mongo import Document, Mongo, Session
from services.executor.model.executions import Execution
from services.executor.model.runs import Run
from services.executor.storage.records import WITHOUT_ENV, execution_of, run_of
from services.executor.storage.schema import EXECUTIONS, RUNS


class MongoFacts:
    """A page has items in the order of their ids, and comes with the approximate number of all items.

    Executions and runs are never deleted; old runs only lose their artifacts. Each page is read in a transaction. Its
    commit waits for the majority, so a primary that was replaced cannot return stale data: a page contains everything
    that was published before it was requested.
    """

    def __init__(self, mongo: Mongo) -> None:
        self._mongo = mongo

    async def runs(self, after: str, limit: int) -> tuple[list[tuple[Execution, Run]], int]:
        """At most `limit` runs with ids after this one."""

        async def read(session: Session) -> list[tuple[Execution, Run]]:
            runs = await self._page(session, RUNS, after, limit)
            ids = {"_id": {"$in": list({run["execution_id"] for run in runs})}}
            documents = await self._mongo.collection(EXECUTIONS).find(ids, WITHOUT_ENV, session=session).to_list(None)
            executions = {document["_id"]: execution_of(document) for document in documents}
            return [(executions[run["execution_id"]], run_of(run)) for run in runs]

        return await self._mongo.transaction(read), await self._total(RUNS)

    async def executions(self, after: str, limit: int) -> tuple[list[Execution], int]:
        """At most `limit` executions with ids after this one."""

        async def read(session: Session) -> list[Execution]:
            return [execution_of(document) for document in await self._page(session, EXECUTIONS, after, limit)]

        return await self._mongo.transaction(read), await self._total(EXECUTIONS)

    async def _page(self, session: Session, collection: str, after: str, limit: int) -> list[Document]:
        results = {"_id": {"$gt": after}, "verifies": {"$exists": False}}  # checks of proposals are none
        cursor = self._mongo.collection(collection).find(results, WITHOUT_ENV, session=session)
        documents: list[Document] = await cursor.sort("_id", 1).limit(limit).batch_size(limit).to_list(None)
        return documents

    async def _total(self, collection: str) -> int:
        return int(await self._mongo.collection(collection).estimated_document_count())
