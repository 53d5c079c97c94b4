"""Making, changing and deleting workflows, and planning what they start."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any, cast
from uuid import uuid4

import pytest
import pytest_asyncio

from services.catalog.model.apps import App
from services.catalog.model.resolution import Shard
from services.catalog.model.tests import PLAN_BYTES
from services.catalog.model.values import Counts, Page, Platform
from services.catalog.model.workflows import NO_BUILD_CONFIG, AppChoice, BuildConfig
from services.catalog.ports import Store
from services.catalog.usecases.resolution import ResolutionUseCases, Resolved, WorkflowStart
from services.catalog.usecases.tests import NewTest
from services.catalog.usecases.uploads import NewBuild
from services.catalog.usecases.workflows import NewWorkflow
from services.chassis import context
from services.chassis.context import Caller
from services.chassis.errors import InvalidArgument, NotFound
from tests.integration.catalog.usecases.conftest import Catalog, refused_fields

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest_asyncio.fixture(loop_scope="session")
async def app(catalog: Catalog) -> App:
    """An Android app with two builds, 1 and 2."""
    app = await catalog.apps.create("Shop", Platform.ANDROID, None)
    for minute, version in enumerate(("1", "2")):
        catalog.clock.minutes = minute
        await catalog.uploads.refer(NewBuild(app.id, version, artifact_url="https://x.test"))
    return await catalog.apps.get(app.id)


async def written(catalog: Catalog, name: str, *tags: str, app: App | None = None) -> str:
    """The id of a new test, attached to the app."""
    test_id = (await catalog.tests.create(NewTest(name, ("Tap x",), tags=tags))).test.id
    if app is not None:
        await catalog.attachments.attach(app.id, test_id, None)
    return test_id


async def test_a_new_workflow_is_kept_and_counted(catalog: Catalog, app: App) -> None:
    b, a = await written(catalog, "b"), await written(catalog, "a")
    config = BuildConfig(None, AppChoice(app.id, "9"))
    new = NewWorkflow(" Nightly ", "d", (b, a), ("smoke",), config, {"run_id": "x"}, 3)
    workflow = await catalog.workflows.create(new)
    assert (workflow.name, workflow.test_ids, workflow.build_config) == ("Nightly", (b, a), config)
    assert await catalog.workflows.get(workflow.id) == workflow
    assert (await catalog.store.counters.get()).workflows == 1


async def test_every_unknown_test_is_named(catalog: Catalog) -> None:
    known = await written(catalog, "known")
    with context.bind(Caller(str(uuid4()))):
        foreign = await written(catalog, "foreign")
    new = NewWorkflow("w", test_ids=(known, foreign, str(uuid4())))
    assert await refused_fields(catalog.workflows.create(new)) == ["test_ids[1]", "test_ids[2]"]
    workflow = await catalog.workflows.create(NewWorkflow("w"))
    assert await refused_fields(catalog.workflows.update(workflow.id, {"test_ids": (foreign,)})) == ["test_ids[0]"]


async def test_the_apps_of_a_build_config_must_exist_and_fit(catalog: Catalog, app: App) -> None:
    """Their versions may be yet to come."""
    for choice in (AppChoice(str(uuid4())), AppChoice(app.id)):
        new = NewWorkflow("w", build_config=BuildConfig(choice, None))
        assert await refused_fields(catalog.workflows.create(new)) == ["build_config.ios_build.app_id"]


async def test_changes_of_a_workflow(catalog: Catalog, app: App) -> None:
    config = BuildConfig(None, AppChoice(app.id))
    new = NewWorkflow("w", "d", (await written(catalog, "t"),), ("x",), config, {"run_id": "x"}, 3)
    workflow = await catalog.workflows.create(new)
    writes = catalog.store.changes
    assert await catalog.workflows.update(workflow.id, {"name": "w", "tags": ["x"]}) == workflow
    cleared = dict.fromkeys(("description", "test_ids", "tags", "build_config", "run_config", "max_parallel"))
    now = await catalog.workflows.update(workflow.id, cleared)
    assert (now.description, now.test_ids, now.tags, now.run_config, now.max_parallel) == (None, (), (), None, None)
    assert (now.build_config, now.revision) == (NO_BUILD_CONFIG, 2)
    assert catalog.store.changes == writes + 2
    with pytest.raises(InvalidArgument):
        await catalog.workflows.update(workflow.id, {"name": None})


async def test_a_deleted_workflow_is_not_found(catalog: Catalog) -> None:
    workflow = await catalog.workflows.create(NewWorkflow("w"))
    await catalog.workflows.delete(workflow.id)
    assert await catalog.store.counters.get() == Counts()
    for call in (
        catalog.workflows.get(workflow.id),
        catalog.workflows.update(workflow.id, {}),
        catalog.workflows.delete(workflow.id),
        catalog.resolution.of_workflow(WorkflowStart(workflow.id)),
    ):
        with pytest.raises(NotFound, match=r"^Workflow not found$"):
            await call


async def test_workflows_are_listed_newest_first(catalog: Catalog) -> None:
    for minute, name in enumerate(("Night", "Day", "Nightly")):
        catalog.clock.minutes = minute
        await catalog.workflows.create(NewWorkflow(name))
    everything = await catalog.workflows.list(None, Page(1, 2))
    assert ([w.name for w in everything.items], everything.total) == (["Nightly", "Day"], 3)
    page = await catalog.workflows.list("night", Page(1, 50))
    assert ([w.name for w in page.items], page.total) == (["Nightly", "Night"], 2)
    assert (await catalog.workflows.list("\x00", Page(1, 50))).total == 0


async def test_a_plan_holds_the_listed_tests_then_the_tagged(catalog: Catalog, app: App) -> None:
    """Each once, the tagged by name, on the newest build."""
    b = await written(catalog, "b", "smoke", app=app)
    for name in ("d", "C"):
        await written(catalog, name, "smoke", app=app)
    workflow = await catalog.workflows.create(NewWorkflow("w", test_ids=(b,), tags=("smoke",)))
    resolved = await catalog.resolution.of_workflow(WorkflowStart(workflow.id))
    assert resolved.workflow == workflow
    assert [run.test.name for run in resolved.runs] == ["b", "C", "d"]
    assert {run.build.version for run in resolved.runs if run.build} == {"2"}


async def test_the_tests_of_a_workflow_are_listed_as_they_start(catalog: Catalog) -> None:
    """A test that was deleted is out of the workflow."""
    b, gone = await written(catalog, "b", "smoke"), await written(catalog, "gone")
    for name in ("d", "C"):
        await written(catalog, name, "smoke")
    workflow = await catalog.workflows.create(NewWorkflow("w", test_ids=(b, gone), tags=("smoke", "none")))
    await catalog.tests.delete(gone)
    listed = (await catalog.workflows.tests(workflow.id, Page(1, 2)))[1]
    assert ([test.name for test in listed.items], listed.total) == (["b", "C"], 3)
    assert [test.name for test in (await catalog.workflows.tests(workflow.id, Page(2, 2)))[1].items] == ["d"]
    with pytest.raises(NotFound):
        await catalog.workflows.tests(str(uuid4()), Page(1, 2))


async def test_a_plan_gathers_what_the_rules_ask_for(catalog: Catalog, app: App) -> None:
    """The request's version, the pin, the workflow's, the app's current."""
    test = await written(catalog, "t", app=app)
    stored = BuildConfig(None, AppChoice(app.id, "1"))
    workflow = await catalog.workflows.create(NewWorkflow("w", test_ids=(test,), build_config=stored))
    asked = BuildConfig(None, AppChoice(app.id, "2"))

    async def version(requested: BuildConfig, *, override: bool = False) -> str | None:
        [run] = (await catalog.resolution.of_workflow(WorkflowStart(workflow.id, requested, override))).runs
        return run.build.version if run.build else run.config_error

    assert await version(NO_BUILD_CONFIG) == "1"
    assert await version(asked) == "2"
    await catalog.attachments.attach(app.id, test, "1")
    assert await version(asked) == "1"
    assert await version(asked, override=True) == "2"
    await catalog.apps.update(app.id, {"current_version": "1"})
    [run] = (await catalog.resolution.of_test(test, BuildConfig(None, AppChoice(app.id)), override=True)).runs
    assert run.build is not None
    assert run.build.version == "1"


