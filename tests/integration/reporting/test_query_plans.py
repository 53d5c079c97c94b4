"""What each lookup reads grows with what it gives, never with how much there is: MongoDB's profiler says so."""

import inspect
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from services.chassis.context import Caller, bind
from services.chassis.mongo import Mongo
from services.reporting.model.attempts import BuildRef
from services.reporting.model.batch import Batch
from services.reporting.model.flaky import Classification
from services.reporting.model.reports.breakage import ANY, SearchSide, VerdictQuery
from services.reporting.model.snapshots import BuildSnapshot, RunResult, RunSnapshot
from services.reporting.model.sources import BranchKind
from services.reporting.model.variants import Variant
from services.reporting.ports import (
    BranchQuery,
    CatalogTests,
    ExpirableRuns,
    ListedTest,
    ReadModels,
    RowPage,
    TestFilter,
    Verdicts,
)
from services.reporting.storage.expirable_runs import MongoExpirableRuns
from services.reporting.storage.projections import MongoProjections
from services.reporting.storage.read_models import TESTS_BY_NAME, MongoCatalogTests, MongoReadModels
from services.reporting.storage.verdicts import MongoVerdicts
from services.reporting.usecases.projector import Projector
from tests.fakes.reporting_story import APP, NOW, ORG, Story

BUILDS, TESTS, ROUNDS = 8, 12, 6
BUILD = "build-1.4"
SOME_BUILDS = ["build-1.2", BUILD]
SOME_TESTS = ["test-02", "test-03", "test-05"]
SOME_CELLS = [(APP, test, BUILD) for test in SOME_TESTS]


@dataclass(frozen=True)
class Stores:
    """What is asked."""

    read: MongoReadModels
    tests: MongoCatalogTests
    verdicts: MongoVerdicts
    listed: MongoExpirableRuns


Ask = Callable[[Stores], Awaitable[Any]]


@dataclass(frozen=True)
class Case:
    """A lookup, and how many index keys it may examine: for each document that it gives, and besides.

    `covered`: it reads the index alone.
    """

    ask: Ask
    each: int = 2
    besides: int = 2
    covered: bool = False


def build_copy(number: int) -> BuildSnapshot:
    uploaded_at = NOW - timedelta(days=100 - number)
    return BuildSnapshot(f"build-1.{number}", ORG, 1, False, APP, f"1.{number}", uploaded_at)


async def assessments(read: ReadModels) -> None:
    await read.assessments(APP, SOME_TESTS)
    await read.assessments(APP, SOME_TESTS, Classification.STABLE)


async def flakiest(read: ReadModels) -> None:
    await read.flakiest(None, limit=2)
    await read.flakiest(APP, limit=2)


async def variants(read: ReadModels) -> None:
    """By the names of the tests, and by that of their app."""
    await read.variants(APP, SOME_TESTS)
    await read.variants(APP, [*SOME_TESTS, *map(str, range(TESTS_BY_NAME))])


async def runs_of_build(read: ReadModels) -> None:
    """All, and those with results, of which MongoDB merges two ranges of an index."""
    await read.runs_of_build(BUILD, PAGE)
    await read.runs_of_build(BUILD, PAGE, [RunResult.FAILED])
    await read.runs_of_build(BUILD, PAGE, PASSED)


async def runs_of_test(read: ReadModels) -> None:
    """As `runs_of_build`, from a moment on."""
    page = replace(PAGE, before=NOW)
    await read.runs_of_test("test-02", page)
    await read.runs_of_test("test-02", page, [RunResult.FAILED])
    await read.runs_of_test("test-02", page, PASSED)


