"""Executions of the caller's organisation, its waiting runs, and the variants that its tests have had."""

import asyncio
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import date, datetime
from typing import Any

from pymongo import UpdateOne
from pymongo.errors import BulkWriteError

from mobiletest_automation.model.devices import Platform
from mobiletest_automation.model.failures import Category
from mobiletest_automation.model.states import Status
from services.chassis.batcher import Batcher
from services.chassis.context import current
from services.chassis.errors import FailedPrecondition, NotFound
from services.chassis.events import Event
from services.chassis.mongo import Document, Mongo
from services.chassis.org_collection import OrgCollection
from services.chassis.outbox import Outbox
from services.chassis.turns import list_in_turns
from services.executor.model.changes import Change
from services.executor.model.claim_order import LAST_RANK
from services.executor.model.executions import Execution
from services.executor.model.lifecycle import QuestionNotOpen, answer_question
from services.executor.model.organisation_limits import StartedRuns
from services.executor.model.run_groups import RunGroup, RunState, group_runs
from services.executor.model.runs import Run, RunPlan, RunTarget
from services.executor.model.variants import KnownVariants
from services.executor.ports.executions import ExecutionFilter, ExecutionPage, Page, ScreensFilter
from services.executor.storage.execution_lists import ExecutionLists
from services.executor.storage.fair_queue import IN_ORDER, queue_name
from services.executor.storage.group_commit import ExecutionExists, GroupCommit
from services.executor.storage.leased_runs import IS_LEASED
from services.executor.storage.records import (
    OPEN_STATUSES,
    execution_of,
    from_document,
    plan_of,
    run_of,
    to_document,
    with_steps,
)
from services.executor.storage.run_counts import MongoRunCounts
from services.executor.storage.schema import DUPLICATE_KEY, EXECUTIONS, PLANS, RUNS, SCREENS_KEPT_SINCE, STEPS, VARIANTS
from services.executor.storage.supersessions import MongoSupersessions
from services.executor.storage.transactions import ExecutionTransactions

CLOCK_SECONDS = 10.0


# What says where a run belongs: of 1,000 runs a tenth of their bytes.
_STATE_FIELDS = {"status": 1, "success": 1, "attempts.number": 1, "failure.category": 1, "failure.reason": 1}