async def test_plans_that_are_made_together_are_those_made_alone(catalog: Catalog, app: App) -> None:
    a, b = await written(catalog, "a", "smoke", app=app), await written(catalog, "b", "nightly", app=app)
    other = await catalog.apps.create("Other", Platform.ANDROID, None)
    await catalog.uploads.refer(NewBuild(other.id, "9", artifact_url="https://x.test"))
    await catalog.attachments.attach(other.id, b, "9")
    made = [
        await catalog.workflows.create(new)
        for new in (
            NewWorkflow("listed", test_ids=(b, a)),
            NewWorkflow("tagged", tags=("smoke",)),
            NewWorkflow("both", test_ids=(a,), tags=("nightly", "smoke")),
            NewWorkflow("none", tags=("nothing has it",)),
            NewWorkflow("stored", test_ids=(a,), build_config=BuildConfig(None, AppChoice(other.id))),
        )
    ]
    first = made[0].id
    starts = [WorkflowStart(workflow.id) for workflow in made]
    starts += [WorkflowStart(first, BuildConfig(None, AppChoice(app.id, version))) for version in ("1", "7")]
    starts += [WorkflowStart(first, shard=Shard(index, 2)) for index in (1, 2)] + [WorkflowStart(str(uuid4()))]

    async def alone(start: WorkflowStart) -> Resolved | None:
        with suppress(InvalidArgument, NotFound):
            return await catalog.resolution.of_workflow(start)
        return None

    together = await catalog.resolution.of_workflows(starts, most_bytes=PLAN_BYTES)
    assert together == [await alone(start) for start in starts]
    assert [None if plan is None else [run.test.name for run in plan.runs] for plan in together[:7]] == [
        ["b", "a"],
        ["a"],
        ["a", "b"],
        None,
        ["a"],
        ["b", "a"],
        None,
    ]


