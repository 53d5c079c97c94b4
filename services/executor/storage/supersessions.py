"""Cancels executions for newer ones of the same lane, after the newer one is stored and before it is marked as done.

A process that dies in between leaves the mark, and a sweep does the rest. Which one survives depends on nothing but the
order of (created_at, id), so that it does not matter who looks when, or twice: of two that start at the same time, each
looks after it is stored, so the later look sees both.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta

from services.chassis.errors import FailedPrecondition, NotFound
from services.chassis.mongo import Document
from services.executor.model.executions import CancelPrevious, Execution
from services.executor.model.lanes import Lane, lane_of
from services.executor.model.states import NEXT
from services.executor.storage.records import execution_of
from services.executor.storage.schema import EXECUTIONS
from services.executor.storage.transactions import ExecutionTransactions

SETTLES_ITSELF = timedelta(seconds=5)
"""As long the process that stored an execution is left to it."""
_OPEN = [status.value for status in NEXT if not status.terminal]
_NEWEST_FIRST = [("created_at", -1), ("_id", -1)]
_AT_ONCE = 16


class MongoSupersessions:
    """The port `Supersessions` on MongoDB."""

    def __init__(self, ledger: ExecutionTransactions) -> None:
        self._ledger = ledger
        self._executions = ledger.mongo.collection(EXECUTIONS)

    async def pending(self, limit: int) -> list[Execution]:
        before = await self._ledger.now() - SETTLES_ITSELF
        query = {"cancel_previous": CancelPrevious.PENDING.value, "created_at": {"$lt": before}}
        found = await self._executions.find(query).sort("created_at", 1).limit(limit).to_list(None)
        return [execution_of(document) for document in found]

    async def supersede(self, execution: Execution) -> None:
        change = lane_of(execution)
        newest = await self._newest(change) if change else None
        if change is not None and newest is not None:
            await self._cancel(await self._earlier(change, newest), newest.id)
        pending = {"_id": execution.id, "cancel_previous": CancelPrevious.PENDING.value}
        await self._executions.update_one(pending, {"$set": {"cancel_previous": CancelPrevious.DONE.value}})

    async def _newest(self, change: Lane) -> Execution | None:
        """The newest that wants earlier ones cancelled."""
        query = {**_of(change), "cancel_previous": {"$exists": True}}
        found = await self._executions.find_one(query, sort=_NEWEST_FIRST)
        return None if found is None else execution_of(found)

    async def _earlier(self, change: Lane, newest: Execution) -> list[str]:
        older = {
            "$or": [
                {"created_at": {"$lt": newest.created_at}},
                {"created_at": newest.created_at, "_id": {"$lt": newest.id}},
            ]
        }
        query = {**_of(change), **older, "status": {"$in": _OPEN}, "cancel_requested_at": None}
        return [document["_id"] for document in await self._executions.find(query, {"_id": 1}).to_list(None)]

    async def _cancel(self, execution_ids: Sequence[str], superseded_by: str) -> None:
        for first in range(0, len(execution_ids), _AT_ONCE):
            some = execution_ids[first : first + _AT_ONCE]
            await asyncio.gather(*(self._cancel_one(id_, superseded_by) for id_ in some))

    async def _cancel_one(self, execution_id: str, superseded_by: str) -> None:
        with suppress(FailedPrecondition, NotFound):  # it has ended by itself
            await self._ledger.cancel(execution_id, superseded_by)


def _of(change: Lane) -> Document:
    """The executions of a lane; what CI did not say has to be absent."""
    return {
        "org_id": change.org_id,
        "workflow_id": change.workflow_id,
        "ci.repository": change.repository,
        "ci.pr_number": change.pr_number,
        **({} if change.branch is None else {"ci.branch": change.branch}),
    }