PAGE = RowPage(3, 4)
PASSED = (RunResult.PASSED, RunResult.FLAKY)
BRANCHES = BranchQuery(APP, (BranchKind.BRANCH,))
CASES: dict[str, Case] = {
    "ReadModels.apps_by_id": Case(lambda s: s.read.apps_by_id([APP])),
    "ReadModels.counters": Case(lambda s: s.read.counters([f"build:{build}" for build in SOME_BUILDS], ["runs"])),
    "ReadModels.builds": Case(lambda s: s.read.builds(APP, PAGE), besides=PAGE.skip + 2),
    "ReadModels.builds_of_versions": Case(lambda s: s.read.builds_of_versions(APP, ["1.2", "1.4", "9"])),
    "ReadModels.builds_by_id": Case(lambda s: s.read.builds_by_id(SOME_BUILDS)),
    "ReadModels.tests_by_id": Case(lambda s: s.read.tests_by_id(SOME_TESTS)),
    "ReadModels.attachments": Case(lambda s: s.read.attachments(APP)),
    "ReadModels.variants": Case(lambda s: variants(s.read), besides=4 * len(SOME_TESTS)),
    "ReadModels.verdicts": Case(
        lambda s: s.read.verdicts(APP, SOME_BUILDS, SOME_TESTS),
        besides=2 * len(SOME_BUILDS) * len(SOME_TESTS),
        covered=True,
    ),
    "ReadModels.cells_of_builds": Case(lambda s: s.read.cells_of_builds(APP, SOME_BUILDS)),
    "ReadModels.subjects_of_branch": Case(
        lambda s: s.read.subjects_of_branch(APP, SOME_BUILDS, "main"), besides=2 * len(SOME_BUILDS) * TESTS
    ),
    "ReadModels.cells": Case(lambda s: s.read.cells(SOME_CELLS)),
    "ReadModels.assessments": Case(lambda s: assessments(s.read), besides=8),
    "ReadModels.build_sources": Case(lambda s: s.read.build_sources(APP, SOME_BUILDS), besides=2 * len(SOME_BUILDS)),
    "ReadModels.branches": Case(lambda s: s.read.branches(BRANCHES, PAGE), besides=PAGE.skip + 2),
    "ReadModels.count_branches": Case(lambda s: s.read.count_branches(BRANCHES)),
    "ReadModels.branches_by_key": Case(lambda s: s.read.branches_by_key([(APP, BranchKind.BRANCH, "main")])),
    "ReadModels.flakiest": Case(lambda s: flakiest(s.read), besides=4),
    "ReadModels.observed": Case(lambda s: s.read.observed(APP, SOME_TESTS)),
    "ReadModels.runs_of_build": Case(lambda s: runs_of_build(s.read), besides=3 * (PAGE.skip + 2)),
    "ReadModels.runs_of_test": Case(lambda s: runs_of_test(s.read), besides=3 * (PAGE.skip + 2)),
    "ReadModels.count_results_of_build": Case(
        lambda s: s.read.count_results_of_build(BUILD, PASSED), besides=ROUNDS * TESTS + 2, covered=True
    ),
    "ReadModels.count_results_of_test": Case(
        lambda s: s.read.count_results_of_test("test-02", PASSED), besides=ROUNDS * BUILDS + 2, covered=True
    ),
    "ReadModels.runs_on_app": Case(lambda s: s.read.runs_on_app(APP, "test-02", "", limit=20), each=3),
    "CatalogTests.with_history": Case(lambda s: s.tests.with_history(Classification.STABLE)),
    "CatalogTests.newest": Case(lambda s: s.tests.newest(TestFilter(), PAGE), besides=PAGE.skip + 2),
    "CatalogTests.count": Case(lambda s: s.tests.count(TestFilter()), besides=TESTS + 2),
    "CatalogTests.quarantines": Case(lambda s: s.tests.quarantines(SOME_TESTS), besides=2 * len(SOME_TESTS)),
    "Verdicts.uploads": Case(lambda s: s.verdicts.uploads(SOME_CELLS), besides=2 * len(SOME_TESTS)),
    "Verdicts.storms": Case(lambda s: s.verdicts.storms(["execution-1", "execution-2"]), besides=4),
    "Verdicts.runs": Case(lambda s: s.verdicts.runs(["run-1", "run-2"]), besides=4),
    "Verdicts.find": Case(
        lambda s: s.verdicts.find(SOME_CELLS, VerdictQuery(SearchSide.BEFORE, ANY, ("main",))), each=6, besides=8
    ),
    "Verdicts.attempts": Case(lambda s: s.verdicts.attempts([(APP, test) for test in SOME_TESTS])),
    "Verdicts.builds_before": Case(lambda s: s.verdicts.builds_before(build_copy(5), 2), besides=3),
    "Verdicts.progress": Case(lambda s: s.verdicts.progress(["execution-2"])),
    "Verdicts.runs_of_execution": Case(lambda s: s.verdicts.runs_of_execution("execution-2")),
    "ExpirableRuns.test_after": Case(lambda s: s.listed.test_after(ListedTest(ORG, "test-02"))),
    "ExpirableRuns.runs": Case(lambda s: s.listed.runs(ListedTest(ORG, "test-02"), PAGE), besides=PAGE.skip + 2),
    "ExpirableRuns.remove_empty_days": Case(lambda s: s.listed.remove_empty_days(ORG, [f"build:{BUILD}"])),
}