class LookupBarrier:
    """A store whose named lookups wait for each other: they return only when all of them have begun."""

    def __init__(self, store: Any, lookups: Sequence[str], complete: asyncio.Event, begun: set[str]) -> None:
        self._store, self._lookups, self._complete, self._begun = store, lookups, complete, begun

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._store, name)
        if name in ("tests", "attachments"):
            return LookupBarrier(attribute, self._lookups, self._complete, self._begun)
        return partial(self._hold, name, attribute) if name in self._lookups else attribute

    async def _hold(self, name: str, lookup: Any, *args: Any, **options: Any) -> Any:
        self._begun.add(name)
        if len(self._begun) == len(self._lookups):
            self._complete.set()
        await self._complete.wait()
        return await lookup(*args, **options)


def held(catalog: Catalog, *lookups: str) -> ResolutionUseCases:
    return ResolutionUseCases(cast(Store, LookupBarrier(catalog.store, lookups, asyncio.Event(), set())))


async def test_planning_a_workflow_reads_its_tests_and_attachments_concurrently(catalog: Catalog, app: App) -> None:
    """One round trip for the listed tests, the tagged ones, and the attachments of the listed ones."""
    listed, tagged = await written(catalog, "a", app=app), await written(catalog, "b", "smoke", app=app)
    workflow = await catalog.workflows.create(NewWorkflow("w", test_ids=(listed,), tags=("smoke",)))
    resolved = await held(catalog, "with_deleted", "tagged", "of_tests").of_workflow(WorkflowStart(workflow.id))
    assert [(run.test.id, run.app and run.app.id) for run in resolved.runs] == [(listed, app.id), (tagged, app.id)]


async def test_planning_a_test_reads_it_and_its_attachments_concurrently(catalog: Catalog, app: App) -> None:
    test = await written(catalog, "t", app=app)
    [run] = (await held(catalog, "get", "of_tests").of_test(test, NO_BUILD_CONFIG, override=False)).runs
    assert (run.app and run.app.id, run.build and run.build.version) == (app.id, "2")


async def test_a_request_for_what_is_unknown_is_refused(catalog: Catalog, app: App) -> None:
    test = await written(catalog, "t", app=app)
    for choice, field in ((AppChoice(str(uuid4())), "app_id"), (AppChoice(app.id, "9"), "pinned_version")):
        planned = catalog.resolution.of_test(test, BuildConfig(None, choice), override=False)
        assert await refused_fields(planned) == [f"build_config.android_build.{field}"]


async def test_a_workflow_without_tests_cannot_start(catalog: Catalog) -> None:
    workflow = await catalog.workflows.create(NewWorkflow("w", tags=("nothing has it",)))
    with pytest.raises(InvalidArgument, match="selects no tests"):
        await catalog.resolution.of_workflow(WorkflowStart(workflow.id))


async def test_an_unknown_test_cannot_start(catalog: Catalog) -> None:
    with pytest.raises(NotFound, match=r"^Test not found$"):
        await catalog.resolution.of_test(str(uuid4()), NO_BUILD_CONFIG, override=False)
