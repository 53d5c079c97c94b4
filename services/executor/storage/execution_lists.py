"""Lists of executions: an index finds those of one filter, of which a limited number is searched by the others."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from mobiletest_automation.model.states import Status
from services.chassis.mongo import Document, Mongo
from services.chassis.org_collection import OrgCollection
from services.chassis.text_search import fold_case
from services.executor.model.executions import ExecutionResult
from services.executor.ports.executions import ExecutionFilter, ExecutionOrder, ExecutionPage, Page
from services.executor.storage.list_marks import FAILED_INDEXES, ListMarks, list_index
from services.executor.storage.records import WITHOUT_ENV, execution_of
from services.executor.storage.schema import EXECUTIONS

# How many executions are searched by what the index does not know.
WINDOW = 10_000
# With how many values a text may begin that leads. MongoDB merges the executions of up to 200 in the order of an index.
VALUES = 50
# Greater than what follows a prefix in any text.
_LAST = "\U0010ffff"
# The texts of a filter, the most selective one first.
_TEXTS = {
    "commit_sha": "search.commit",
    "ci_run_id": "search.ci_run",
    "name": "search.name",
    "branch": "search.branch",
    "started_by": "search.started_by",
}
_BRANCH = _TEXTS["branch"]
_DIRECTIONS = {ExecutionOrder.OLDEST: 1}
_SECONDS = {"$ifNull": [{"$subtract": ["$completed_at", "$started_at"]}, -1]}


@dataclass(frozen=True, slots=True)
class ListQuery:
    """`lead` is found by its index, in the order of the starts; `rest` and `dates` are the other conditions.

    `dates` are a range of the index too.
    """

    lead: Document
    rest: Document = field(default_factory=dict)
    dates: Document = field(default_factory=dict)

    @property
    def is_one_list(self) -> bool:
        """Whether it has all executions of one value, so that marks count them."""
        return not self.rest and not self.dates and not any(isinstance(value, dict) for value in self.lead.values())


class ExecutionLists:
    """The executions of the caller's organisation."""

    def __init__(
        self, mongo: Mongo, now: Callable[[], Awaitable[datetime]], *, window: int = WINDOW, values: int = VALUES
    ) -> None:
        self._executions = OrgCollection(mongo, EXECUTIONS)
        self._marks = ListMarks(mongo, now)
        self._window = window
        self._values = values

    async def page(self, wanted: ExecutionFilter, page: Page) -> ExecutionPage:
        """A page of the matching executions, and how many match."""
        query = await self._plan(wanted)
        if query is None:
            return ExecutionPage()
        if query.is_one_list and wanted.order is not ExecutionOrder.LONGEST:
            return await self._listed(query.lead, wanted.order, page)
        return await self._searched(query, wanted.order, page)

    async def _plan(self, wanted: ExecutionFilter) -> ListQuery | None:
        """None: nothing can match."""
        texts = {path: text for name, path in _TEXTS.items() if (text := _folded(getattr(wanted, name)))}
        exact = _exact(wanted)
        rest = {**{path: text if wanted.exact else _prefix(text) for path, text in texts.items()}, **exact}
        if wanted.exact and _BRANCH in texts:  # others may differ from it in case only
            rest["ci.branch"] = (wanted.branch or "").strip()
        lead: Document = {}
        for path, text in texts.items():
            found = [text] if wanted.exact else await self._values_of(path, text)
            if not found:
                return None
            if len(found) <= self._values:
                lead = {path: found[0] if len(found) == 1 else {"$in": found}}
                break
        if not lead and exact:
            name = min(exact, key=list(_EXACT).index)
            lead = {name: exact[name]}
        if exact.get("status") == Status.FAILED and list_index(lead) in FAILED_INDEXES:
            lead["status"] = exact["status"]
        others = {path: condition for path, condition in rest.items() if path not in lead}
        return ListQuery(lead, others, _dates(wanted))

    async def _values_of(self, path: str, prefix: str) -> Sequence[str]:
        """The stored values with this prefix, at most one more than may lead, by a look at the index for each."""
        condition, values = _prefix(prefix), list[str]()
        while len(values) <= self._values:
            query = {path: condition}
            next_one = self._executions.find(query, {path: 1, "_id": 0}).sort(path, 1).hint(list_index(query)).limit(1)
            documents = await next_one.to_list(None)
            if not documents:
                break
            values.append(documents[0]["search"][path.removeprefix("search.")])
            condition = {**condition, "$gt": values[-1]}
        return values

    async def _listed(self, query: Document, order: ExecutionOrder, page: Page) -> ExecutionPage:
        total, offset = await self._marks.count(query), (page.number - 1) * page.size
        oldest = order is ExecutionOrder.OLDEST
        locate = self._marks.locate_oldest if oldest else self._marks.locate
        near, skipped = await locate(query, offset, total)
        in_order = self._executions.find(near, WITHOUT_ENV).sort(list(_order(order).items())).hint(list_index(query))
        documents = await in_order.skip(skipped).limit(page.size).to_list(None)
        return ExecutionPage([execution_of(document) for document in documents], total)

    async def _searched(self, query: ListQuery, order: ExecutionOrder, page: Page) -> ExecutionPage:
        """What matches of the executions that come first."""
        ids, total, until = await self._search(query, order, page)
        documents = await self._executions.find({"_id": {"$in": ids}}, WITHOUT_ENV).to_list(None)
        by_id = {document["_id"]: document for document in documents}
        return ExecutionPage([execution_of(by_id[id_]) for id_ in ids if id_ in by_id], total, until)

    async def _search(
        self, query: ListQuery, order: ExecutionOrder, page: Page
    ) -> tuple[Sequence[str], int, datetime | None]:
        """The ids of a page, how many match, and `ExecutionPage.searched_until`."""
        match, index = {**query.lead, **query.dates}, list_index(query.lead)
        in_order = _order(order)
        first: list[Document] = [{"$match": match}, {"$sort": in_order}, {"$limit": self._window}]
        matching = [{"$match": query.rest}] if query.rest else []
        ranked = (
            [{"$set": {"seconds": _SECONDS}}, {"$sort": {"seconds": -1, **in_order}}]
            if order is ExecutionOrder.LONGEST
            else []
        )
        page_of = [{"$skip": (page.number - 1) * page.size}, {"$limit": page.size}, {"$project": {"_id": 1}}]
        parts = {"$facet": {"count": [{"$count": "total"}], "page": [*ranked, *page_of]}}
        fields = [{"$project": {"_id": 1, "created_at": 1, "started_at": 1, "completed_at": 1}}] if ranked else []
        last = self._executions.find(match, {"created_at": 1, "_id": 0}).sort(list(in_order.items())).hint(index)
        (answer,), beyond = await asyncio.gather(
            self._executions.aggregate([*first, *matching, *fields, parts], hint=index),
            last.skip(self._window - 1).limit(2).to_list(None),
        )
        total = answer["count"][0]["total"] if answer["count"] else 0
        until = beyond[0]["created_at"] if len(beyond) == 2 else None
        return [document["_id"] for document in answer["page"]], total, until


