"""Lookups of verdicts on other builds and of the runs of an execution in MongoDB, for the caller's organisation."""

import asyncio
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain

from google.protobuf.struct_pb2 import Struct
from mobiletest.reporting.v1 import reports_pb2

from services.chassis.context import current
from services.chassis.fair_turns import FairTurns
from services.chassis.mongo import Mongo
from services.chassis.org_collection import OrgCollection
from services.chassis.turns import in_turns, list_in_turns, pause
from services.reporting.model.attempts import Attempt
from services.reporting.model.cells import MESSAGE_LENGTH
from services.reporting.model.fingerprint import normalise
from services.reporting.model.reports.breakage import AttemptQuery, BuildVerdict, SearchSide, VerdictQuery
from services.reporting.model.reports.gate import ExecutionProgress, GateRun
from services.reporting.model.snapshots import BuildSnapshot, Outcome, Simulation, Status
from services.reporting.model.tables import CellKey, HistoryKey
from services.reporting.storage import documents as d
from services.reporting.storage.decoded_documents import decode_document, find_decoded, find_documents
from services.reporting.storage.generations import ServingGeneration, collection_name
from services.reporting.storage.subdocuments import Document, decode_attempts, decode_build_verdict, holds_attempt
from services.reporting.storage.verdict_scans import CELLS_AT_ONCE, FEWEST_TESTS, VERDICT_FIELDS, VerdictScans

# How many builds in a row are skipped as storms, which bounds what a lookup reads.
STORM_BUILDS_SKIPPED = 10
# MongoDB runs a pipeline on one core and needs about 100 us per cell, so many cells are split into parts.
PART_SIZE = 500
# One organisation never keeps all the others waiting: a part and a scan are short, and the next turn is theirs.
PIPELINES_AT_ONCE, PIPELINES_OF_ORG = 8, 4
_READ = ("status", "execution_id", "test_id", "app_id", "build_id", "listed_at", "list_item", "variant")
# The fields of a stored run that `gate_run` reads.
RUN_FIELDS: Document = dict.fromkeys(_READ, 1)


