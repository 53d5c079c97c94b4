"""The port Workflows."""

import pytest

from services.catalog.model.values import Page
from services.catalog.model.workflows import AppChoice, BuildConfig
from services.catalog.storage.store import MongoStore
from tests.contract.catalog.conftest import foreign
from tests.fakes.catalog_samples import at, workflow

pytestmark = pytest.mark.asyncio(loop_scope="session")

CONFIG = BuildConfig(AppChoice("ios", "1.0"), AppChoice("android"))


async def test_a_workflow_is_kept_as_it_is(store: MongoStore) -> None:
    full = workflow(
        description="d",
        test_ids=("b", "a"),
        tags=("x",),
        build_config=CONFIG,
        run_config={"execution_mode": {"retries": 2}, "cache_retry_mode": "CACHE_RETRY_MODE_NONE"},
        max_parallel=3,
        revision=2,
    )
    await store.workflows.add(full)
    assert await store.workflows.get("workflow") == full
    await store.workflows.replace(workflow(deleted_at=at(1)))
    assert await store.workflows.get("workflow") is None


async def test_workflows_are_found_by_what_they_name(store: MongoStore) -> None:
    """A test, or a version of an app, both on the same platform."""
    await store.workflows.add(workflow("a", test_ids=("t1", "t2"), build_config=CONFIG))
    await store.workflows.add(workflow("b", test_ids=("t2",), build_config=BuildConfig(None, AppChoice("ios", "1.0"))))
    await store.workflows.add(workflow("c", build_config=BuildConfig(AppChoice("ios", "2"), AppChoice("x", "1.0"))))
    assert {w.id for w in await store.workflows.with_test("t2")} == {"a", "b"}
    assert {w.id for w in await store.workflows.with_version("ios", "1.0")} == {"a", "b"}


async def test_foreign_workflows_do_not_exist(store: MongoStore) -> None:
    await store.workflows.add(workflow(test_ids=("t",), build_config=CONFIG))
    with foreign():
        assert await store.workflows.get("workflow") is None
        assert await store.workflows.page(None, Page(1, 10)) == []
        assert await store.workflows.with_test("t") == []
        assert await store.workflows.with_version("ios", "1.0") == []
