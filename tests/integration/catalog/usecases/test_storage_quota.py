"""Limits on what an organisation stores in the catalog: apps, tests, workflows, builds, bytes of steps."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import Any, TypeAlias
from uuid import uuid4

import pytest

from services.catalog.model.apps import App
from services.catalog.model.attachments import ATTACHED_LIMIT
from services.catalog.model.tests import VERSION_BYTES, TestFilter
from services.catalog.model.values import Counts, Page, Platform
from services.catalog.ports import Transaction
from services.catalog.storage.apps import APPS, COUNTERS
from services.catalog.storage.builds import BUILDS
from services.catalog.storage.deleted_tests import BATCH, DeletedTestSweeper
from services.catalog.storage.migrations import MIGRATIONS
from services.catalog.storage.recount import recount
from services.catalog.storage.tests import TEST_VERSIONS, TESTS
from services.catalog.storage.workflows import WORKFLOWS
from services.catalog.usecases.imports import NewImport
from services.catalog.usecases.tests import NewTest
from services.catalog.usecases.uploads import NewBuild
from services.catalog.usecases.workflows import NewWorkflow
from services.chassis import context
from services.chassis.context import Caller
from services.chassis.errors import PermissionDenied
from services.chassis.ids import derive_ids
from services.chassis.limit_refusals import refusals
from tests.fakes.catalog_samples import chunks, org
from tests.fakes.workspaces import FLOW, zip_files
from tests.integration.catalog.usecases.conftest import Catalog

pytestmark = pytest.mark.asyncio(loop_scope="session")

Create: TypeAlias = Callable[[Catalog], Awaitable[str]]
STEP = "Tap it"
DAY_MINUTES = 24 * 60


async def create_app(catalog: Catalog) -> str:
    return (await catalog.apps.create("Shop", Platform.ANDROID, None)).id


async def create_test(catalog: Catalog, *steps: str) -> str:
    return (await catalog.tests.create(NewTest("T", steps or (STEP,)))).test.id


async def create_workflow(catalog: Catalog) -> str:
    return (await catalog.workflows.create(NewWorkflow("W"))).id


async def create_build(catalog: Catalog) -> str:
    """A build of the organisation's app, which begins to exist for that."""
    apps, _ = await catalog.apps.list(None, None, Page(1, 1))
    app = apps.items[0] if apps.items else await catalog.apps.create("Shop", Platform.ANDROID, None)
    return (await catalog.uploads.refer(NewBuild(app.id, str(uuid4())))).id


KINDS: dict[str, Create] = {
    "apps": create_app,
    "tests": create_test,
    "workflows": create_workflow,
    "builds": create_build,
}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def used(catalog: Catalog, name: str) -> int:
    return int(getattr(await catalog.store.counters.with_reserved(), name))


async def outcomes(calls: list[Awaitable[Any]]) -> tuple[int, int]:
    """How many calls succeed, and how many are refused because of a limit."""
    results = await asyncio.gather(*calls, return_exceptions=True)
    refused = [each for each in results if isinstance(each, PermissionDenied) and each.reason == "LIMIT_REACHED"]
    assert [each for each in results if isinstance(each, BaseException) and each not in refused] == []
    return len(results) - len(refused), len(refused)