class MongoVerdicts:
    """See ports.Verdicts."""

    def __init__(self, mongo: Mongo, *, fewest_scanned: int = FEWEST_TESTS) -> None:
        """`fewest_scanned`: of how many tests of a build the verdicts are searched by scans."""
        self._mongo = mongo
        self._fewest_scanned = fewest_scanned
        self._serving = ServingGeneration(mongo)
        self._turns = FairTurns(PIPELINES_AT_ONCE, per_org=PIPELINES_OF_ORG, waiting_per_org=None, waiting=None)
        self._scans = VerdictScans(fewest_scanned, self._turns)

    async def uploads(self, keys: Collection[CellKey]) -> Mapping[CellKey, datetime]:
        """By build, because a seek in the index of builds costs half of one by `_id`."""
        tests: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
        async for app_id, test_id, build_id in in_turns(keys):
            tests[app_id, build_id].append(test_id)
        parts = [
            {"app_id": app_id, "build_id": build_id, "test_id": {"$in": some[start : start + CELLS_AT_ONCE]}}
            for (app_id, build_id), some in tests.items()
            for start in range(0, len(some), CELLS_AT_ONCE)
        ]
        cells = await self._serving.org_collection(d.CELLS.collection)
        uploads_of_parts = await asyncio.gather(*(self._uploads_of(cells, part) for part in parts))
        return dict(await list_in_turns(chain.from_iterable(uploads_of_parts)))

    async def _uploads_of(self, cells: OrgCollection, query: Document) -> list[tuple[CellKey, datetime]]:
        async with self._turns.take(current().org_id):
            groups = await cells.aggregate([{"$match": query}, _TESTS_OF_BUILD])
        build = (query["app_id"], query["build_id"])
        return [((build[0], test, build[1]), group["_id"]) for group in groups for test in group["tests"]]

    async def find(
        self, keys: Collection[CellKey], query: VerdictQuery, uploads: Mapping[CellKey, datetime] | None = None
    ) -> Mapping[CellKey, BuildVerdict]:
        """Scans of the index of verdicts for many tests of one build; else from each cell one seek in it for each
        branch and outcome.

        Only verdicts of runs that name their branch are found: see `NamedVerdict`. Storms are rare, so the search is
        repeated without them only for failures that turn out to belong to one.
        """
        if not keys or not query.branches:
            return {}
        generation = await self._serving.number()
        nearest = await self._scan(keys, query, generation, uploads)
        await pause()
        failed_in = {seen.verdict.execution_id for seen in nearest.values() if seen.fails}
        storms = set() if query.storms else await self.storms(failed_in)
        hidden = {key for key, seen in nearest.items() if seen.fails and seen.verdict.execution_id in storms}
        calm = await self._search(hidden, query, generation, calm=True)
        await pause()
        shown = {key: seen for key, seen in nearest.items() if key not in hidden} if hidden else nearest
        await pause()  # so that what callers do with thousands of verdicts is not added to this
        return shown | calm

    async def _scan(
        self,
        keys: Collection[CellKey],
        query: VerdictQuery,
        generation: int,
        uploads: Mapping[CellKey, datetime] | None,
    ) -> dict[CellKey, BuildVerdict]:
        if len(keys) < self._fewest_scanned:
            return await self._search(keys, query, generation)
        cells = self._of(d.CELLS.collection, generation)
        if uploads is None:
            by_id = {"_id": {"$in": [d.document_id(key) for key in keys]}}
            read = await find_documents(cells, by_id, ["app_id", "test_id", "build_id", "uploaded_at"])
            uploads = {_cell_key(document): document["uploaded_at"] for document in read}
        await pause()
        places = {key: uploads[key] for key in keys if key in uploads}
        nearest, undecided = await self._scans.find(cells, places, query)
        await pause()
        return nearest | await self._search(undecided, query, generation)

    async def _search(
        self, keys: Collection[CellKey], query: VerdictQuery, generation: int, *, calm: bool = False
    ) -> dict[CellKey, BuildVerdict]:
        ids = {d.document_id(key): key for key in keys}
        names = list(ids)
        parts = [names[start : start + PART_SIZE] for start in range(0, len(names), PART_SIZE)]
        documents_of_parts = await asyncio.gather(*(self._part(part, query, generation, calm=calm) for part in parts))
        return {
            ids[document["_id"]]: decode_build_verdict(document["found"])
            async for document in in_turns(chain.from_iterable(documents_of_parts))
        }

    async def _part(
        self, ids: Sequence[str], query: VerdictQuery, generation: int, *, calm: bool
    ) -> Sequence[Document]:
        pipeline: list[Document] = [
            {"$match": {"_id": {"$in": ids}}},
            {"$project": {"app_id": 1, "test_id": 1, "build_id": 1, "uploaded_at": 1}},
            {"$lookup": _lookup(query, current().org_id, generation, calm=calm)},
            {"$unwind": "$found"},
            {"$project": {"found": 1}},
        ]
        async with self._turns.take(current().org_id):
            documents: list[Document] = await self._of(d.CELLS.collection, generation).aggregate(pipeline)
        return documents

    async def storms(self, execution_ids: Collection[str]) -> Collection[str]:
        if not execution_ids:
            return set()
        executions = await self._serving.org_collection(d.EXECUTIONS.collection)
        query = {"_id": {"$in": sorted(execution_ids)}, "storm": True}
        return {document["_id"] for document in await executions.find(query, {"_id": 1}).to_list(None)}

    async def attempts(
        self, keys: Collection[HistoryKey], sought: Mapping[HistoryKey, AttemptQuery] | None = None
    ) -> Mapping[HistoryKey, Sequence[Attempt]]:
        ids = {d.document_id(key): key for key in keys}
        histories = await self._serving.org_collection(d.HISTORIES.collection)
        read = await find_documents(histories, {"_id": {"$in": list(ids)}}, {"attempts": 1})
        attempts: dict[HistoryKey, Sequence[Attempt]] = {}
        async for document in in_turns(read):
            key, text = ids[document["_id"]], document["attempts"]
            if sought is None or (key in sought and holds_attempt(text, sought[key])):
                attempts[key] = decode_attempts(text)
        return attempts

    async def builds_before(self, build: BuildSnapshot, limit: int) -> Sequence[BuildSnapshot]:
        earlier = [
            {"uploaded_at": {"$lt": build.uploaded_at}},
            {"uploaded_at": build.uploaded_at, "_id": {"$lt": build.build_id}},
        ]
        query = {"app_id": build.app_id, "deleted": False, "uploaded_at": {"$lte": build.uploaded_at}, "$or": earlier}
        builds = await self._serving.org_collection(d.BUILDS.collection)
        cursor = builds.find(query).sort([("uploaded_at", -1), ("_id", -1)]).limit(limit)
        return [d.decode_build_copy(document)[1] for document in await cursor.to_list(None)]

    async def progress(self, execution_ids: Collection[str]) -> Mapping[str, ExecutionProgress]:
        executions = await self._serving.org_collection(d.EXECUTIONS.collection)
        fields = {"total": 1, "finished": 1, "storm": 1}
        documents = await find_documents(executions, {"_id": {"$in": list(execution_ids)}}, fields)
        return {each["_id"]: ExecutionProgress(each["total"], each["finished"], each["storm"]) for each in documents}

    async def runs(self, run_ids: Collection[str]) -> Sequence[GateRun]:
        return await self._runs({"_id": {"$in": sorted(run_ids)}}) if run_ids else []

    async def runs_of_execution(self, execution_id: str) -> Sequence[GateRun]:
        return await self._runs({"execution_id": execution_id})

    async def _runs(self, query: Document) -> Sequence[GateRun]:
        runs = await self._serving.org_collection(d.RUNS.collection)
        return await find_decoded(runs, query, RUN_FIELDS, lambda raw: gate_run(decode_document(raw)))

    def _of(self, collection: str, generation: int) -> OrgCollection:
        return OrgCollection(self._mongo, collection_name(collection, generation))


