"""Looking the read models up in MongoDB, for the caller's organisation: each by `_id` or by an index."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from services.chassis.context import current
from services.chassis.mongo import Mongo
from services.chassis.tenancy import Tenant
from services.reporting.model.flaky import Assessment
from services.reporting.model.history import BuildRef
from services.reporting.model.reports.workspace import TestVerdict
from services.reporting.model.snapshots import AppSnapshot, AttachmentSnapshot, BuildSnapshot, Outcome, TestSnapshot
from services.reporting.model.tables import Cell, CellKey
from services.reporting.ports import Page
from services.reporting.storage import documents as d
from services.reporting.storage.generations import Serving, named
from services.reporting.storage.values import Document, assessment_of, build_of

_WITHOUT_ORG = {"org_id": 0}
_NEWEST_BUILDS = [("uploaded_at", -1), ("_id", -1)]
_NEWEST_RUNS = [("listed_at", -1), ("_id", -1)]
_ASSESSMENT = {"test_id": 1, "flaky_score": 1, "classification": 1, "evidence": 1}


class MongoReadModels:
    """See ports.ReadModels."""

    def __init__(self, mongo: Mongo) -> None:
        self._mongo = mongo
        self._serving = Serving(mongo)

    async def _of(self, collection: str) -> Tenant:
        """The collection of the generation that serves."""
        return Tenant(self._mongo, named(collection, await self._serving.generation()))

    async def app(self, app_id: str) -> AppSnapshot | None:
        document = await (await self._of(d.APPS.collection)).find_one({"_id": app_id})
        return d.app_of(document)[1] if document else None

    async def counters(self, names: Collection[str]) -> Mapping[str, Mapping[str, int]]:
        ids = {d.counter_id(current().org_id, name): name for name in names}
        found = await _by_ids(await self._of(d.COUNTERS), ids, _WITHOUT_ORG)
        return {ids[document.pop("_id")]: document for document in found}

    async def builds(self, app_id: str, page: Page) -> Sequence[BuildSnapshot]:
        cursor = (await self._of(d.BUILDS.collection)).find({"app_id": app_id, "deleted": False}).sort(_NEWEST_BUILDS)
        return [d.build_copy_of(build)[1] for build in await cursor.skip(page.skip).limit(page.limit).to_list(None)]

    async def builds_of_versions(self, app_id: str, versions: Collection[str]) -> Sequence[BuildSnapshot]:
        query = {"app_id": app_id, "version": {"$in": list(versions)}, "deleted": False}
        return [
            d.build_copy_of(build)[1] for build in await (await self._of(d.BUILDS.collection)).find(query).to_list(None)
        ]

    async def builds_by_id(self, build_ids: Collection[str]) -> Mapping[str, BuildSnapshot]:
        return dict(map(d.build_copy_of, await _by_ids(await self._of(d.BUILDS.collection), build_ids)))

    async def tests_by_id(self, test_ids: Collection[str]) -> Mapping[str, TestSnapshot]:
        return dict(map(d.test_of, await _by_ids(await self._of(d.TESTS.collection), test_ids)))

    async def attachments(self, app_id: str) -> Sequence[AttachmentSnapshot]:
        cursor = (await self._of(d.ATTACHMENTS.collection)).find({"app_id": app_id, "attached": True})
        return [d.attachment_of(document)[1] for document in await cursor.to_list(None)]

    async def verdicts(self, app_id: str, build_ids: Collection[str]) -> Sequence[TestVerdict]:
        """Answered from the index alone."""
        query = {"app_id": app_id, "build_id": {"$in": list(build_ids)}, "verdict.outcome": {"$in": _VERDICTS}}
        projection = {"_id": 0, "build_id": 1, "test_id": 1, "verdict.outcome": 1}
        found = await (await self._of(d.CELLS.collection)).find(query, projection).to_list(None)
        return [
            TestVerdict(cell["build_id"], cell["test_id"], cell["verdict"]["outcome"] == Outcome.PASSED.value)
            for cell in found
        ]

    async def cells_of_builds(self, app_id: str, build_ids: Collection[str]) -> Mapping[CellKey, Cell]:
        query = {"app_id": app_id, "build_id": {"$in": list(build_ids)}}
        return dict(map(d.cell_of, await (await self._of(d.CELLS.collection)).find(query).to_list(None)))

    async def cells(self, keys: Collection[CellKey]) -> Mapping[CellKey, Cell]:
        return dict(
            map(d.cell_of, await _by_ids(await self._of(d.CELLS.collection), map(d.joined, keys), {"groups": 0}))
        )

    async def assessments(self, app_id: str, test_ids: Collection[str]) -> Mapping[str, Assessment]:
        found = await _by_ids(await self._of(d.HISTORIES.collection), _keys(app_id, test_ids), _ASSESSMENT)
        return {document["test_id"]: assessment_of(document) for document in found}

    async def observed(self, app_id: str, test_ids: Collection[str]) -> Mapping[str, BuildRef]:
        found = await _by_ids(
            await self._of(d.HISTORIES.collection), _keys(app_id, test_ids), {"test_id": 1, "observed": 1}
        )
        builds = {document["test_id"]: build_of(document["observed"]) for document in found}
        return {test_id: build for test_id, build in builds.items() if build}

    async def runs_of_build(self, build_id: str, page: Page) -> Sequence[bytes]:
        return await self._page_of_runs({"build_id": build_id}, page)

    async def runs_of_test(self, test_id: str, page: Page) -> Sequence[bytes]:
        return await self._page_of_runs({"test_id": test_id}, page)

    async def _page_of_runs(self, query: Document, page: Page) -> Sequence[bytes]:
        cursor = (
            (await self._of(d.RUNS.collection))
            .find(query, {"_id": 0, "shown": 1})
            .sort(_NEWEST_RUNS)
            .skip(page.skip)
            .limit(page.limit)
        )
        return [bytes(document["shown"]) for document in await cursor.to_list(None)]


_VERDICTS = [outcome.value for outcome in Outcome if outcome.verdict]


def _keys(app_id: str, test_ids: Collection[str]) -> list[str]:
    return [d.joined((app_id, test_id)) for test_id in test_ids]


async def _by_ids(tenant: Tenant, ids: Any, projection: Document | None = None) -> list[Document]:
    wanted = list(ids)
    if not wanted:
        return []
    found: list[Document] = await tenant.find({"_id": {"$in": wanted}}, projection).to_list(None)
    return found