class TestCounts:
    async def test_as_many_as_allowed(self, catalog: Catalog, kind: str) -> None:
        """The refusal names the limit and says what to do; what is deleted makes room."""
        create = KINDS[kind]
        await catalog.limit(**{kind: 2})
        first, _ = await create(catalog), await create(catalog)
        before = refusals.labels(kind)._value.get()
        with pytest.raises(PermissionDenied, match=rf"limit {kind} \(2\): delete {kind} that") as refusal:
            await create(catalog)
        assert (refusal.value.reason, refusal.value.metadata) == ("LIMIT_REACHED", {"limit": kind, "value": "2"})
        assert refusals.labels(kind)._value.get() == before + 1
        assert await used(catalog, kind) == 2
        await getattr(catalog, kind).delete(first)
        await create(catalog)
        assert await used(catalog, kind) == 2

    async def test_those_created_at_the_same_time_in_two_processes_do_not_exceed_a_limit(
        self, catalog: Catalog, kind: str
    ) -> None:
        create = KINDS[kind]
        await create(catalog)
        await catalog.limit(**{kind: 5})
        processes = [catalog, Catalog(catalog.mongo, catalog.spool_folder)]
        assert await outcomes([create(processes[number % 2]) for number in range(20)]) == (4, 16)
        assert await used(catalog, kind) == 5
        assert await recount(catalog.mongo) == Counts()

    async def test_many_at_once_are_all_created(self, catalog: Catalog) -> None:
        """All of them write the counters of the organisation, and conflicts are tried again for a limited time."""
        assert await outcomes([create_app(catalog) for _ in range(300)]) == (300, 0)

    async def test_others_have_limits_of_their_own(self, catalog: Catalog, kind: str) -> None:
        create = KINDS[kind]
        await catalog.limit(**{kind: 1})
        await create(catalog)
        with context.bind(Caller(f"{org()}-other")):
            await create(catalog)
            await create(catalog)

    async def test_a_repeated_request_finds_what_it_created(self, catalog: Catalog) -> None:
        await catalog.limit(apps=1, tests=1, workflows=1)
        for create in (create_app, create_test, create_workflow):
            ids = []
            for _ in range(2):
                with (
                    context.bind(replace(context.current(), idempotency_key="k")),
                    derive_ids(org(), create.__name__, "k"),
                ):
                    ids.append(await create(catalog))
            assert ids[0] == ids[1]

    async def test_a_deleted_app_gives_its_builds_back(self, catalog: Catalog) -> None:
        await catalog.limit(builds=2)
        await create_build(catalog)
        await create_build(catalog)
        apps, _ = await catalog.apps.list(None, None, Page(1, 1))
        await catalog.apps.delete(apps.items[0].id)
        await create_build(catalog)
        assert await recount(catalog.mongo) == Counts()

    async def test_an_upload_beyond_the_limit_is_refused_before_its_bytes_are_read(self, catalog: Catalog) -> None:
        await catalog.limit(builds=0)
        app = await catalog.apps.create("Shop", Platform.ANDROID, None)

        async def unread() -> AsyncIterator[bytes]:
            pytest.fail("the bytes were read")
            yield b""

        with pytest.raises(PermissionDenied, match=r"builds \(0\)"):
            await catalog.upload(NewBuild(app.id, "1", expected_bytes=5), unread())


class TestBytesOfTests:
    async def test_each_version_counts(self, catalog: Catalog) -> None:
        """Equal steps once; other changes make no version."""
        full = 3 * VERSION_BYTES + 2 * len(f'["{STEP}"]')
        await catalog.limit(test_bytes=full)
        test_id = await create_test(catalog)
        await catalog.tests.update(test_id, {"name": "Another", "tags": ("a",)})
        await catalog.tests.update(test_id, {"steps": (STEP.upper(),)})
        await catalog.tests.update(test_id, {"steps": (STEP,)})
        for call in (catalog.tests.update(test_id, {"steps": ("Tap",)}), create_test(catalog)):
            with pytest.raises(PermissionDenied, match=rf"test_bytes \({full}\): delete tests .* a day later"):
                await call
        test = (await catalog.tests.get(test_id)).test
        assert (test.version_number, test.steps) == (3, (STEP,))
        assert await used(catalog, "test_bytes") == full
        assert await recount(catalog.mongo) == Counts()

    async def test_edits_at_the_same_time_do_not_exceed_the_limit(self, catalog: Catalog) -> None:
        tests = [await create_test(catalog) for _ in range(8)]
        size = VERSION_BYTES + len('["Tap 0"]')
        await catalog.limit(test_bytes=await used(catalog, "test_bytes") + 3 * size)
        edits = [catalog.tests.update(id, {"steps": (f"Tap {n}",)}) for n, id in enumerate(tests)]
        assert await outcomes(edits) == (3, 5)


def flows(number: int, text: str = FLOW) -> bytes:
    return zip_files({f"{n:02}.yaml": f"{text}- tapOn: '{n:02}'\n" for n in range(number)})


async def send(catalog: Catalog, content: bytes, workspace: str = "w", app_id: str | None = None) -> None:
    await catalog.imports.run(NewImport(workspace, app_id), catalog.arriving(chunks(content)))


async def paths(catalog: Catalog) -> list[tuple[str | None, str | None]]:
    tests = await catalog.store.tests.page(TestFilter(), Page(1, 100), with_steps=False)
    return sorted((test.workspace, test.source_path) for test in tests)