# The conditions on values, that of the shortest lists first.
_EXACT: Mapping[str, Callable[[ExecutionFilter], Any]] = {
    "superseded_by": lambda wanted: wanted.superseded_by,
    "rerun_of": lambda wanted: wanted.rerun_of,
    "ci.pr_number": lambda wanted: wanted.pr_number,
    "workflow_id": lambda wanted: wanted.workflow_id,
    "flaky": lambda wanted: True if wanted.result is ExecutionResult.FLAKY else None,
    "app_ids": lambda wanted: wanted.app_id,
    "result": lambda wanted: None if wanted.result is ExecutionResult.FLAKY else wanted.result,
    "status": lambda wanted: wanted.status,
    "source": lambda wanted: wanted.source,
}


def _exact(wanted: ExecutionFilter) -> Document:
    values = {path: read(wanted) for path, read in _EXACT.items()}
    return {path: value for path, value in values.items() if value is not None}


def _folded(text: str | None) -> str:
    return fold_case((text or "").strip())


def _prefix(text: str) -> Document:
    return {"$gte": text, "$lt": text + _LAST}


def _dates(wanted: ExecutionFilter) -> Document:
    bounds = {"$gte": wanted.created_after, "$lt": wanted.created_before}
    given = {operator: moment for operator, moment in bounds.items() if moment is not None}
    return {"created_at": given} if given else {}


def _order(order: ExecutionOrder) -> dict[str, int]:
    direction = _DIRECTIONS.get(order, -1)
    return {"created_at": direction, "_id": direction}
