"""Workflows as documents."""

from collections.abc import Sequence

from services.catalog.model.text import fold_case
from services.catalog.model.values import Page
from services.catalog.model.workflows import AppChoice, BuildConfig, Workflow
from services.catalog.storage.documents import dump, load
from services.catalog.storage.tenant_rows import IS_LIVE, NEWEST_FIRST, TenantRows, name_condition
from services.chassis.mongo import Document

WORKFLOWS = "workflows"


class MongoWorkflows:
    """The live workflows."""

    def __init__(self, rows: TenantRows) -> None:
        self._rows = rows

    async def get(self, workflow_id: str) -> Workflow | None:
        document = await self._rows.one({"_id": workflow_id, **IS_LIVE})
        return _from_document(document) if document else None

    async def page(self, pattern: str | None, page: Page) -> Sequence[Workflow]:
        documents = await self._rows.page({**IS_LIVE, **name_condition(pattern)}, NEWEST_FIRST, page)
        return [_from_document(document) for document in documents]

    async def count(self, pattern: str | None) -> int:
        return await self._rows.count({**IS_LIVE, **name_condition(pattern)})

    async def add(self, workflow: Workflow) -> None:
        await self._rows.add(_to_document(workflow))

    async def replace(self, workflow: Workflow) -> None:
        await self._rows.put(_to_document(workflow))

    async def with_test(self, test_id: str) -> Sequence[Workflow]:
        return [_from_document(document) for document in await self._rows.every({"test_ids": test_id, **IS_LIVE})]

    async def with_version(self, app_id: str, version: str) -> Sequence[Workflow]:
        builds = ("build_config.ios_build", "build_config.android_build")
        either = [{f"{build}.app_id": app_id, f"{build}.pinned_version": version} for build in builds]
        return [_from_document(document) for document in await self._rows.every({"$or": either, **IS_LIVE})]


def _to_document(workflow: Workflow) -> Document:
    tests, tags = list(workflow.test_ids), list(workflow.tags)
    live = workflow.deleted_at is None
    return dump(workflow, test_ids=tests, tags=tags, name_folded=fold_case(workflow.name), live=live)


def _from_document(document: Document) -> Workflow:
    return load(
        Workflow,
        document,
        test_ids=tuple(document["test_ids"]),
        tags=tuple(document["tags"]),
        build_config=_build_config(document["build_config"]),
    )


def _build_config(document: Document) -> BuildConfig:
    return BuildConfig(_choice(document["ios_build"]), _choice(document["android_build"]))


def _choice(document: Document | None) -> AppChoice | None:
    return AppChoice(document["app_id"], document["pinned_version"]) if document else None