class MongoExecutions:
    """The port `Executions` on MongoDB."""

    def __init__(self, transactions: ExecutionTransactions, outbox: Outbox) -> None:
        self._transactions = transactions
        self._outbox = outbox
        self._starts = GroupCommit(transactions, outbox)
        self._executions = OrgCollection(transactions.mongo, EXECUTIONS)
        self._runs = OrgCollection(transactions.mongo, RUNS)
        self._steps = OrgCollection(transactions.mongo, STEPS)
        self._plans = OrgCollection(transactions.mongo, PLANS)
        self._lists = ExecutionLists(transactions.mongo, transactions.now)
        self._supersessions = MongoSupersessions(transactions)
        self._variants = MongoVariants(transactions.mongo)
        self._run_counts = MongoRunCounts(transactions.mongo)
        self._clock: Batcher[None, datetime] = Batcher(self._read_clock, max_in_flight=2)

    async def now(self) -> datetime:
        """Those who ask at the same time share an answer, of after they asked."""
        return await self._clock.get(current(), None, CLOCK_SECONDS)

    async def _read_clock(self, _: Sequence[None]) -> dict[None, datetime]:
        return {None: await self._transactions.now()}

    async def add(self, change: Change, plans: Mapping[str, RunPlan]) -> Execution:
        try:
            await self._starts.store(change, plans)
        except ExecutionExists:
            return await self.get(change.execution.id)
        return change.execution

    async def known_variants(self, test_ids: Collection[str]) -> Mapping[str, KnownVariants]:
        return await self._variants.load(test_ids)

    async def remember_variants(self, changed: Mapping[str, tuple[KnownVariants, KnownVariants]]) -> Collection[str]:
        return await self._variants.store(changed)

    async def cancel(self, execution_id: str) -> Execution:
        await self.get(execution_id)
        return await self._transactions.cancel(execution_id)

    async def supersede(self, execution: Execution) -> None:
        await self._supersessions.supersede(execution)

    async def expected_seconds(self, targets: Sequence[RunTarget]) -> list[float | None]:
        return await self._transactions.durations.expected(current().org_id, targets)

    async def waiting_runs(self) -> int:
        waiting = {"$sum": "$counts.queued"}
        unfinished = {"$match": {"status": {"$in": OPEN_STATUSES}}}
        sums = await self._executions.aggregate([unfinished, {"$group": {"_id": None, "waiting": waiting}}])
        return sums[0]["waiting"] if sums else 0

    async def started_runs(self, today: date) -> StartedRuns:
        return await self._run_counts.of(current().org_id, today)

    async def running_runs(self) -> int:
        return await self._runs.count_documents(IS_LEASED)

    async def running_by_platform(self) -> Mapping[Platform, int]:
        by_platform = {"$group": {"_id": "$leased_platform", "runs": {"$sum": 1}}}
        rows = await self._runs.aggregate([{"$match": IS_LEASED}, by_platform])
        return {Platform(document["_id"]): document["runs"] for document in rows}

    async def plans_of(self, execution_id: str) -> dict[str, RunPlan]:
        runs = await self._runs.find({"execution_id": execution_id}, {"_id": 1}).to_list(None)
        documents = await self._plans.find({"_id": {"$in": [document["_id"] for document in runs]}}).to_list(None)
        return {document["_id"]: plan_of(document) for document in documents}

    async def plan(self, run_id: str) -> RunPlan:
        document = await self._plans.find_one({"_id": run_id})
        if document is None:
            raise NotFound("Run not found", reason="RUN_NOT_FOUND")
        return plan_of(document)

    async def get(self, execution_id: str) -> Execution:
        document = await self._executions.find_one({"_id": execution_id})
        if document is None:
            raise NotFound("Execution not found", reason="EXECUTION_NOT_FOUND")
        return execution_of(document)

    async def batch(self, execution_ids: Sequence[str]) -> list[Execution]:
        documents = await self._executions.find({"_id": {"$in": list(execution_ids)}}).to_list(None)
        by_id = {document["_id"]: document for document in documents}
        return [execution_of(by_id[id_]) for id_ in execution_ids if id_ in by_id]

    async def page(self, wanted: ExecutionFilter, page: Page) -> ExecutionPage:
        return await self._lists.page(wanted, page)

    async def runs(self, execution_id: str, page: Page) -> tuple[list[Run], int]:
        query = {"execution_id": execution_id}
        in_order = self._runs.find(query).sort("position", 1)
        documents = await in_order.skip((page.number - 1) * page.size).limit(page.size).to_list(None)
        return [run_of(document) for document in documents], await self._runs.count_documents(query)

    async def worst_runs(self, execution_id: str, page: Page) -> tuple[list[Run], Sequence[RunGroup]]:
        in_order = self._runs.find({"execution_id": execution_id}, _STATE_FIELDS).sort("position", 1)
        groups = group_runs(await list_in_turns(map(_state_of, await in_order.to_list(None))))
        ids = [run_id for group in groups for run_id in group.run_ids]
        shown = ids[(page.number - 1) * page.size : page.number * page.size]
        documents = await self._runs.find({"_id": {"$in": shown}}).to_list(None)
        by_id = {document["_id"]: document for document in documents}
        return [run_of(by_id[run_id]) for run_id in shown], groups

    async def all_runs(self, execution_id: str) -> list[Run]:
        return await self._with_steps(self._runs.find({"execution_id": execution_id}).sort("position", 1))

    async def newest_with_screens(self, wanted: ScreensFilter) -> str | None:
        newest = await self._with_screens(wanted, 1, {"_id": 1}).to_list(None)
        return newest[0]["_id"] if newest else None

    async def runs_with_screens(self, wanted: ScreensFilter, limit: int) -> list[Run]:
        runs = map(run_of, await self._with_screens(wanted, limit).to_list(None))
        return await asyncio.gather(*map(self._with_last_steps, runs))

    def _with_screens(self, wanted: ScreensFilter, limit: int, fields: Document | None = None) -> Any:
        """A cursor of the newest such runs."""
        query: Document = {SCREENS_KEPT_SINCE: {"$exists": True}}
        if wanted.before is not None:
            end, run_id = wanted.before
            query[SCREENS_KEPT_SINCE] = {"$lte": end}
            query["$or"] = [{SCREENS_KEPT_SINCE: {"$lt": end}}, {"_id": {"$lt": run_id}}]
        for name in ("test_id", "app_id", "build_id", "platform"):
            if (value := getattr(wanted, name)) is not None:
                query[f"target.{name}"] = value
        if wanted.variant_id is not None:
            # a run of the empty variant has none
            query["variant.id"] = wanted.variant_id or {"$in": [None, ""]}
        if wanted.success is not None:
            query["success"] = wanted.success
        return self._runs.find(query, fields).sort([(SCREENS_KEPT_SINCE, -1), ("_id", -1)]).limit(limit)

    async def _with_last_steps(self, run: Run) -> Run:
        """Read by itself: 2,000 steps take the event loop a tenth of a second, and a run may have many attempts."""
        of_last = {"_id": f"{run.id}/{run.attempts[-1].number}"} if run.attempts else None
        document = await self._steps.find_one(of_last) if of_last is not None else None
        return run if document is None else with_steps(run, [document])

    async def _with_steps(self, runs: Any) -> list[Run]:
        """The runs of a cursor."""
        documents = await runs.to_list(None)
        kept = await self._steps.find({"run_id": {"$in": [document["_id"] for document in documents]}}).to_list(None)
        steps: dict[str, list[Document]] = defaultdict(list)
        for document in kept:
            steps[document["run_id"]].append(document)
        return [with_steps(run_of(document), steps[document["_id"]]) for document in documents]

    async def run(self, execution_id: str, run_id: str) -> Run:
        document = await self._runs.find_one({"_id": run_id, "execution_id": execution_id})
        if document is None:
            raise NotFound("Run not found", reason="RUN_NOT_FOUND")
        return with_steps(run_of(document), await self._steps.find({"run_id": run_id}).to_list(None))

    async def answer(self, execution_id: str, run_id: str, question_id: str | None, text: str) -> Run:
        await self.run(execution_id, run_id)
        try:
            await self._transactions.change_run(
                execution_id, run_id, lambda run, now: answer_question(run, question_id, text, now)
            )
        except QuestionNotOpen as error:
            raise FailedPrecondition(error.message, reason=error.reason) from error
        return await self.run(execution_id, run_id)

    async def log(self, execution_id: str, after: int, limit: int) -> list[Event]:
        return await self._outbox.history(execution_id, after=after, limit=limit)