def methods(port: type) -> set[str]:
    names = [name for name, _ in inspect.getmembers(port, inspect.isfunction) if not name.startswith("_")]
    return {f"{port.__name__}.{name}" for name in names}


def test_every_lookup_has_a_case() -> None:
    ports: tuple[type, ...] = (ReadModels, CatalogTests, Verdicts, ExpirableRuns)
    assert set.union(*map(methods, ports)) == set(CASES)


def made_story() -> Story:
    """Every test on every build, some rounds on different days, each in executions of its own."""
    story = Story()
    story.app(current="1.7")
    builds = [BuildRef(copy.uploaded_at, copy.build_id, copy.version) for copy in map(build_copy, range(BUILDS))]
    story.tell(*map(build_copy, range(BUILDS)))
    for test in range(TESTS):
        story.test(f"test-{test:02}", f"Test {test}")
        story.attach(f"test-{test:02}")
    for number in range(ROUNDS * BUILDS):
        build = builds[number % BUILDS]
        story.execution(f"execution-{number}", TESTS)
        for test in range(TESTS):
            at = NOW - timedelta(days=number // 3, hours=1, minutes=test)
            ending = "failed" if (number + test) % 5 == 0 else "passed"
            flaky = (number + test) % 5 == 1
            story.run(f"test-{test:02}", build, ending, at=at, execution=f"execution-{number}", flaky=flaky)
    story.run("test-03", builds[0], variant=Variant("de", {"LOCALE": "de"}))
    return story


async def filled(mongo: Mongo, story: Story) -> Stores:
    told = [replace(one, list_item=b"") if isinstance(one, RunSnapshot) else one for one in story.told]
    await Projector(MongoProjections(mongo)).apply_events(Batch.of(told))
    return Stores(MongoReadModels(mongo), MongoCatalogTests(mongo), MongoVerdicts(mongo), MongoExpirableRuns(mongo))


async def profiled(mongo: Mongo, ask: Ask, stores: Stores) -> list[dict[str, Any]]:
    """What MongoDB did for it; the generation is known already."""
    await mongo.database.command("profile", 2)
    await ask(stores)
    await mongo.database.command("profile", 0)
    query = {"planSummary": {"$exists": True}, "ns": {"$not": {"$regex": r"system\.|\._"}}}
    operations: list[dict[str, Any]] = await mongo.collection("system.profile").find(query).to_list(None)
    await mongo.collection("system.profile").drop()
    return operations


def waste(case: Case, plans: list[dict[str, Any]]) -> object:
    """What was read in vain; None when nothing was."""
    given, keys, documents = (
        sum(plan.get(name, 0) for plan in plans) for name in ("nreturned", "keysExamined", "docsExamined")
    )
    bound = case.each * given + case.besides
    sorts = any(plan.get("hasSortStage") for plan in plans)
    summary = {plan["planSummary"] for plan in plans}
    few = keys <= bound and documents <= (0 if case.covered else bound)
    if few and not sorts and "COLLSCAN" not in str(summary) and plans:
        return None
    return {"plans": summary, "given": given, "keys": keys, "documents": documents, "bound": bound, "sorts": sorts}


async def wasted(mongo: Mongo, stores: Stores, names: Collection[str]) -> dict[str, object]:
    """By lookup; each is asked once before, so that the generation that serves is known."""
    reasons: dict[str, object] = {}
    with bind(Caller(ORG)):
        for name in names:
            await CASES[name].ask(stores)
            reasons[name] = waste(CASES[name], await profiled(mongo, CASES[name].ask, stores))
    return {name: why for name, why in reasons.items() if why}


async def test_lookups_examine_no_more_than_they_return(mongo: Mongo) -> None:
    """Unless an index is missing, which shows that the test would notice."""
    stores = await filled(mongo, made_story())
    assert await wasted(mongo, stores, CASES) == {}
    for collection, index in (("runs", "list_of_build"), ("cells", "verdicts_of_build"), ("builds", "list_of_app")):
        await mongo.collection(collection).drop_index(index)
    missed = {"ReadModels.runs_of_build", "ReadModels.cells_of_builds", "ReadModels.builds"}
    assert (await wasted(mongo, stores, missed)).keys() == missed
