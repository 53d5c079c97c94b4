"""Lookups of the read models in MongoDB for the caller's organisation, by `_id` or an index."""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeVar

from services.chassis.context import current
from services.chassis.mongo import Mongo
from services.chassis.org_collection import OrgCollection
from services.chassis.turns import in_turns, list_in_turns
from services.reporting.model.attempts import BuildRef
from services.reporting.model.flaky import Assessment, Classification
from services.reporting.model.reports.apps import VerdictCount
from services.reporting.model.reports.matrix import class_rank
from services.reporting.model.snapshots import (
    AppSnapshot,
    AttachmentSnapshot,
    BuildSnapshot,
    Outcome,
    Quarantine,
    RunResult,
    TestSnapshot,
)
from services.reporting.model.sources import BranchKey, BranchRow, BuildSource
from services.reporting.model.tables import Cell, CellKey, HistoryKey
from services.reporting.model.variants import MARK, KnownVariants, Subject, Values, is_variant, test_of
from services.reporting.ports import BranchQuery, Counts, RowPage, TestFilter
from services.reporting.storage import documents as d
from services.reporting.storage.decoded_documents import (
    DecodedDocuments,
    decode_document,
    find_decoded,
    find_documents,
)
from services.reporting.storage.generations import FRESH_SECONDS, ServingGeneration
from services.reporting.storage.subdocuments import Document, decode_assessment, decode_fields, decode_optional

K = TypeVar("K")
V = TypeVar("V")

# The variants of more tests are found among those of their app.
TESTS_BY_NAME = 200
# Of the newest runs of a test so many are searched for those on one app.
RUNS_SEARCHED = 200
# The word for a failure is less than that for a pass.
_WORST_OF_TEST = {
    "_id": {"build": "$build_id", "test": {"$first": {"$split": ["$test_id", MARK]}}},
    "outcome": {"$min": "$verdict.outcome"},
}
_OF_TEST = {"build_id": "$_id.build", "verdict": {"outcome": "$outcome"}}
_VERDICTS = [outcome.value for outcome in Outcome if outcome.verdict]