def _state_of(document: Document) -> RunState:
    failure, attempts = document.get("failure") or {}, document.get("attempts") or ()
    category = Category(failure["category"]) if failure.get("category") else None
    return RunState(
        document["_id"],
        Status(document["status"]),
        document.get("success"),
        attempts[-1]["number"] if attempts else 0,
        category,
        failure.get("reason", ""),
    )


class MongoVariants:
    """Those of the caller's organisation. They are forgotten a year after the last new one."""

    def __init__(self, mongo: Mongo) -> None:
        self._variants = mongo.collection(VARIANTS)

    async def load(self, test_ids: Collection[str]) -> Mapping[str, KnownVariants]:
        documents = await self._variants.find({"_id": {"$in": [_id(test_id) for test_id in test_ids]}}).to_list(None)
        return {document["test_id"]: from_document(KnownVariants, document) for document in documents}

    async def store(self, changed: Mapping[str, tuple[KnownVariants, KnownVariants]]) -> Collection[str]:
        """A document that another start has changed no longer matches, and the insert that is tried instead fails."""
        updates = [
            UpdateOne({"_id": _id(test_id), "revision": before.revision}, _update(test_id, after), upsert=True)
            for test_id, (before, after) in changed.items()
        ]
        try:
            await self._variants.bulk_write(updates, ordered=False)
        except BulkWriteError as error:
            failed = error.details["writeErrors"]
            if any(write["code"] != DUPLICATE_KEY for write in failed):
                raise
            tests = list(changed)
            return [tests[write["index"]] for write in failed]
        return ()


def _update(test_id: str, known: KnownVariants) -> list[Document]:
    fields = {"org_id": current().org_id, "test_id": test_id, **to_document(known)}
    return [{"$set": {**{name: {"$literal": value} for name, value in fields.items()}, "updated_at": "$$NOW"}}]


def _id(test_id: str) -> str:
    return f"{current().org_id}/{test_id}"


class MongoWaitingRuns:
    """The port `WaitingRuns` on MongoDB."""

    def __init__(self, mongo: Mongo) -> None:
        self._mongo = mongo

    async def counts(self) -> Mapping[tuple[Platform, int], int]:
        queues = _own_queues()
        by_queue = {"$group": {"_id": "$queue", "runs": {"$sum": 1}}}
        rows = await self._mongo.aggregate(RUNS, [{"$match": _in(queues)}, by_queue])
        return {queues[document["_id"]]: document["runs"] for document in rows}

    async def page(self, page: Page) -> Sequence[Run]:
        waiting = self._mongo.collection(RUNS).find(_in(_own_queues())).sort(list(IN_ORDER.items()))
        documents = await waiting.skip((page.number - 1) * page.size).limit(page.size).to_list(None)
        return [run_of(document) for document in documents]

    async def asking(self, page: Page) -> tuple[Sequence[Run], int]:
        runs, query = self._mongo.collection(RUNS), {"org_id": current().org_id, "question.open": True}
        skipped = (page.number - 1) * page.size
        in_order = runs.find(query).sort([("question.asked_at", 1), ("_id", 1)])
        documents = await in_order.skip(skipped).limit(page.size).to_list(None)
        # Every open page of the dashboard asks, nearly always for nothing.
        is_last = len(documents) < page.size and bool(documents or not skipped)
        total = skipped + len(documents) if is_last else await runs.count_documents(query)
        return [run_of(document) for document in documents], total


def _own_queues() -> Mapping[str, tuple[Platform, int]]:
    """The names of all queues that the caller's organisation can have, with their platforms and ranks."""
    org_id = current().org_id
    return {queue_name(p, rank, org_id): (p, rank) for p in Platform for rank in range(LAST_RANK + 1)}


def _in(queues: Mapping[str, object]) -> Document:
    return {"queue": {"$in": list(queues)}}
