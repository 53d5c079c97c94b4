"""Workflows as documents."""

from collections.abc import Sequence

from services.catalog.model.values import Page
from services.catalog.model.workflows import AppChoice, BuildConfig, Workflow
from services.catalog.storage.documents import LIST, NEWEST_FIRST, MongoLiveEntities, dump, load, name_condition
from services.chassis.mongo import Document
from services.chassis.org_collection import OrgCollection
from services.chassis.text_search import fold_case

WORKFLOWS = "workflows"


class MongoWorkflows(MongoLiveEntities[Workflow]):
    """The live workflows."""

    def __init__(self, rows: OrgCollection) -> None:
        super().__init__(rows, _to_document, _from_document)

    async def page(self, pattern: str | None, page: Page) -> Sequence[Workflow]:
        return await self._find(name_condition(pattern), NEWEST_FIRST, page, index=LIST)

    async def count(self, pattern: str | None) -> int:
        return await self._count(name_condition(pattern))

    async def with_test(self, test_id: str) -> Sequence[Workflow]:
        return await self._find({"test_ids": test_id})

    async def with_version(self, app_id: str, version: str) -> Sequence[Workflow]:
        builds = ("build_config.ios_build", "build_config.android_build")
        either = [{f"{build}.app_id": app_id, f"{build}.pinned_version": version} for build in builds]
        return await self._find({"$or": either})


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