_TESTS_OF_BUILD: Document = {"$group": {"_id": "$uploaded_at", "tests": {"$push": "$test_id"}}}


def _cell_key(document: Document) -> CellKey:
    return (document["app_id"], document["test_id"], document["build_id"])


def _lookup(query: VerdictQuery, org_id: str, generation: int, *, calm: bool) -> Document:
    """The $lookup of the cell that the query asks for, as `found`; sorted as its index is, it ends at the first."""
    newest = query.side in (SearchSide.BEFORE, SearchSide.OTHER)
    same = {
        "org_id": org_id,
        "named_verdict.branch": {"$in": list(query.branches)},
        "named_verdict.outcome": {"$in": [outcome.value for outcome in query.outcomes]},
        "$expr": {"$and": [{"$eq": ["$app_id", "$$app"]}, {"$eq": ["$test_id", "$$test"]}, *_BESIDE[query.side]]},
    }
    pipeline: list[Document] = [
        {"$match": same},
        {"$sort": {"uploaded_at": -1 if newest else 1, "build_id": -1 if newest else 1}},
        *(_calm(org_id, generation) if calm else ()),
        {"$limit": 1},
        {"$project": dict.fromkeys(VERDICT_FIELDS, 1)},
    ]
    let = {"app": "$app_id", "test": "$test_id", "build": "$build_id", "at": "$uploaded_at"}
    return {"from": collection_name(d.CELLS.collection, generation), "let": let, "pipeline": pipeline, "as": "found"}


def _beside(compares: str) -> list[Document]:
    """Builds on one side: the index bounds the time, the rest compares builds that were uploaded at the same moment."""
    at = {f"${compares}": ["$uploaded_at", "$$at"]}
    tie = {"$and": [{"$eq": ["$uploaded_at", "$$at"]}, {f"${compares}": ["$build_id", "$$build"]}]}
    return [{f"${compares}e": ["$uploaded_at", "$$at"]}, {"$or": [at, tie]}]


_BESIDE: dict[SearchSide, list[Document]] = {
    SearchSide.BEFORE: _beside("lt"),
    SearchSide.AFTER: _beside("gt"),
    SearchSide.OTHER: [{"$ne": ["$build_id", "$$build"]}],
    SearchSide.FIRST: [],
}


def _calm(org_id: str, generation: int) -> list[Document]:
    """Drops failures in storms among the nearest builds; the limit is for apps whose failures all look like storms."""
    storms = {
        "from": collection_name(d.EXECUTIONS.collection, generation),
        "localField": "named_verdict.execution_id",
        "foreignField": "_id",
        "pipeline": [{"$match": {"org_id": org_id, "storm": True}}, {"$project": {"_id": 1}}],
        "as": "storms",
    }
    calm = {"$or": [{"named_verdict.outcome": Outcome.PASSED.value}, {"storms": []}]}
    return [{"$limit": STORM_BUILDS_SKIPPED + 1}, {"$lookup": storms}, {"$match": calm}]


def gate_run(document: Document) -> GateRun:
    """The run as the gate needs it, from its list item (see events.list_item)."""
    expired = document.get("listed_at") is None
    item = reports_pb2.BuildRunItem.FromString(b"" if expired else bytes(document["list_item"]))
    failure = _text(item.report_metadata, "top_failure")
    category = _text(item.report_metadata, "category")
    return GateRun(
        run_id=document["_id"],
        execution_id=document["execution_id"],
        test_id=document["test_id"],
        test_name=item.test_name,
        app_id=document["app_id"],
        build_id=document["build_id"],
        build_version=item.resolved_build_version if item.HasField("resolved_build_version") else None,
        status=Status(document["status"]),
        success=item.success,
        ended_at=_ended_at(item),
        branch=_text(item.metadata, "branch"),
        commit_sha=_text(item.metadata, "commit_sha"),
        category=category,
        failure_reason=(normalise(failure) or category) if failure is not None else category,
        expired=expired,
        variant=document.get("variant", ""),
        simulation=_simulation(item.metadata),
        bindings_changed="bindings_changed" in item.report_metadata.fields,
        failure_message=failure[:MESSAGE_LENGTH] if failure is not None else None,
        fingerprint=item.failure_fingerprint or None,
    )


def _text(struct: Struct, name: str) -> str | None:
    value = struct.fields.get(name)
    return (value.string_value or None) if value is not None else None


def _simulation(metadata: Struct) -> Simulation | None:
    simulated, built_in_model = (_flag(metadata, name) for name in ("simulated", "built_in_model"))
    return Simulation.of(simulated=simulated, built_in_model=built_in_model)


def _flag(struct: Struct, name: str) -> bool:
    value = struct.fields.get(name)
    return value is not None and value.bool_value


def _ended_at(item: reports_pb2.BuildRunItem) -> datetime | None:
    return item.completed_at.ToDatetime(tzinfo=UTC) if item.HasField("completed_at") else None