class MongoReadModels:
    """See ports.ReadModels."""

    def __init__(self, mongo: Mongo, *, fresh_seconds: float = FRESH_SECONDS) -> None:
        self._serving = ServingGeneration(mongo, fresh_seconds)
        self._cells = DecodedDocuments(d.decode_cell)
        self._assessments = DecodedDocuments(_decode_assessment_of_test)

    async def apps_by_id(self, app_ids: Collection[str]) -> Mapping[str, AppSnapshot]:
        return await self._by_ids(d.APPS, app_ids)

    async def counters(self, names: Collection[str], fields: Collection[str] = ()) -> Counts:
        ids = {d.counter_id(current().org_id, name): name for name in names}
        projection = dict.fromkeys(fields, 1) if fields else {"org_id": 0}
        documents = await self._find(d.COUNTERS, {"_id": {"$in": list(ids)}}, projection) if ids else ()
        return {ids[document.pop("_id")]: document for document in documents}

    async def builds(self, app_id: str, page: RowPage) -> Sequence[BuildSnapshot]:
        query = {"app_id": app_id, "deleted": False}
        documents = await self._page(d.BUILDS.collection, query, page, newest="uploaded_at")
        return [d.decode_build_copy(build)[1] for build in documents]

    async def builds_of_versions(self, app_id: str, versions: Collection[str]) -> Sequence[BuildSnapshot]:
        query = {"app_id": app_id, "version": {"$in": list(versions)}, "deleted": False}
        return [d.decode_build_copy(build)[1] for build in await self._find(d.BUILDS.collection, query)]

    async def builds_by_id(self, build_ids: Collection[str]) -> Mapping[str, BuildSnapshot]:
        return await self._by_ids(d.BUILDS, build_ids)

    async def tests_by_id(self, test_ids: Collection[str]) -> Mapping[str, TestSnapshot]:
        return await self._by_ids(d.TESTS, test_ids)

    async def attachments(self, app_id: str) -> Sequence[AttachmentSnapshot]:
        query = {"app_id": app_id, "attached": True}
        return await self._find_decoded(d.ATTACHMENTS.collection, query, None, _decode_attachment)

    async def variants(self, app_id: str, test_ids: Collection[str]) -> KnownVariants:
        """Most tests have none, so that a look into the index is all."""
        wanted = frozenset(test_ids)
        tests = {"$in": list(wanted)} if len(wanted) <= TESTS_BY_NAME else {"$gt": ""}
        fields = ("test_id", "variant_of", "values")
        histories = await self._find(d.HISTORIES.collection, {"app_id": app_id, "variant_of": tests}, fields)
        known: defaultdict[str, dict[Subject, Values]] = defaultdict(dict)
        for document in histories:
            if document["variant_of"] in wanted:
                known[document["variant_of"]][document["test_id"]] = document["values"]
        if known:
            empty = await self._find(d.HISTORIES.collection, _histories(app_id, known.keys()), ("test_id",))
            for document in empty:
                known[document["test_id"]][document["test_id"]] = {}
        return KnownVariants(known)

    async def build_sources(self, app_id: str, build_ids: Collection[str]) -> Mapping[str, BuildSource]:
        sources = await self._by_ids(d.BUILD_SOURCES, [(app_id, build_id) for build_id in build_ids])
        return {build_id: source for (_, build_id), source in sources.items()}

    async def branches(self, query: BranchQuery, page: RowPage) -> Sequence[tuple[BranchKey, BranchRow]]:
        documents = await self._page(d.BRANCHES.collection, _branches(query), page, newest="last_run_at")
        return [d.decode_branch(document) for document in documents]

    async def count_branches(self, query: BranchQuery) -> int:
        branches = await self._serving.org_collection(d.BRANCHES.collection)
        return await branches.count_documents(_branches(query))

    async def branches_by_key(self, keys: Collection[BranchKey]) -> Mapping[BranchKey, BranchRow]:
        return await self._by_ids(d.BRANCHES, keys)

    async def verdicts(
        self, app_id: str, build_ids: Collection[str], subjects: Collection[Subject]
    ) -> Sequence[VerdictCount]:
        """Counted by the database, from the index alone: there are up to builds times tests."""
        query = {
            "app_id": app_id,
            "build_id": {"$in": list(build_ids)},
            "test_id": {"$in": list(subjects)},
            "verdict.outcome": {"$in": _VERDICTS},
        }
        by_outcome = {"_id": {"build": "$build_id", "outcome": "$verdict.outcome"}, "tests": {"$sum": 1}}
        folding: list[Document] = (
            [{"$group": _WORST_OF_TEST}, {"$replaceWith": _OF_TEST}] if any(map(is_variant, subjects)) else []
        )
        cells = await self._serving.org_collection(d.CELLS.collection)
        return [
            VerdictCount(row["_id"]["build"], row["_id"]["outcome"] == Outcome.PASSED.value, row["tests"])
            for row in await cells.aggregate([{"$match": query}, *folding, {"$group": by_outcome}])
        ]

    async def cells_of_builds(self, app_id: str, build_ids: Collection[str]) -> Mapping[CellKey, Cell]:
        query = {"app_id": app_id, "build_id": {"$in": list(build_ids)}}
        return dict(await self._find_decoded(d.CELLS.collection, query, {"active_runs": 0}, self._cells.decode))

    async def subjects_of_branch(
        self, app_id: str, build_ids: Collection[str], branch: str
    ) -> Sequence[tuple[str, Subject]]:
        query = {"app_id": app_id, "build_id": {"$in": list(build_ids)}, "named_verdict.branch": branch}
        cells = await self._serving.org_collection(d.CELLS.collection)
        documents = await find_documents(cells, query, {"_id": 0, "build_id": 1, "test_id": 1})
        return await list_in_turns((document["build_id"], document["test_id"]) for document in documents)

    async def cells(self, keys: Collection[CellKey]) -> Mapping[CellKey, Cell]:
        return await self._by_ids(d.CELLS, keys, {"groups": 0})

    async def assessments(
        self, app_id: str, subjects: Collection[Subject], only: Classification | None = None
    ) -> Mapping[Subject, Assessment]:
        """By the index of classes, if one is sought: few tests are of it."""
        if not subjects:
            return {}
        query = _histories(app_id, subjects)
        if only is not None:
            query = {"classification": only.value, "test_id": {"$in": list(subjects)}, "app_id": app_id}
        fields = dict.fromkeys(("test_id", "flaky_score", "classification", "evidence"), 1)
        return dict(await self._find_decoded(d.HISTORIES.collection, query, fields, self._assessments.decode))

    async def flakiest(self, app_id: str | None, *, limit: int) -> Sequence[HistoryKey]:
        query = {"classification": Classification.FLAKY.value, **({"app_id": app_id} if app_id else {})}
        histories = await self._serving.org_collection(d.HISTORIES.collection)
        place = {"sort": [("flaky_score", -1), ("_id", 1)], "limit": limit}
        fields = {"_id": 0, "app_id": 1, "test_id": 1}
        documents = await find_decoded(histories, query, fields, decode_document, **place)
        return [(document["app_id"], document["test_id"]) for document in documents]

    async def observed(self, app_id: str, subjects: Collection[Subject]) -> Mapping[Subject, BuildRef | None]:
        if not subjects:
            return {}
        fields, query = ("test_id", "last_observed_build"), _histories(app_id, subjects)
        return dict(await self._find_decoded(d.HISTORIES.collection, query, fields, _decode_observed))

    async def runs_of_build(self, build_id: str, page: RowPage, results: Collection[RunResult] = ()) -> Sequence[bytes]:
        return await self._page_of_runs({"build_id": build_id}, page, results, d.RESULTS_OF_BUILD)

    async def runs_of_test(self, test_id: str, page: RowPage, results: Collection[RunResult] = ()) -> Sequence[bytes]:
        return await self._page_of_runs({"test_id": test_id}, page, results, d.RESULTS_OF_TEST)

    async def count_results_of_build(self, build_id: str, results: Collection[RunResult]) -> int:
        return await self._count_runs({"build_id": build_id, **_with(results)}, d.RESULTS_OF_BUILD)

    async def count_results_of_test(self, test_id: str, results: Collection[RunResult]) -> int:
        return await self._count_runs({"test_id": test_id, **_with(results)}, d.RESULTS_OF_TEST)

    async def runs_on_app(self, app_id: str, test_id: str, variant_id: str | None, *, limit: int) -> Sequence[bytes]:
        """See RUNS_SEARCHED."""
        of_variant = {} if variant_id is None else {"variant": variant_id or {"$exists": False}}
        pipeline: list[Document] = [
            {"$match": {"test_id": test_id, "listed_at": {"$lt": d.END_OF_TIME}}},
            {"$sort": {"listed_at": -1, "_id": -1}},
            {"$limit": RUNS_SEARCHED},
            {"$match": {"app_id": app_id, **of_variant}},
            {"$limit": limit},
            {"$project": {"_id": 0, "list_item": 1}},
        ]
        runs = await self._serving.org_collection(d.RUNS.collection)
        return [bytes(document["list_item"]) for document in await runs.aggregate(pipeline)]

    async def _page_of_runs(
        self, query: Document, page: RowPage, results: Collection[RunResult], index: str
    ) -> Sequence[bytes]:
        """Of all runs, or by this index of those with the results: MongoDB would rather read all documents for most."""
        query, hint = ({**query, **_with(results)}, {"hint": index}) if results else (query, {})
        fields = {"_id": 0, "list_item": 1}
        documents = await self._page(d.RUNS.collection, query, page, fields, newest="listed_at", **hint)
        return [bytes(document["list_item"]) for document in documents]

    async def _count_runs(self, query: Document, index: str) -> int:
        """From the index alone; runs with a result are in lists."""
        runs = await self._serving.org_collection(d.RUNS.collection)
        return await runs.count_documents(query, hint=index)

    async def _by_ids(
        self, kind: d.TableCodec[K, V], keys: Collection[K], projection: Document | None = None
    ) -> Mapping[K, V]:
        if not keys:
            return {}
        names: Collection[Any] = keys
        query = {"_id": {"$in": [d.document_id(key) for key in names]}}
        decode = kind.decode
        pairs = self._find_decoded(kind.collection, query, projection, lambda raw: decode(decode_document(raw)))
        return dict(await pairs)

    async def _page(
        self,
        collection: str,
        query: Document,
        page: RowPage,
        projection: Document | None = None,
        *,
        newest: str,
        **hint: str,
    ) -> list[Document]:
        """Sorted by the field `newest`, which is always compared: indexes of runs contain only runs that have it."""
        query = {**query, newest: {"$lt": page.before or d.END_OF_TIME}}
        rows = await self._serving.org_collection(collection)
        order = [(newest, -1), ("_id", -1)]
        place = {"sort": order, "skip": page.skip, "limit": page.limit}
        return await find_decoded(rows, query, projection, decode_document, **place, **hint)

    async def _find(
        self, collection: str, query: Document, projection: Document | Sequence[str] | None = None
    ) -> list[Document]:
        return await self._find_decoded(collection, query, projection, decode_document)

    async def _find_decoded(
        self,
        collection: str,
        query: Document,
        projection: Document | Sequence[str] | None,
        decode: Callable[[bytes], V],
    ) -> list[V]:
        return await find_decoded(await self._serving.org_collection(collection), query, projection, decode)