class TestImports:
    """Of more flows than one transaction takes."""

    @pytest.mark.parametrize("limit", ["tests", "test_bytes"])
    async def test_an_import_beyond_a_limit_changes_nothing(self, catalog: Catalog, limit: str) -> None:
        await send(catalog, flows(20))
        before, counted = await paths(catalog), await catalog.store.counters.get()
        most = {"tests": 30, "test_bytes": counted.test_bytes + 11 * VERSION_BYTES}
        await catalog.limit(**{limit: most[limit]})
        with pytest.raises(PermissionDenied, match=rf"limit {limit} \({most[limit]}\): delete tests"):
            await send(catalog, flows(50))
        assert await paths(catalog) == before
        assert await catalog.store.counters.with_reserved() == counted

    async def test_an_import_that_just_fits(self, catalog: Catalog) -> None:
        """Flows that are there already take no room, and their next version only its bytes."""
        await send(catalog, flows(20))
        counted = await catalog.store.counters.get()
        await catalog.limit(tests=22, test_bytes=counted.test_bytes * 22 // 20)
        await send(catalog, flows(22))
        await send(catalog, flows(22))
        with pytest.raises(PermissionDenied, match=r"limit test_bytes"):
            await send(catalog, flows(22, f"{FLOW}- back\n"))
        assert len(await paths(catalog)) == 22
        assert await recount(catalog.mongo) == Counts()

    async def test_of_two_imports_at_the_same_time_only_one_fits(self, catalog: Catalog) -> None:
        await catalog.limit(tests=50)
        other = Catalog(catalog.mongo, catalog.spool_folder)
        assert await outcomes([send(catalog, flows(40), "a"), send(other, flows(40), "b")]) == (1, 1)
        imported = await paths(catalog)
        assert (len(imported), len({workspace for workspace, _ in imported})) == (40, 1)
        assert await catalog.store.counters.with_reserved() == await catalog.store.counters.get()

    async def test_an_import_that_fails_frees_what_it_reserved(self, catalog: Catalog) -> None:
        await catalog.limit(artifact_bytes=1)
        files = {"a.yaml": f"{FLOW}- addMedia: [a.png]\n", "a.png": b"\x89PNG\r\n\x1a\n picture"}
        with pytest.raises(PermissionDenied, match="artifact_bytes"):
            await send(catalog, zip_files(files))
        assert await catalog.store.counters.with_reserved() == Counts()

    async def test_an_import_of_more_tests_than_an_app_may_have_changes_nothing(self, catalog: Catalog) -> None:
        app = await catalog.apps.create("Shop", Platform.ANDROID, None)
        await send(catalog, flows(2), "before", app.id)
        await fill(catalog, app, ATTACHED_LIMIT - 30)
        with pytest.raises(PermissionDenied, match=r"attached_tests \(10000\): detach tests"):
            await send(catalog, flows(33), "before", app.id)
        assert len(await paths(catalog)) == 2
        await send(catalog, flows(32), "before", app.id)
        await send(catalog, flows(32), "before", app.id)
        assert (await catalog.apps.get(app.id)).attached_tests == ATTACHED_LIMIT


async def fill(catalog: Catalog, app: App, attached: int) -> None:
    async def work(change: Transaction) -> None:
        await change.apps.replace(replace(app, attached_tests=attached))

    await catalog.store.change(work, of=app.id)


async def test_what_is_deleted_takes_little_room(catalog: Catalog) -> None:
    """It counts no more: what is created and deleted again and again would fill the database."""
    text, env, config = "x" * 5000, {"A": "x" * 5000}, {"env": {"A": "x" * 5000}}
    app = await catalog.apps.create("Shop", Platform.ANDROID, text)
    await catalog.apps.update(app.id, {"system_prompt": text, "static_url": f"https://example.com/{'x' * 3000}"})
    url, metadata = f"https://example.com/{'x' * 3000}", {"a": text}
    builds = [await catalog.uploads.refer(NewBuild(app.id, v, metadata, artifact_url=url)) for v in ("1", "2")]
    test = (await catalog.tests.create(NewTest("T", (STEP,), text, env=env))).test
    workflow = await catalog.workflows.create(NewWorkflow("W", text, (test.id,), env=env, run_config=config))
    await catalog.workflows.delete(workflow.id)
    await catalog.tests.delete(test.id)
    await catalog.builds.delete(builds[0].id)
    await catalog.apps.delete(app.id)
    for name in (APPS, BUILDS, TESTS, WORKFLOWS):
        size = {"$project": {"bytes": {"$bsonSize": "$$ROOT"}, "live": 1}}
        rows = await catalog.mongo.aggregate(name, [{"$match": {"org_id": org()}}, size])
        assert [row for row in rows if row["live"] or row["bytes"] > 1000] == []


async def versions(catalog: Catalog, test_id: str) -> int:
    return int(await catalog.mongo.collection(TEST_VERSIONS).count_documents({"test_id": test_id}))


class TestDeletedTests:
    async def test_a_day_after_the_deletion_the_steps_are_removed(self, catalog: Catalog) -> None:
        """So that a full quota is emptied by deleting tests; name and dates stay."""
        sweeper = DeletedTestSweeper(catalog.mongo, catalog.clock)
        gone, kept = await create_test(catalog), await create_test(catalog)
        for number in range(3):
            await catalog.tests.update(gone, {"steps": (f"Tap {number}",)})
        full = await used(catalog, "test_bytes")
        await catalog.limit(test_bytes=full)
        await catalog.tests.delete(gone)
        catalog.clock.minutes += DAY_MINUTES
        await sweeper.sweep()
        with pytest.raises(PermissionDenied):
            await create_test(catalog)
        assert await versions(catalog, gone) == 4
        catalog.clock.minutes += 1
        await sweeper.sweep()
        assert (await versions(catalog, gone), await versions(catalog, kept)) == (0, 1)
        assert await used(catalog, "test_bytes") == VERSION_BYTES + len(f'["{STEP}"]')
        [left] = await catalog.store.tests.with_deleted([gone])
        assert (left.name, left.steps, left.deleted_at is not None) == ("T", (), True)
        assert (await catalog.tests.get(kept)).test.steps == (STEP,)
        assert await recount(catalog.mongo) == Counts()
        await create_test(catalog)

    async def test_sweepers_of_several_processes_count_a_version_once(self, catalog: Catalog) -> None:
        test_id = await create_test(catalog)
        for number in range(BATCH + 1):
            await catalog.tests.update(test_id, {"steps": (f"Tap {number}",)})
        await catalog.tests.delete(test_id)
        catalog.clock.minutes += DAY_MINUTES + 1
        sweepers = [DeletedTestSweeper(catalog.mongo, catalog.clock) for _ in range(3)]
        await asyncio.gather(*(sweeper.sweep() for sweeper in sweepers))
        assert (await versions(catalog, test_id), await used(catalog, "test_bytes")) == (0, 0)

    async def test_a_test_is_swept_once(self, catalog: Catalog) -> None:
        test_id = await create_test(catalog)
        await catalog.tests.delete(test_id)
        catalog.clock.minutes += DAY_MINUTES + 1
        sweeper = DeletedTestSweeper(catalog.mongo, catalog.clock)
        await sweeper.sweep()
        swept = await catalog.mongo.collection(TESTS).find_one({"_id": test_id})
        catalog.clock.minutes += DAY_MINUTES
        await sweeper.sweep()
        assert await catalog.mongo.collection(TESTS).find_one({"_id": test_id}) == swept


async def test_the_migration_counts_what_is_stored(catalog: Catalog) -> None:
    """Older versions count neither builds nor versions; a second time there is nothing to correct."""
    for create in (create_app, create_test, create_workflow, create_build):
        await create(catalog)
    counted = await catalog.store.counters.with_reserved()
    await catalog.mongo.collection(TEST_VERSIONS).update_many({"org_id": org()}, {"$unset": {"bytes": 1}})
    await catalog.mongo.collection(COUNTERS).update_many({"org_id": org()}, {"$unset": {"builds": 1, "test_bytes": 1}})
    await catalog.limit()
    [counting] = [migration for migration in MIGRATIONS if migration.id == "0004_storage_counts"]
    for _ in range(2):
        await counting.apply(catalog.mongo)
    assert await catalog.store.counters.with_reserved() == counted
    assert await recount(catalog.mongo) == Counts()
