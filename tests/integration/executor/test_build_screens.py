"""The screens of an app over its runs, and what changed on them between two builds."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import grpc
import pytest
from mobiletest.executor.v1 import screens_pb2 as pb
from mobiletest.executor.v1 import screens_pb2_grpc

from mobiletest_automation.screen.elements import Element
from mobiletest_automation.screen.stored_trees import ELEMENTS_LIMIT, encode_tree
from services.chassis.context import Caller, bind, current
from services.chassis.errors import ResourceExhausted
from services.chassis.grpc_server import open_channel
from services.chassis.mongo import Mongo
from services.executor.model.build_screens import SeenRuns, SeenStep
from services.executor.model.runs import Run
from services.executor.ports.executions import ScreensFilter
from services.executor.screen_pool import LIMITS, ScreenPool, ScreensJob
from services.executor.storage.schema import SCREENS
from services.executor.usecases.build_screens import ANSWERS_BYTES, LEAST_ANSWER_BYTES, AppScreenUseCases
from tests.fakes.screens import FakeScreens
from tests.integration.executor.catalog_server import TOKEN, Shelf
from tests.integration.executor.conftest import Client
from tests.integration.executor.models import GOOD, SEE, model

RUNS = 3
# Finds the button whatever it is called.
TAP = {"tapOn": {"id": "go"}}
# The button has another name, and the second screen another title.
CHANGED = model().replace(b"text: Go,", b"text: Go now,").replace(b"title: Second", b"title: Done at last")


@dataclass
class Scene:
    shelf: Shelf
    client: Client
    stub: Any
    mongo: Mongo
    test_id: str
    app_id: str

    async def run(self, content: bytes, *steps: Any, test_id: str = "") -> str:
        """The id of a build whose test has run RUNS times."""
        build_id = self.shelf.build(content)
        planned = self.shelf.planned(*steps, build_id=build_id)
        planned.test_id, planned.app.id = test_id or self.test_id, self.app_id
        workflow_id = self.shelf.workflow(planned)
        for _ in range(RUNS):
            await self.client.ended(await self.client.start(workflow_id))
        return build_id

    async def compare(self, build_id: str, base_id: str) -> pb.ScreenComparison:
        request = pb.CompareScreensRequest(version_id=build_id, base=base_id)
        comparison: pb.ScreenComparison = await self.stub.CompareScreens(request)
        return comparison


@pytest.fixture
async def scene(executor: Any, connect: Any, shelf: Shelf, settings: Any) -> AsyncIterator[Scene]:
    async with (
        executor() as app,
        connect(app.grpc_address) as client,
        open_channel(app.grpc_address, TOKEN, timeout=60) as channel,
        _database(settings()) as mongo,
    ):
        stub = screens_pb2_grpc.ScreensStub(channel)  # type: ignore[no-untyped-call]
        yield Scene(shelf, client, stub, mongo, str(uuid4()), str(uuid4()))


@asynccontextmanager
async def _database(settings: Any) -> AsyncIterator[Mongo]:
    mongo = await Mongo.connect(settings.mongo_uri, settings.executor_database, settings.mongo_driver)
    yield mongo
    await mongo.close()


async def test_the_screens_of_an_app_are_listed_with_the_steps_that_came_to_them(scene: Scene) -> None:
    build_id = await scene.run(model(), GOOD, SEE)
    request = pb.ListScreensRequest(app_id=scene.app_id, build=build_id, page_size=1)
    first, second = [
        await scene.stub.ListScreens(pb.ListScreensRequest(app_id=scene.app_id, build=build_id, page=page, page_size=1))
        for page in (1, 2)
    ]
    assert (first.total, first.total_pages, first.has_next, second.has_next) == (2, 2, True, False)
    assert (first.runs, first.notice) == (RUNS, "")
    screens = [*first.items, *second.items]
    assert [(each.title, each.runs, each.steps[0].step) for each in screens] == [
        ("First", RUNS, GOOD),
        ("Second", RUNS, SEE),
    ]
    for each in screens:
        assert each.example.tree_url == f"/api/v1/screens/{each.example.tree}"
        assert each.example.picture
        assert each.first_seen_at.ToDatetime() < each.last_seen_at.ToDatetime()
        assert {step.test_id for step in each.steps} == {scene.test_id}
    for nothing in (replace_build(request, str(uuid4())), pb.ListScreensRequest(app_id=str(uuid4()))):
        assert (await scene.stub.ListScreens(nothing)).total == 0


def replace_build(request: pb.ListScreensRequest, build_id: str) -> pb.ListScreensRequest:
    other = pb.ListScreensRequest()
    other.CopyFrom(request)
    other.build = build_id
    return other


async def test_the_change_between_two_builds(scene: Scene) -> None:
    base = await scene.run(model(), TAP, SEE)
    same = await scene.compare(base, base)
    assert (same.summary, same.screens, same.build.runs, same.build.version) == ([], [], RUNS, "1.0")
    build = await scene.run(CHANGED, TAP, SEE)
    comparison = await scene.compare(build, base)
    assert (comparison.notice, comparison.changed) == ("", 2)
    assert list(comparison.summary) == [
        '"First": button "Go" was renamed to "Go now"',
        '"Done at last": heading "Second" was renamed to "Done at last"',
    ]
    renamed = comparison.screens[0]
    assert (renamed.title, renamed.certain, renamed.element_count) == ("First", True, 1)
    assert renamed.before.picture_url != renamed.after.picture_url
    [element] = renamed.elements
    assert (element.before.text, element.after.text, element.after.area.width > 0) == ("Go", "Go now", True)


async def test_what_no_run_of_the_other_build_came_to_is_not_known(scene: Scene) -> None:
    base = await scene.run(model(), GOOD, SEE)
    build = await scene.run(CHANGED, 'I see "Go now"', test_id=str(uuid4()))
    comparison = await scene.compare(build, base)
    assert (comparison.new, comparison.gone, comparison.unknown) == (0, 0, 1)
    [unknown] = [each for each in comparison.screens if each.kind == pb.SCREEN_CHANGE_KIND_UNKNOWN]
    assert (unknown.title, "no run of the other build" in unknown.reason) == ("Second", True)
    empty = await scene.compare(build, str(uuid4()))
    assert {each.kind for each in empty.screens} == {pb.SCREEN_CHANGE_KIND_UNKNOWN}
    assert not empty.base.HasField("version")
    with pytest.raises(grpc.aio.AioRpcError) as missing:
        await scene.stub.CompareScreens(pb.CompareScreensRequest(version_id=build))
    assert missing.value.code() is grpc.StatusCode.INVALID_ARGUMENT


async def test_a_hook_after_a_failure_is_not_the_step_that_was_not_reached(scene: Scene) -> None:
    steps = ({"onFlowComplete": [SEE]}, GOOD, SEE)
    broken = model().replace(b"id: go, text: Go,", b"id: buy, text: Buy,")
    base, build = await scene.run(model(), *steps), await scene.run(broken, *steps)
    comparison = await scene.compare(build, base)
    kinds = [(screen.title, screen.kind) for screen in comparison.screens]
    assert ("Second", pb.SCREEN_CHANGE_KIND_UNKNOWN) in kinds
    assert (comparison.new, comparison.gone, comparison.changed) == (0, 0, 1)


async def test_screens_that_are_deleted_are_left_out_and_counted(scene: Scene) -> None:
    base, build = await scene.run(model(), GOOD, SEE), await scene.run(CHANGED, 'Tap "Go now"', SEE)
    await scene.mongo.collection(SCREENS).delete_many({"org_id": current().org_id})
    comparison = await scene.compare(build, base)
    assert (list(comparison.screens), comparison.build.runs, comparison.build.screens) == ([], RUNS, 0)
    assert comparison.notice.startswith("12 of 12 kept screens were not read")
    with bind(Caller(org_id=str(uuid4()), scopes=current().scopes)):
        foreign = await scene.compare(build, base)
    assert (foreign.build.runs, foreign.notice) == (0, "")


class NoRuns:
    async def newest_with_screens(self, wanted: ScreensFilter) -> str | None:
        return None

    async def runs_with_screens(self, wanted: ScreensFilter, limit: int) -> list[Run]:
        return []


class TooMuch:
    """Jobs that all take more than the limits."""

    async def run(self, org_id: str, job: ScreensJob) -> None:
        return None


async def test_what_takes_more_than_the_limits_is_not_compared() -> None:
    usecase = AppScreenUseCases(NoRuns(), FakeScreens(), TooMuch())
    with bind(Caller(org_id="org")):
        compared, listed = await usecase.compare("build", "base"), await usecase.of_app("app")
    assert "more than the limits" in compared.notice
    assert "more than the limits" in listed.notice


async def test_screens_take_no_more_than_their_child_may() -> None:
    stored = encode_tree(Element(children=tuple(Element(text=f"word {n}") for n in range(ELEMENTS_LIMIT - 1))))
    at = datetime(2026, 3, 4, tzinfo=UTC)
    names = ("execution_id", "run_id", "test", "test_id", "test_name", "step", "step_key", "fingerprint", "picture")
    ids: dict[str, Any] = dict.fromkeys(names, "")
    seen = SeenRuns([SeenStep(**ids, step_index=n, tree=f"{n}", seen_at=at, simulated=True) for n in range(6)], runs=1)
    job = ScreensJob([seen], blobs={step.tree: stored for step in seen.steps})
    pool, strict = ScreenPool(), ScreenPool(replace(LIMITS, cpu_seconds=0.1))
    try:
        done = await pool.run("org", job)
        assert done is not None
        listed = pb.ListScreensResponse.FromString(done[1])
        assert (len(listed.items), listed.notice.startswith("1 of 6 kept screens")) == (1, True)
        assert await strict.run("org", job) is None
    finally:
        await pool.close()
        await strict.close()


class SlowJobs:
    """Jobs that end when they are let; `started` counts them."""

    def __init__(self) -> None:
        self.started = 0
        self.go = asyncio.Event()

    async def run(self, org_id: str, job: ScreensJob) -> tuple[list[str], bytes]:
        self.started += 1
        await self.go.wait()
        return [], pb.ScreenComparison(notice="done").SerializeToString()


async def test_a_comparison_goes_on_without_its_caller_and_is_made_once() -> None:
    jobs = SlowJobs()
    usecase = AppScreenUseCases(NoRuns(), FakeScreens(), jobs)
    with bind(Caller(org_id="org")):
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(usecase.compare("build", "base"), 0.05)
        jobs.go.set()
        answers = await asyncio.gather(*(usecase.compare("build", "base") for _ in range(3)))
    assert ([each.notice for each in answers], jobs.started) == (["done"] * 3, 1)


async def test_many_answers_of_an_organisation_do_not_replace_those_of_others() -> None:
    jobs = SlowJobs()
    jobs.go.set()
    usecase = AppScreenUseCases(NoRuns(), FakeScreens(), jobs)
    answers = ANSWERS_BYTES // LEAST_ANSWER_BYTES
    with bind(Caller(org_id="quiet")):
        await usecase.compare("build", "base")
    with bind(Caller(org_id="busy")):
        for number in range(answers + 1):
            await usecase.compare("build", f"base {number}")
    made = jobs.started
    with bind(Caller(org_id="quiet")):
        await usecase.compare("build", "base")
    assert jobs.started == made
    with bind(Caller(org_id="busy")):
        await usecase.compare("build", "base 0")
    assert jobs.started == made + 1


async def test_an_organisation_has_few_comparisons_waiting() -> None:
    jobs = SlowJobs()
    usecase = AppScreenUseCases(NoRuns(), FakeScreens(), jobs)
    with bind(Caller(org_id="org")):
        waiting = [asyncio.create_task(usecase.compare("build", f"base {number}")) for number in range(10)]
        done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        assert [type(task.exception()) for task in done] == [ResourceExhausted]
        jobs.go.set()
        await asyncio.wait(waiting)
        assert jobs.started == 9
    await usecase.close()
