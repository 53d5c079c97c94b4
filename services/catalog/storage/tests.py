"""Tests and the versions of their steps as documents."""

import asyncio
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from services.catalog.model.tests import PLAN_BYTES, Quarantine, Step, Test, TestFilter, TestVersion, version_bytes
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
    OrgRows,
    dump,
    id_condition,
    load,
    search_condition,
    search_fields,
)
from services.chassis.mongo import Document
from services.flows.workspace_media import MediaFile

TESTS = "tests"
TEST_VERSIONS = "test_versions"

NO_STEPS = "[]"
WITHOUT_STEPS: Document = {"steps": 0, "positions": 0}
MOST_BYTES_WITH_STEPS = 2 * 1024**2
"""Of tests in one message: each mebibyte of steps costs a third of a second of CPU."""
_BY_NAME = [("name_folded", 1), ("_id", 1)]
_BY_SOURCE = [("workspace", 1), ("source_path", 1)]


class MongoTests(MongoLiveEntities[Test]):
    """The live tests, and the versions of their steps."""

    def __init__(self, rows: OrgRows, versions: OrgRows) -> None:
        super().__init__(rows, to_document, from_document)
        self._versions = versions

    async def with_deleted(self, test_ids: Collection[str], *, most_bytes: int = PLAN_BYTES) -> Sequence[Test]:
        if not test_ids:
            return ()
        return await self._planned(id_condition(test_ids), most_bytes)

    async def existing(self, test_ids: Collection[str]) -> Collection[str]:
        found = await self._rows.find({**id_condition(test_ids), **IS_LIVE}, projection={"_id": 1})
        return {document["_id"] for document in found}

    async def quarantines(self, test_ids: Collection[str]) -> Mapping[str, Quarantine]:
        condition = {**id_condition(test_ids), **IS_LIVE, "quarantine": {"$ne": None}}
        documents = await self._rows.find(condition, projection={"quarantine": 1})
        return {document["_id"]: Quarantine(**document["quarantine"]) for document in documents}

    async def tagged(self, tags: Collection[str], *, most_bytes: int = PLAN_BYTES) -> Sequence[Test]:
        if not tags:
            return ()
        return await self._planned({"tags": {"$in": list(tags)}, **IS_LIVE}, most_bytes, _BY_NAME)

    async def _planned(self, condition: Document, most_bytes: int, sort: Any = None) -> Sequence[Test]:
        """Tests with all their steps, which take long to decode: other requests have their turns in between."""
        tests = []
        for document in await self._rows.find(condition, sort, most=most_bytes):
            tests.append(from_document(document))
            await asyncio.sleep(0)
        return tests

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
        found = await self._rows.find({**condition, **IS_LIVE}, projection={"files.sha256": 1})
        return {file["sha256"] for document in found for file in document["files"]}.intersection(sha256s)

    async def at_paths(self, workspace: str, paths: Collection[str]) -> Sequence[Test]:
        condition = {"workspace": workspace, "source_path": {"$type": "string", "$in": list(paths)}}
        return await self._find(condition, most=PLAN_BYTES)

    async def add_version(self, version: TestVersion) -> int:
        id, steps = f"{version.test_id}/{version.version_number}", _encode_steps(version.steps)
        size = version_bytes(steps, version.positions, version.files)
        await self._versions.put(asdict(version) | {"_id": id, "steps": steps, "bytes": size})
        return size

    async def move_steps(self, test: Test) -> None:
        moved = {"$set": {"positions": test.positions}}
        await self._rows.update({"_id": test.id, **IS_LIVE}, moved)
        await self._versions.update({"_id": f"{test.id}/{test.version_number}"}, moved)

    async def versions(self, test_id: str, page: Page, *, with_steps: bool) -> Sequence[TestVersion]:
        condition, newest_first = {"test_id": test_id}, [("version_number", -1)]
        documents = await self._versions.find(condition, newest_first, page, **_with(with_steps))
        return [_version(document) for document in documents]

    async def of_versions(self, numbers: Mapping[str, int], *, most_bytes: int = PLAN_BYTES) -> Sequence[TestVersion]:
        if not numbers:
            return ()
        ids = [f"{test_id}/{number}" for test_id, number in numbers.items()]
        documents = await self._versions.find(id_condition(ids), most=most_bytes)
        return [_version(document) for document in documents]

    async def kept_files(self, test_id: str) -> frozenset[str]:
        with_files = {"test_id": test_id, "files.sha256": {"$exists": True}}
        documents = await self._versions.find(with_files, projection={"files.sha256": 1})
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
        steps=_encode_steps(test.steps),
        live=test.deleted_at is None,
        **search_fields(test.name),
    )


def from_document(document: Document) -> Test:
    """The test of a stored document."""
    quarantine = document["quarantine"]
    return load(
        Test,
        document,
        platform=Platform(document["platform"]) if document["platform"] else None,
        tags=tuple(document["tags"]),
        env=document.get("env", {}),
        steps=_decode_steps(document.get("steps", NO_STEPS)),
        quarantine=Quarantine(**quarantine) if quarantine else None,
        files=_files(document),
        positions=document.get("positions", ""),
    )


def _version(document: Document) -> TestVersion:
    steps = _decode_steps(document.get("steps", NO_STEPS))
    return load(TestVersion, document, steps=steps, files=_files(document), positions=document.get("positions", ""))


def _files(document: Document) -> tuple[MediaFile, ...]:
    return tuple(MediaFile(**file) for file in document["files"])


def _encode_steps(steps: tuple[Step, ...]) -> str:
    return json.dumps(steps, ensure_ascii=False)


def _decode_steps(text: str) -> tuple[Step, ...]:
    return tuple(json.loads(text))
