"""Lookups of failures, their groups and what people wrote about them in MongoDB, for the caller's organisation."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from services.chassis.mongo import Mongo
from services.chassis.org_collection import OrgCollection
from services.reporting.model.app_failures import AppFailure
from services.reporting.model.attempts import BuildRef
from services.reporting.model.tables import FailureKey, Group, GroupKey
from services.reporting.model.triages import FailureState, TriageSnapshot
from services.reporting.ports import FailureFilter, FoundFailures, RowPage
from services.reporting.storage import documents as d
from services.reporting.storage.decoded_documents import find_documents
from services.reporting.storage.generations import ServingGeneration
from services.reporting.storage.subdocuments import Document, decode_fields

# Of an organisation, those that were seen last: what a search reads is bounded by it.
FAILURES_SEARCHED = 10_000
_NEWEST_FIRST = {"last_seen_at": -1, "_id": -1}


class MongoFailures:
    """See ports.Failures."""

    def __init__(self, mongo: Mongo, *, searched: int = FAILURES_SEARCHED) -> None:
        self._searched = searched
        self._serving = ServingGeneration(mongo)

    async def page(self, filter: FailureFilter, page: RowPage, reopened: Collection[FailureKey] = ()) -> FoundFailures:
        of_app = {"app_id": filter.app_id} if filter.app_id else {}
        matching: list[Document] = [
            {"$match": of_app},
            {"$sort": _NEWEST_FIRST},
            {"$limit": self._searched},
            {"$match": await self._condition(filter, reopened)},
        ]
        rows = await self._rows(d.FAILURES)
        last = rows.find(of_app, {"last_seen_at": 1}).sort(list(_NEWEST_FIRST.items())).skip(self._searched - 1)
        counted, found, beyond = await asyncio.gather(
            rows.aggregate([*matching, {"$count": "total"}]),
            rows.aggregate([*matching, {"$skip": page.skip}, {"$limit": page.limit}]),
            last.limit(2).to_list(None),
        )
        items = [d.FAILURES.decode(document) for document in found]
        until = beyond[0]["last_seen_at"] if len(beyond) == 2 else None
        return FoundFailures(items, counted[0]["total"] if counted else 0, until)

    async def fixed(self) -> Sequence[TriageSnapshot]:
        query = {"state": FailureState.FIXED.value, "fixed_in": {"$ne": None}}
        triages = await find_documents(await self._rows(d.TRIAGES), query)
        return [d.TRIAGES.decode(triage)[1] for triage in triages]

    async def newest_builds(self, keys: Collection[FailureKey]) -> Mapping[FailureKey, BuildRef]:
        query = {"_id": {"$in": [d.document_id(key) for key in keys]}, "newest_build": {"$ne": None}}
        fields = {"app_id": 1, "fingerprint": 1, "newest_build": 1}
        failures = await find_documents(await self._rows(d.FAILURES), query, fields) if keys else []
        return {(row["app_id"], row["fingerprint"]): decode_fields(BuildRef, row["newest_build"]) for row in failures}

    async def get(self, key: FailureKey) -> AppFailure | None:
        document = await (await self._rows(d.FAILURES)).find_one({"_id": d.document_id(key)})
        return d.FAILURES.decode(document)[1] if document else None

    async def groups(self, key: FailureKey, limit: int) -> Sequence[tuple[GroupKey, Group]]:
        app_id, fingerprint = key
        rows = await self._rows(d.GROUPS)
        cursor = rows.find({"app_id": app_id, "fingerprint": fingerprint}).sort([("last_seen_at", -1)]).limit(limit)
        return [d.GROUPS.decode(document) for document in await cursor.to_list(None)]

    async def triages(self, keys: Collection[FailureKey]) -> Mapping[FailureKey, TriageSnapshot]:
        if not keys:
            return {}
        query = {"_id": {"$in": [d.document_id(key) for key in keys]}}
        triages = map(d.TRIAGES.decode, await find_documents(await self._rows(d.TRIAGES), query))
        return {key: triage for key, triage in triages if not triage.empty}

    async def _condition(self, filter: FailureFilter, reopened: Collection[FailureKey]) -> Document:
        existing = await find_documents(await self._rows(d.APPS), {"deleted": False}, {"_id": 1})
        condition: Document = {"app_id": {"$in": [app["_id"] for app in existing]}}
        if filter.category is not None:
            condition["category"] = filter.category
        if filter.pattern is not None:
            condition["text_folded"] = {"$regex": filter.pattern}
        if filter.state is not None:
            condition["_id"] = await self._of_state(filter.state, reopened)
        return condition

    async def _of_state(self, state: FailureState, reopened: Collection[FailureKey]) -> Document:
        """The ids in this state: those that are not known or fixed are open, and the `reopened`."""
        is_open = state is FailureState.OPEN
        states = [each.value for each in FailureState if (each is not FailureState.OPEN if is_open else each is state)]
        triages = await find_documents(await self._rows(d.TRIAGES), {"state": {"$in": states}}, {"_id": 1})
        ids = {triage["_id"] for triage in triages}
        return {"$nin": list(ids.difference(map(d.document_id, reopened)))} if is_open else {"$in": list(ids)}

    async def _rows(self, kind: d.TableCodec[Any, Any]) -> OrgCollection:
        return await self._serving.org_collection(kind.collection)
