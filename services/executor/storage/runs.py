"""Runs of all organisations, for workers and background jobs: claims, leases, results."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from pymongo import UpdateOne

from mobiletest_automation.model.devices import Platform, Session
from mobiletest_automation.model.results import AttemptResult
from services.chassis.batcher import Batcher
from services.chassis.context import Caller
from services.chassis.errors import NotFound
from services.chassis.mongo import Document
from services.executor import telemetry
from services.executor.model import lifecycle
from services.executor.model.changes import Change
from services.executor.model.lifecycle import Fenced, NotClaimable
from services.executor.model.runs import Question, QuestionPrompt, Run, RunPlan
from services.executor.model.workers import Fleet
from services.executor.ports.runs import AcceptsOrg, Backlog, Claim, OrphanedSession, RunKey, StopReason, accept_all
from services.executor.storage.fair_queue import FairQueue
from services.executor.storage.leased_runs import LeasedRuns, LimitOf, OrgAtLimit, OrgRunLimit
from services.executor.storage.records import plan_of, to_document
from services.executor.storage.run_changes import Transition
from services.executor.storage.schema import PLANS, RUNS
from services.executor.storage.transactions import ExecutionTransactions

STUCK_AFTER = timedelta(seconds=60)
PLANS_SECONDS = 10.0
_ANYBODY = Caller(org_id="")


class MongoRuns:
    """The port `Runs` on MongoDB."""

    def __init__(self, transactions: ExecutionTransactions, limit_of: LimitOf | None = None) -> None:
        """`limit_of`: the maximum number of runs in progress of an organisation; by default that of the settings."""
        self._transactions = transactions
        self._runs = transactions.mongo.collection(RUNS)
        self._plans: Batcher[str, RunPlan | None] = Batcher(self._read_plans)
        self._limits = transactions.limits
        leased = LeasedRuns(transactions.mongo)
        limit_of = limit_of or (lambda _: transactions.limits.organisation_runs)
        self._queue = FairQueue(transactions.mongo, leased, limit_of)
        self._org_limit = OrgRunLimit(transactions.mongo, leased, limit_of)

    async def claim(self, key: RunKey, worker: str) -> Claim | None:
        def claim(run: Run, now: datetime) -> Run:
            return lifecycle.claim(run, worker, now, self._limits)

        try:
            change, plan = await asyncio.gather(
                # Both at once, because most claims succeed: the plan does not change, whoever gets the run.
                self._transactions.change_run(key.execution_id, key.run_id, claim, self._org_limit.check),
                self._plan(key.run_id),
            )
        except (NotClaimable, NotFound) as error:
            self._queue.record_lost_claim(contended=not isinstance(error, OrgAtLimit))
            return None
        self._queue.record_claim(change.execution.org_id)
        return Claim(change.execution, change.runs[0], plan)

    async def _plan(self, run_id: str) -> RunPlan:
        """Those who ask at the same time share a query."""
        plan = await self._plans.get(_ANYBODY, run_id, PLANS_SECONDS)
        if plan is None:
            raise NotFound("Run not found", reason="RUN_NOT_FOUND")
        return plan

    async def _read_plans(self, run_ids: Sequence[str]) -> Mapping[str, RunPlan | None]:
        plans = self._transactions.mongo.collection(PLANS)
        documents = await plans.find({"_id": {"$in": list(run_ids)}}).to_list(None)
        return {**dict.fromkeys(run_ids), **{document["_id"]: plan_of(document) for document in documents}}

    async def claimable(self, platform: Platform, limit: int, accepts: AcceptsOrg = accept_all) -> list[RunKey]:
        return await self._queue.next_runs(platform, limit, accepts)

    async def is_any_waiting(self) -> bool:
        return await self._runs.find_one({"queue": {"$gt": ""}}, {"_id": 0, "queue": 1}) is not None

    async def finish(self, key: RunKey, token: int, result: AttemptResult) -> Run:
        return await self._write(key, lambda run, now: lifecycle.finish(run, token, result, now, self._limits))

    async def hand_back(self, key: RunKey, token: int) -> Run:
        return await self._write(key, lambda run, now: lifecycle.hand_back(run, token, now))

    async def ask(self, key: RunKey, token: int, prompt: QuestionPrompt, patience: timedelta) -> Question | None:
        change = await self._change(key, lambda run, now: lifecycle.ask_question(run, token, prompt, patience, now))
        return change.runs[0].open_question if change.runs else None

    async def answer_to(self, key: RunKey, token: int, question_id: str) -> str | None:
        fields = {"fencing_token": 1, "question": 1}
        document = await self._runs.find_one(
            {"_id": key.run_id, "fencing_token": token, "lease": {"$exists": True}}, fields
        )
        if document is None:
            raise Fenced(key.run_id)
        question = document.get("question")
        return question.get("answer") if question is not None and question["prompt"]["id"] == question_id else None

    async def withdraw(self, key: RunKey, token: int, question_id: str) -> str | None:
        await self._change(key, lambda run, now: lifecycle.withdraw_question(run, token, question_id))
        return await self.answer_to(key, token, question_id)

    async def _write(self, key: RunKey, transition: Transition) -> Run:
        return (await self._change(key, transition)).runs[0]

    async def _change(self, key: RunKey, transition: Transition) -> Change:
        try:
            return await self._transactions.change_run(key.execution_id, key.run_id, transition)
        except Fenced:
            telemetry.fencing_rejections.inc()
            raise

    async def note_session(self, key: RunKey, token: int, session: Session) -> None:
        held = {"_id": key.run_id, "fencing_token": token, "lease": {"$exists": True}}
        written = await self._runs.update_one(held, {"$set": {"lease.session": to_document(session)}})
        if not written.matched_count:
            telemetry.fencing_rejections.inc()
            raise Fenced(key.run_id)

    async def orphans(self, limit: int) -> list[OrphanedSession]:
        wanted = {"orphans.id": {"$exists": True}}
        documents = await self._runs.find(wanted, {"execution_id": 1, "orphans": 1}).limit(limit).to_list(None)
        if not documents:
            return []
        now = await self._transactions.now()
        return [_orphaned_session(document, orphan, now) for document in documents for orphan in document["orphans"]]

    async def forget_orphan(self, key: RunKey, session: Session) -> None:
        of_run = {"_id": key.run_id, "orphans.id": session.id}
        await self._runs.update_one(of_run, {"$pull": {"orphans": to_document(session)}})

    async def renew(self, tokens: Mapping[str, int]) -> None:
        # Not beyond one lease after the time limit: a worker that renews but does not end its run loses it then.
        until = {"$min": [_after("$$NOW", self._lease_ms), _after("$deadline_at", self._lease_ms)]}
        change = [{"$set": {"lease.expires_at": until, "due_at": until}}]
        held = [
            UpdateOne({"_id": run_id, "fencing_token": token, "lease": {"$exists": True}}, change)
            for run_id, token in tokens.items()
        ]
        if held:
            await self._runs.bulk_write(held, ordered=False)

    async def notices(self, tokens: Mapping[str, int]) -> dict[str, StopReason]:
        fields = {"fencing_token": 1, "lease": 1, "cancel_requested_at": 1}
        documents = await self._runs.find({"_id": {"$in": list(tokens)}}, fields).to_list(None)
        noticed = {document["_id"]: _notice(document, tokens[document["_id"]]) for document in documents}
        return {run_id: notice for run_id in tokens if (notice := noticed.get(run_id, StopReason.LOST)) is not None}

    async def due(self, limit: int) -> list[RunKey]:
        wanted = {"due_at": {"$exists": True}, "$expr": {"$lte": ["$due_at", "$$NOW"]}}
        runs = self._runs.find(wanted, {"execution_id": 1}).sort("due_at", 1).limit(limit)
        return [_key(document) for document in await runs.to_list(None)]

    async def backlog(self) -> Backlog:
        now = await self._transactions.now()
        since = await self._queue.oldest() or now
        stuck = await self._runs.count_documents({"due_at": {"$lt": now - STUCK_AFTER}}, limit=1000)
        return Backlog(max(0.0, (now - since).total_seconds()), stuck)

    async def expire(self, key: RunKey, fleet: Fleet | None = None) -> None:
        def expire(run: Run, now: datetime) -> Run:
            return lifecycle.expire(run, now, self._limits, fleet)

        change = await self._transactions.change_run(key.execution_id, key.run_id, expire)
        telemetry.lease_expired.inc(sum(_was_lost(run) for run in change.runs))

    @property
    def _lease_ms(self) -> int:
        return int(self._limits.lease_ttl.total_seconds() * 1000)


def _after(moment: str, milliseconds: int) -> Document:
    return {"$add": [moment, milliseconds]}


def _key(document: Document) -> RunKey:
    return RunKey(document["execution_id"], document["_id"])


def _orphaned_session(document: Document, orphan: Document, now: datetime) -> OrphanedSession:
    session = Session(orphan["hub"], orphan["id"])
    return OrphanedSession(_key(document), session, (now - orphan["since"]).total_seconds())


def _notice(document: Document, token: int) -> StopReason | None:
    if document["fencing_token"] != token or "lease" not in document:
        return StopReason.LOST
    return StopReason.CANCEL if "cancel_requested_at" in document else None


def _was_lost(run: Run) -> bool:
    return bool(run.attempts) and run.attempts[-1].abandoned
