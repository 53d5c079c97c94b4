"""Starting workflows and tests."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Mapping
from dataclasses import replace
from itertools import product
from typing import Any
from uuid import uuid4

import pytest

from mobiletest_automation.flows.environment import Environment
from mobiletest_automation.model.failures import NO_PLATFORM, Category, Failure
from mobiletest_automation.model.run_config import ExecutionMode, LlmConfig, RunConfig, Screens
from mobiletest_automation.model.states import Status
from mobiletest_automation.model.variants import Variant
from services.chassis.context import Caller, bind, current
from services.chassis.errors import FailedPrecondition, InvalidArgument, PermissionDenied, ResourceExhausted
from services.executor.model.attribution import Ci, ExecutionSource
from services.executor.model.changes import Change
from services.executor.model.executions import Execution, ExecutionKind, StartSubject
from services.executor.model.organisation_limits import OrganisationLimits
from services.executor.model.runs import ResolvedRuns, RunPlan
from services.executor.model.variants import NO_VARIANTS, VARIANTS_LIMIT, add_variant
from services.executor.storage.executions import MongoExecutions
from services.executor.storage.schema import RUNS
from services.executor.usecases.starts import ExecutionStarter
from tests.contract.executor.conftest import World
from tests.contract.executor.executions import request, requests, runs_of
from tests.eventually import eventually
from tests.fakes.executor import FakeCatalog, plan


@pytest.fixture
def catalog() -> FakeCatalog:
    return FakeCatalog()


def start(
    world: World,
    catalog: FakeCatalog,
    subject_id: str,
    *,
    kind: ExecutionKind = ExecutionKind.WORKFLOW,
    config: RunConfig | None = None,
    ci: Ci | None = None,
    client: str | None = None,
) -> Awaitable[Execution]:
    wanted = replace(request(StartSubject(kind, subject_id), config=config, ci=ci), service_client=client)
    return ExecutionStarter(catalog, world.executions).start(wanted)


def configured(catalog: FakeCatalog, config: RunConfig) -> str:
    """The id of a workflow with this configuration."""
    return catalog.add(ResolvedRuns(workflow_id=str(uuid4()), workflow_name="W", run_config=config, plans=(plan(),)))


async def number_of_runs(world: World) -> int:
    return int(await world.mongo.collection(RUNS).count_documents({}))


class HeldExecutions(MongoExecutions):
    """Stores starts once they are let go; `storing` counts them by organisation."""

    def __init__(self, world: World) -> None:
        super().__init__(world.transactions, world.outbox)
        self.storing: Counter[str] = Counter()
        self.go_on = asyncio.Event()

    async def add(self, change: Change, plans: Mapping[str, RunPlan]) -> Execution:
        self.storing[current().org_id] += 1
        await self.go_on.wait()
        return await super().add(change, plans)


async def test_few_large_plans_are_held_at_once_until_they_are_stored(world: World, catalog: FakeCatalog) -> None:
    store = HeldExecutions(world)
    starter, large, small = ExecutionStarter(catalog, store), catalog.workflow(plan("One")), catalog.workflow(plan())
    catalog.large.add(large)
    starting = []
    for org_id, subject_id in [*product("abc", [large, large]), *product("d", [small] * 5)]:
        with bind(Caller(org_id=org_id, via_gateway=True)):
            wanted = request(StartSubject(ExecutionKind.WORKFLOW, subject_id))
            starting.append(asyncio.create_task(starter.start(wanted)))
    await eventually(lambda: store.storing == {"a": 1, "b": 1, "d": 5})
    store.go_on.set()
    assert {execution.status for execution in await asyncio.gather(*starting)} == {Status.QUEUED}
    assert store.storing == {"a": 2, "b": 2, "c": 2, "d": 5}


async def test_few_reruns_hold_their_plans_at_once(world: World, catalog: FakeCatalog) -> None:
    store = HeldExecutions(world)
    starter, workflow_id = ExecutionStarter(catalog, store), catalog.workflow(plan("One"))
    ended = {}
    for org_id in "abc":
        with bind(Caller(org_id=org_id)):
            ended[org_id] = (await start(world, catalog, workflow_id)).id
            await store.cancel(ended[org_id])
    reruns = []
    for org_id, execution_id in [*ended.items()] * 2:
        with bind(Caller(org_id=org_id)):
            reruns.append(asyncio.create_task(starter.rerun(execution_id, failed_only=False)))
    await eventually(lambda: len(store.storing) == 2)
    assert set(store.storing.values()) == {1}
    store.go_on.set()
    await asyncio.gather(*reruns)
    assert store.storing == {"a": 2, "b": 2, "c": 2}


async def test_only_the_execution_of_a_workflow_has_one(world: World, catalog: FakeCatalog) -> None:
    workflow_id, test_id = catalog.workflow(plan()), catalog.add(ResolvedRuns(plans=(plan(),)))
    execution = await start(world, catalog, workflow_id)
    assert (execution.kind, execution.workflow_id) == (ExecutionKind.WORKFLOW, workflow_id)
    assert execution.workflow_name == "Nightly"
    execution = await start(world, catalog, test_id, kind=ExecutionKind.TEST)
    assert (execution.kind, execution.workflow_id, execution.workflow_name) == (ExecutionKind.TEST, None, None)


async def test_max_parallel_limits_the_requested_runs(world: World, catalog: FakeCatalog) -> None:
    wrong = plan(config_error="Attach it.")
    execution = await start(world, catalog, catalog.workflow(wrong, plan(), plan(), plan(), max_parallel=2))
    runs = await runs_of(world, execution)
    assert runs[0].failure == Failure(Category.CONFIG_INVALID, "Attach it.", reason="Attach it.")
    assert [run.status for run in runs] == [Status.FAILED, Status.QUEUED, Status.QUEUED, Status.INITIALIZED]
    assert len(await requests(world)) == 2


async def test_the_request_overrides_the_workflow_configuration(world: World, catalog: FakeCatalog) -> None:
    stored = RunConfig(
        env={"USER": "ada", "CITY": "Paris"}, execution_mode=ExecutionMode(retries=4, enable_planning=True)
    )
    config = RunConfig(
        env={"USER": "bob", "PASSWORD": {"secret": "pw"}}, execution_mode=ExecutionMode(retries=0), run_id="mine"
    )
    execution = await start(world, catalog, configured(catalog, stored), config=config)
    used = execution.run_config
    assert used.env == {"USER": "bob", "CITY": "Paris", "PASSWORD": {"secret": "pw"}}
    assert (used.execution_mode.retries, used.execution_mode.enable_planning, used.run_id) == (0, True, "mine")
    assert [run.retries for run in await runs_of(world, execution)] == [0]


@pytest.mark.parametrize(
    ("stored", "env", "field"),
    [({}, {"output": "x"}, "run_config.env.output"), ({"A": "x" * 60_000}, {"B": "x" * 8_000}, "run_config.env")],
)
async def test_a_start_with_invalid_variables_is_refused(
    world: World, catalog: FakeCatalog, stored: dict[str, Any], env: dict[str, Any], field: str
) -> None:
    workflow_id = configured(catalog, RunConfig(env=stored))
    with pytest.raises(InvalidArgument) as refusal:
        await start(world, catalog, workflow_id, config=RunConfig(env=env))
    assert [violation.field for violation in refusal.value.violations] == [field]
    assert await number_of_runs(world) == 0


@pytest.mark.parametrize(
    ("via_gateway", "ci", "client", "source"),
    [
        (True, None, None, ExecutionSource.API),
        (True, None, "mobiletest-cli/1.0", ExecutionSource.CLI),
        (True, Ci(branch="main"), "mobiletest-cli/1.0", ExecutionSource.CI),
        (False, None, None, ExecutionSource.INTERNAL),
    ],
)
async def test_the_source_follows_from_the_caller(
    world: World, catalog: FakeCatalog, via_gateway: bool, ci: Ci | None, client: str | None, source: ExecutionSource
) -> None:
    with bind(Caller(org_id=current().org_id, via_gateway=via_gateway)):
        execution = await start(world, catalog, catalog.workflow(plan()), ci=ci, client=client)
    assert (execution.source, execution.service_client, execution.ci) == (source, client, ci or Ci())


async def test_a_run_without_a_platform_fails_at_the_start(world: World, catalog: FakeCatalog) -> None:
    execution = await start(world, catalog, catalog.workflow(plan(platform=None)))
    [run] = await runs_of(world, execution)
    assert (execution.status, run.status, run.failure) == (Status.FAILED, Status.FAILED, NO_PLATFORM)
    assert await requests(world) == []


async def test_a_ci_run_url_that_must_not_become_a_link_starts_nothing(world: World, catalog: FakeCatalog) -> None:
    with pytest.raises(InvalidArgument, match="X-CI-Run-URL must be an http or https URL") as raised:
        await start(world, catalog, catalog.workflow(plan("One")), ci=Ci(run_url="javascript:alert(1)"))
    assert [violation.field for violation in raised.value.violations] == ["ci.run_url"]
    assert await number_of_runs(world) == 0


async def test_a_start_needs_room_for_its_runs(world: World, catalog: FakeCatalog) -> None:
    catalog.limits = OrganisationLimits(queued_runs=5)
    await start(world, catalog, catalog.workflow(*(plan() for _ in range(4))))
    with pytest.raises(ResourceExhausted, match="queued_runs"):
        await start(world, catalog, catalog.workflow(plan(), plan()))
    await start(world, catalog, catalog.workflow(plan()))
    assert await number_of_runs(world) == 5


def planned_by(model: str | None) -> RunConfig:
    return RunConfig(llm_config=LlmConfig(planning_model=model))


async def test_a_start_may_name_only_allowed_models(world: World, catalog: FakeCatalog) -> None:
    catalog.limits = OrganisationLimits(allowed_models=("small", "medium"))
    workflow_id = catalog.workflow(plan())
    with pytest.raises(PermissionDenied, match=r'"large".*name one of small, medium'):
        await start(world, catalog, workflow_id, config=planned_by("large"))
    for model in ("small", None):
        await start(world, catalog, workflow_id, config=planned_by(model))


async def test_the_organisation_says_which_screens_are_kept_where_nobody_else_does(
    world: World, catalog: FakeCatalog
) -> None:
    silent, outspoken = catalog.workflow(plan()), configured(catalog, RunConfig(screens=Screens.ALL))
    assert (await start(world, catalog, silent)).run_config.screens is Screens.ALL
    catalog.limits = OrganisationLimits(screens=Screens.FAILED)
    execution = await start(world, catalog, silent)
    assert execution.run_config.screens is Screens.FAILED
    assert (await start(world, catalog, outspoken)).run_config.screens is Screens.ALL
    off = RunConfig(screens=Screens.OFF)
    assert (await start(world, catalog, outspoken, config=off)).run_config.screens is Screens.OFF
    catalog.limits = OrganisationLimits()
    await world.executions.cancel(execution.id)
    rerun = await ExecutionStarter(catalog, world.executions).rerun(execution.id, failed_only=False)
    assert rerun.run_config.screens is Screens.FAILED


async def test_a_run_that_has_ended_is_repeated_although_others_have_not(world: World, catalog: FakeCatalog) -> None:
    execution = await start(world, catalog, catalog.workflow(plan(config_error="Attach it."), plan()))
    ended, waiting = await runs_of(world, execution)
    starter = ExecutionStarter(catalog, world.executions)
    again = await starter.rerun(execution.id, failed_only=False, run_ids=[ended.id])
    assert [run.target for run in await runs_of(world, again)] == [ended.target]
    with pytest.raises(FailedPrecondition, match="has not ended"):
        await starter.rerun(execution.id, failed_only=False, run_ids=[ended.id, waiting.id])
    with pytest.raises(InvalidArgument, match="no such run"):
        await starter.rerun(again.id, failed_only=False, run_ids=[ended.id])


async def test_a_rerun_has_the_limits_of_today(world: World, catalog: FakeCatalog) -> None:
    execution = await start(world, catalog, catalog.workflow(plan(), plan()), config=planned_by("large"))
    await world.executions.cancel(execution.id)
    for limits, reason in (
        (OrganisationLimits(allowed_models=("small",)), "allowed_models"),
        (OrganisationLimits(queued_runs=1), "queued_runs"),
    ):
        catalog.limits = limits
        with pytest.raises(PermissionDenied, match=reason):
            await ExecutionStarter(catalog, world.executions).rerun(execution.id, failed_only=False)


async def test_a_start_names_secrets_only_with_the_scope_write(world: World, catalog: FakeCatalog) -> None:
    """With execute alone it runs with those that the workflow names, and sends texts."""
    workflow_id = configured(catalog, RunConfig(env={"PASSWORD": {"secret": "pw"}}))
    named = RunConfig(env={"CITY": "Rome", "USER": {"secret": "card-number", "variant": False}})
    with bind(replace(current(), scopes=frozenset({"execute", "read"}))):
        with pytest.raises(PermissionDenied, match=r"^run_config\.env\.USER names a secret, .* scope write") as refusal:
            await start(world, catalog, workflow_id, config=named)
        texts = RunConfig(env={"USER": "ada", "LOGIN": {"value": "4711", "secret": True}})
        execution = await start(world, catalog, workflow_id, config=texts)
    assert (refusal.value.reason, execution.run_config.env["PASSWORD"]) == ("SCOPE_MISSING", {"secret": "pw"})
    assert await number_of_runs(world) == 1
    await start(world, catalog, workflow_id, config=named)


def reading(text: str, env: Environment | None = None) -> RunPlan:
    """A test with this step and these variables of its own."""
    return replace(plan(), steps=(text,), env=env or {})


async def labels(world: World, execution: Execution) -> list[str]:
    """What the variants of its runs say, as they are stored."""
    return [run.variant.label for run in await runs_of(world, execution)]


async def test_each_run_has_the_variant_of_the_variables_that_its_test_reads(
    world: World, catalog: FakeCatalog
) -> None:
    """With the precedence that their values have in the run, and excluded by the workflow for all starts."""
    stored = RunConfig(env={"LOCALE": "en", "RUN": {"value": "", "variant": False}, "PIN": {"secret": "pin"}})
    plans = [reading("Tap ${LOCALE}"), reading("Tap ${LOCALE + RUN}", {"LOCALE": "it"}), reading("Tap ${PIN}"), plan()]
    workflow = ResolvedRuns(workflow_id=str(uuid4()), workflow_name="W", run_config=stored, plans=tuple(plans))
    started = RunConfig(env={"LOCALE": "de", "RUN": "7"})
    execution = await start(world, catalog, catalog.add(workflow), config=started)
    assert await labels(world, execution) == ["LOCALE=de", "LOCALE=it", "PIN=secret pin", ""]
    await world.executions.cancel(execution.id)
    again = await ExecutionStarter(catalog, world.executions).rerun(execution.id, failed_only=False)
    assert await labels(world, again) == await labels(world, execution)


async def test_variants_beyond_the_limit_are_distinguished_by_their_stable_values(
    world: World, catalog: FakeCatalog
) -> None:
    """Starts at the same moment do not make it more."""
    workflow_id = catalog.workflow(reading("Tap ${LOCALE + RUN}"))

    async def variant(number: int) -> Variant:
        config = RunConfig(env={"LOCALE": "de", "RUN": str(number)})
        return (await runs_of(world, await start(world, catalog, workflow_id, config=config)))[0].variant

    kept = await asyncio.gather(*map(variant, range(3)))
    kept += [await variant(number) for number in range(3, VARIANTS_LIMIT + 5)]
    assert kept[0].label == "LOCALE=de, RUN=0"
    assert (kept[-1].label, kept[-1].left_out) == ("LOCALE=de", ("RUN",))
    assert VARIANTS_LIMIT <= len({each.id for each in kept}) <= VARIANTS_LIMIT + 4


async def test_what_another_start_remembered_meanwhile_is_not_lost(world: World) -> None:
    test_id, known = str(uuid4()), add_variant(NO_VARIANTS, {"LOCALE": "de"})[1]
    store = world.executions
    assert list(await store.remember_variants({test_id: (NO_VARIANTS, known)})) == []
    assert list(await store.remember_variants({test_id: (NO_VARIANTS, known)})) == [test_id]
    other = add_variant(known, {"LOCALE": "fr"})[1]
    assert list(await store.remember_variants({test_id: (known, other)})) == []
    assert await store.known_variants([test_id, str(uuid4())]) == {test_id: other}
    with bind(Caller(org_id=str(uuid4()))):
        assert await store.known_variants([test_id]) == {}
