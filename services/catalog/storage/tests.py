"""Tests and the versions of their steps as documents."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from mobiletest_automation.flows.workspace_media import MediaFile
from services.catalog.model.tests import PLAN_BYTES, Quarantine, Test, TestFilter, TestVersion, version_bytes
from services.catalog.model.values import Page, Platform
from services.catalog.storage.documents import (
    IS_LIVE,
    LIST,
    LIST_OF_PLATFORM,
    LIST_OF_TAG,
    MOST_BYTES,
    NEWEST_FIRST,
    WITHOUT_SUFFIXES,
    MongoLiveEntities,
    dump,
    find,
    id_condition,
    load,
    search_condition,
    search_fields,
)
from services.catalog.storage.test_steps import MongoTestSteps, SharedSteps, encode_steps, shared_fields, steps_of
from services.chassis.mongo import Document
from services.chassis.org_collection import OrgCollection
from services.chassis.text_search import fold_case

TESTS = "tests"
TEST_VERSIONS = "test_versions"

NONE_SHARED: SharedSteps = {}
WITHOUT_STEPS: Document = {"steps": 0, "positions": 0}
# Of tests in one message: each mebibyte of steps costs a third of a second of CPU.
MOST_BYTES_WITH_STEPS = 2 * 1024**2
_BY_NAME = [("name_folded", 1), ("_id", 1)]
_BY_SOURCE = [("workspace", 1), ("source_path", 1)]


class MongoTests(MongoLiveEntities[Test]):
    """The live tests, and the versions of their steps."""

    def __init__(
        self, rows: OrgCollection, versions: OrgCollection, contents: OrgCollection, *, is_sharing: bool
    ) -> None:
        """`is_sharing`: whether to write what versions of the service before it cannot read (see `test_steps`)."""
        super().__init__(rows, to_document, from_document)
        self._versions = versions
        self._steps = MongoTestSteps(contents)
        self._is_sharing = is_sharing

    async def add(self, entity: Test) -> None:
        await self._rows.insert_one(await self._document(entity))

    async def replace(self, entity: Test) -> None:
        await self._rows.put(await self._document(entity))

    async def _document(self, test: Test) -> Document:
        """The test as stored: its steps are stored with its version, unless that has them itself."""
        document = to_document(test)
        shared = shared_fields(document["steps"])
        version = {"_id": version_id(test.id, test.version_number), "steps_sha256": shared["steps_sha256"]}
        if self._is_sharing and await self._versions.count_documents(version):
            return document | shared
        return document

    async def with_deleted(self, test_ids: Collection[str], *, most_bytes: int = PLAN_BYTES) -> Sequence[Test]:
        if not test_ids:
            return ()
        return await self._planned(id_condition(test_ids), most_bytes)

    async def existing(self, test_ids: Collection[str]) -> Collection[str]:
        documents = await find(self._rows, {**id_condition(test_ids), **IS_LIVE}, projection={"_id": 1})
        return {document["_id"] for document in documents}

    async def quarantines(self, test_ids: Collection[str]) -> Mapping[str, Quarantine]:
        condition = {**id_condition(test_ids), **IS_LIVE, "quarantine": {"$ne": None}}
        documents = await find(self._rows, condition, projection={"quarantine": 1})
        return {document["_id"]: Quarantine(**document["quarantine"]) for document in documents}

    async def tagged(self, tags: Collection[str], *, most_bytes: int = PLAN_BYTES) -> Sequence[Test]:
        if not tags:
            return ()
        return await self._planned({"tags": {"$in": list(tags)}, **IS_LIVE}, most_bytes, _BY_NAME)

    async def selected(self, test_ids: Collection[str], tags: Collection[str]) -> Sequence[Test]:
        fields = {"env": 0, **_with(False)["projection"]}
        conditions: list[Document] = [id_condition(test_ids)] if test_ids else []
        if tags:
            conditions.append({"tags": {"$in": list(tags)}})
        found = await asyncio.gather(*(self._find(condition, projection=fields) for condition in conditions))
        by_id = {test.id: test for tests in found for test in tests}
        return sorted(by_id.values(), key=lambda test: (fold_case(test.name), test.id))

    async def _planned(self, condition: Document, most_bytes: int, sort: Any = None) -> Sequence[Test]:
        """Tests with all their steps, which take long to decode: other requests have their turns in between."""
        tests = []
        documents, shared = await self._steps.find(self._rows, condition, sort, most=most_bytes)
        for document in documents:
            tests.append(from_document(document, shared))
            await asyncio.sleep(0)
        return tests

    async def _find(
        self, condition: Document, sort: Any = None, page: Page | None = None, **options: Any
    ) -> list[Test]:
        live = {**condition, **IS_LIVE}
        documents, shared = await self._steps.find(self._rows, live, sort, page, **options)
        return [from_document(document, shared) for document in documents]

    async def many(self, ids: Collection[str]) -> Sequence[Test]:
        most = MOST_BYTES_WITH_STEPS if len(ids) > 1 else MOST_BYTES
        return await self._find(id_condition(ids), most=most) if ids else ()

    async def page(self, filter: TestFilter, page: Page, *, with_steps: bool) -> Sequence[Test]:
        return await self._find(_condition(filter), NEWEST_FIRST, page, index=_index_of(filter), **_with(with_steps))

    async def count_only_on(self, platform: Platform) -> int:
        return await self._count({"platform": platform.value})

    async def count(self, filter: TestFilter) -> int:
        return await self._count_named(_condition(filter), filter.pattern)

    async def elsewhere(self, workspace: str, paths: Collection[str], most: int) -> Sequence[Test]:
        condition = {"workspace": workspace, "source_path": {"$type": "string", "$nin": list(paths)}}
        return await self._find(condition, _BY_SOURCE, Page(1, most), projection={"env": 0, **WITHOUT_STEPS})

    async def stored_files(self, workspace: str, sha256s: Collection[str]) -> Collection[str]:
        condition = {"workspace": workspace, "source_path": {"$type": "string"}, "files.sha256": {"$in": list(sha256s)}}
        documents = await find(self._rows, {**condition, **IS_LIVE}, projection={"files.sha256": 1})
        return {file["sha256"] for document in documents for file in document["files"]}.intersection(sha256s)

    async def at_paths(self, workspace: str, paths: Collection[str]) -> Sequence[Test]:
        condition = {"workspace": workspace, "source_path": {"$type": "string", "$in": list(paths)}}
        return await self._find(condition, most=PLAN_BYTES)

    async def add_version(self, version: TestVersion) -> int:
        steps, size = encode_steps(version.steps), version_bytes(version.positions, version.files)
        document = asdict(version) | {"_id": version_id(version.test_id, version.version_number)}
        if self._is_sharing:
            await self._versions.put(document | shared_fields(steps) | {"bytes": size})
            return size + await self._steps.use(steps)
        size += len(steps.encode())
        await self._versions.put(document | {"steps": steps, "bytes": size})
        return size

    async def stored_steps(self, digests: Collection[str]) -> Collection[str]:
        return await self._steps.stored(digests) if digests else ()

    async def move_steps(self, test: Test) -> None:
        moved = {"$set": {"positions": test.positions}}
        await self._rows.update_one({"_id": test.id, **IS_LIVE}, moved)
        await self._versions.update_one({"_id": version_id(test.id, test.version_number)}, moved)

    async def versions(self, test_id: str, page: Page, *, with_steps: bool) -> Sequence[TestVersion]:
        condition, newest_first = {"test_id": test_id}, [("version_number", -1)]
        return await self._find_versions(condition, newest_first, page, **_with(with_steps))

    async def of_versions(self, numbers: Mapping[str, int], *, most_bytes: int = PLAN_BYTES) -> Sequence[TestVersion]:
        if not numbers:
            return ()
        ids = [version_id(test_id, number) for test_id, number in numbers.items()]
        return await self._find_versions(id_condition(ids), most=most_bytes)

    async def _find_versions(
        self, condition: Document, sort: Any = None, page: Page | None = None, **options: Any
    ) -> Sequence[TestVersion]:
        documents, shared = await self._steps.find(self._versions, condition, sort, page, **options)
        return [_version(document, shared) for document in documents]

    async def kept_files(self, test_id: str) -> frozenset[str]:
        with_files = {"test_id": test_id, "files.sha256": {"$exists": True}}
        documents = await find(self._versions, with_files, projection={"files.sha256": 1})
        return frozenset(file["sha256"] for document in documents for file in document["files"])


def _with(steps: bool) -> Document:
    """The options of a read with steps, or without."""
    return {"most": MOST_BYTES_WITH_STEPS} if steps else {"projection": {**WITHOUT_STEPS, **WITHOUT_SUFFIXES}}


def _index_of(filter: TestFilter) -> str | None:
    """The index that a list by at most one filter is in the order of."""
    if filter == TestFilter(tag=filter.tag):
        return LIST_OF_TAG if filter.tag else LIST
    return LIST_OF_PLATFORM if filter == TestFilter(filter.platform) else None


def _condition(filter: TestFilter) -> Document:
    condition = search_condition(filter.pattern)
    if filter.platform is not None:
        condition["platform"] = {"$in": [filter.platform.value, None]}
    if filter.tag is not None:
        condition["tags"] = filter.tag
    if filter.ids is not None:
        condition |= id_condition(filter.ids)
    if filter.quarantined_at is not None:
        condition["quarantine.until"] = {"$gt": filter.quarantined_at}
    return condition


def to_document(test: Test) -> Document:
    """The test as stored. Steps are stored as JSON text, because their keys may be anything."""
    return dump(
        test,
        platform=test.platform.value if test.platform else None,
        tags=list(test.tags),
        steps=encode_steps(test.steps),
        live=test.deleted_at is None,
        **search_fields(test.name),
    )


def from_document(document: Document, shared: SharedSteps = NONE_SHARED) -> Test:
    """The test of a stored document; without its steps if they are shared and not given."""
    quarantine = document["quarantine"]
    return load(
        Test,
        document,
        platform=Platform(document["platform"]) if document["platform"] else None,
        tags=tuple(document["tags"]),
        env=document.get("env", {}),
        steps=steps_of(document, shared),
        quarantine=Quarantine(**quarantine) if quarantine else None,
        files=_files(document),
        positions=document.get("positions", ""),
    )


def _version(document: Document, shared: SharedSteps) -> TestVersion:
    steps = steps_of(document, shared)
    return load(TestVersion, document, steps=steps, files=_files(document), positions=document.get("positions", ""))


def _files(document: Document) -> tuple[MediaFile, ...]:
    return tuple(MediaFile(**file) for file in document["files"])


def version_id(test_id: str, number: int) -> str:
    """The id of a version's document."""
    return f"{test_id}/{number}"
