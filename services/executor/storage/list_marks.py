"""Marks in lists of executions: how many executions of a list were started before a moment.

With them neither a total nor a page far down reads the whole list. Executions are never deleted, and what lists filter
by does not change after they have ended, so a mark older than every open execution stays true.
"""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

import orjson

from mobiletest_automation.model.states import Status
from services.chassis.context import current
from services.chassis.mongo import Document, Mongo
from services.chassis.org_collection import OrgCollection
from services.executor.storage.records import OPEN_STATUSES
from services.executor.storage.schema import EXECUTIONS, LIST_MARKS

# About how many executions lie between two marks.
STEP = 2_000
# How many marks one request makes at most.
NEW_MARKS = 100
# Longer than the transaction of a start may take after the start's time was read.
SETTLED_AFTER = timedelta(minutes=5)
_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
_OLDEST_FIRST = [("created_at", 1), ("_id", 1)]
# What lists filter by, that of the shortest lists first.
_LIST_INDEXES = {
    "superseded_by": "by_superseding",
    "rerun_of": "by_rerun",
    "search.commit": "by_commit_text",
    "search.ci_run": "by_ci_run_text",
    "ci.pr_number": "by_pull_request",
    "search.name": "by_name_text",
    "search.branch": "by_branch_text",
    "search.started_by": "by_starter_text",
    "workflow_id": "by_workflow",
    "flaky": "by_flaky",
    "app_ids": "by_app",
    "result": "by_result",
    "status": "by_status",
    "source": "by_source",
}
FAILED_INDEXES = {
    "by_workflow": "failed_by_workflow",
    "by_app": "failed_by_app",
}


class ListMarks:
    """The marks of the caller's organisation. A list is named by the query that finds it."""

    def __init__(self, mongo: Mongo, now: Callable[[], Awaitable[datetime]], *, step: int = STEP) -> None:
        """`step`: about how many executions lie between two marks. Shorter lists have none."""
        self._executions = OrgCollection(mongo, EXECUTIONS)
        self._marks = OrgCollection(mongo, LIST_MARKS)
        self._now = now
        self._step = step

    async def count(self, query: Document) -> int:
        """How many executions the list has."""
        index = list_index(query)
        few = await self._executions.count_documents(query, limit=self._step, hint=index)
        if few < self._step:
            return few
        newest = await self._marks.find({"list": _name(query)}).sort("older", -1).limit(1).to_list(None)
        mark: Document = newest[0] if newest else {"older": 0, "at": _BEGINNING}
        newer = await self._executions.count_documents({**query, "created_at": {"$gte": mark["at"]}}, hint=index)
        if newer >= 2 * self._step:
            await self._add(query, mark)
        return int(mark["older"] + newer)

    async def locate(self, query: Document, offset: int, total: int) -> tuple[Document, int]:
        """The list from the mark next before the execution at this offset, and how many to skip from there."""
        if offset <= self._step:
            return query, offset
        older = total - offset
        beyond = {"list": _name(query), "older": {"$gte": older}}
        documents = await self._marks.find(beyond).sort("older", 1).limit(1).to_list(None)
        if not documents:
            return query, offset
        return {**query, "created_at": {"$lt": documents[0]["at"]}}, documents[0]["older"] - older

    async def locate_oldest(self, query: Document, offset: int, total: int) -> tuple[Document, int]:
        """As `locate`, with the oldest first."""
        before = {"list": _name(query), "older": {"$lte": offset}}
        documents = await self._marks.find(before).sort("older", -1).limit(1).to_list(None)
        if offset <= self._step or not documents:
            return query, offset
        return {**query, "created_at": {"$gte": documents[0]["at"]}}, offset - documents[0]["older"]

    async def _add(self, query: Document, mark: Document) -> None:
        settled, index = await self._settled(), list_index(query)
        for _ in range(NEW_MARKS):
            newer = {**query, "created_at": {"$gte": mark["at"]}}
            following = self._executions.find(newer, {"created_at": 1}).sort(_OLDEST_FIRST).hint(index)
            documents = await following.skip(self._step).limit(1).to_list(None)
            if not documents or not mark["at"] < documents[0]["created_at"] < settled:
                return
            at = documents[0]["created_at"]
            between = {**query, "created_at": {"$gte": mark["at"], "$lt": at}}
            passed = await self._executions.count_documents(between, hint=index)
            mark = {"older": mark["older"] + passed, "at": at}
            await self._store(_name(query), mark)

    async def _settled(self) -> datetime:
        """What was started before does not change any more, and nothing is added to it."""
        now = await self._now()
        oldest = self._executions.find({"status": {"$in": OPEN_STATUSES}}, {"created_at": 1})
        documents = await oldest.sort("created_at", 1).limit(1).to_list(None)
        settled = now - SETTLED_AFTER
        first_open: datetime = documents[0]["created_at"] if documents else settled
        return min(settled, first_open)

    async def _store(self, name: str, mark: Document) -> None:
        id_ = f"{current().org_id}/{name}/{mark['older']}"
        await self._marks.update_one({"_id": id_}, {"$set": {"list": name, **mark}}, upsert=True)


def _name(query: dict[str, Any]) -> str:
    return sha256(orjson.dumps(query, option=orjson.OPT_SORT_KEYS)).hexdigest()


def list_index(query: Document) -> str:
    """The index for a list of executions. MongoDB would try each on a share of the whole collection before it takes
    one, which lasts as long as the request may where there are millions.
    """
    if query.get("status") in OPEN_STATUSES:
        return "by_status"
    index = next((index for field, index in _LIST_INDEXES.items() if field in query), "newest")
    return FAILED_INDEXES.get(index, index) if query.get("status") == Status.FAILED else index