def _with(results: Collection[RunResult]) -> Document:
    return {"result": {"$in": [result.value for result in results]}}


def _branches(query: BranchQuery) -> Document:
    kinds = {"app_id": query.app_id, "kind": {"$in": [kind.value for kind in query.kinds]}}
    return kinds if query.pattern is None else kinds | {"name_folded": {"$regex": f"^{query.pattern}"}}


def _histories(app_id: str, subjects: Collection[Subject]) -> Document:
    """The query for the histories of these subjects on an app."""
    return {"_id": {"$in": [d.document_id((app_id, subject)) for subject in subjects]}}


def _decode_attachment(raw: bytes) -> AttachmentSnapshot:
    return d.decode_attachment(decode_document(raw))[1]


def _decode_observed(raw: bytes) -> tuple[Subject, BuildRef | None]:
    document = decode_document(raw)
    return document["test_id"], decode_optional(BuildRef, document["last_observed_build"])


def _decode_test(raw: bytes) -> str:
    return test_of(decode_document(raw)["test_id"])


def _decode_assessment_of_test(document: Document) -> tuple[str, Assessment]:
    return document["test_id"], decode_assessment(document)


class MongoCatalogTests:
    """See ports.CatalogTests."""

    def __init__(self, mongo: Mongo) -> None:
        self._serving = ServingGeneration(mongo)

    async def with_history(self, classification: Classification | None = None) -> frozenset[str]:
        """Answered from the index alone, except for tests with variants, of which each app's worst one counts."""
        query = {} if classification is None else {"classification": classification.value}
        histories = await self._serving.org_collection(d.HISTORIES.collection)
        tests = frozenset(await find_decoded(histories, query, {"_id": 0, "test_id": 1}, _decode_test))
        worst = await self._worst_classes(histories) if classification is not None else {}
        if not worst:
            return tests
        fits = (test for test in tests | worst.keys() if classification in worst.get(test, (classification,)))
        return frozenset(await list_in_turns(fits))

    async def _worst_classes(self, histories: OrgCollection) -> Mapping[str, Collection[Classification]]:
        """By test that has variants, its class on each app."""
        fields = {"_id": 0, "app_id": 1, "test_id": 1, "classification": 1}
        documents = await find_documents(histories, {"variant_of": {"$gt": ""}}, fields)
        tests = set(await list_in_turns(test_of(document["test_id"]) for document in documents))
        if tests:
            empty = {"classification": {"$gt": ""}, "test_id": {"$in": list(tests)}}
            documents += await find_documents(histories, empty, fields)
        by_app: defaultdict[tuple[str, str], set[Classification]] = defaultdict(set)
        async for document in in_turns(documents):
            key = (document["app_id"], test_of(document["test_id"]))
            by_app[key].add(Classification(document["classification"]))
        worst: defaultdict[str, set[Classification]] = defaultdict(set)
        async for (_, test), classes in in_turns(by_app.items()):
            worst[test].add(min(classes, key=class_rank))
        return worst

    async def newest(self, filter: TestFilter, page: RowPage) -> Sequence[str]:
        tests = await self._serving.org_collection(d.TESTS.collection)
        cursor = tests.find(_condition(filter), {"_id": 1}).sort([("created_at", -1), ("_id", -1)])
        return [document["_id"] for document in await cursor.skip(page.skip).limit(page.limit).to_list(None)]

    async def count(self, filter: TestFilter) -> int:
        return await (await self._serving.org_collection(d.TESTS.collection)).count_documents(_condition(filter))

    async def quarantines(self, test_ids: Collection[str]) -> Mapping[str, Quarantine]:
        query = {"_id": {"$in": list(test_ids)}, "quarantine": {"$ne": None}}
        tests = await self._serving.org_collection(d.TESTS.collection)
        documents = await tests.find(query, {"quarantine": 1}).to_list(None)
        return {document["_id"]: decode_fields(Quarantine, document["quarantine"]) for document in documents}


def _condition(filter: TestFilter) -> Document:
    condition: Document = {"deleted": False}
    if filter.platform is not None:
        condition["platform"] = {"$in": [filter.platform, None]}
    if filter.tag is not None:
        condition["tags"] = filter.tag
    if filter.pattern is not None:
        condition["name_folded"] = {"$regex": filter.pattern}
    if filter.quarantined_at is not None:
        condition["quarantine.until"] = {"$gt": filter.quarantined_at}
    ids = {"$in": filter.only, "$nin": filter.without or None}
    named_ids = {operator: list(some) for operator, some in ids.items() if some is not None}
    return condition | ({"_id": named_ids} if named_ids else {})
