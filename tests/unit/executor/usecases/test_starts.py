"""Starting workflows and tests."""

import asyncio
from collections import Counter
from collections.abc import Mapping
from itertools import product
from typing import Any
from uuid import uuid4

import pytest

from services.chassis.context import Caller, bind, current
from services.chassis.errors import InvalidArgument, NotFound
from services.chassis.ids import derive_ids
from services.executor.model.attribution import Ci, ExecutionSource
from services.executor.model.changes import Change
from services.executor.model.executions import BuildConfig, Execution, ExecutionKind, StartSubject
from services.executor.model.failures import NO_PLATFORM
from services.executor.model.run_config import ExecutionMode, RunConfig
from services.executor.model.runs import ResolvedRuns, RunPlan
from services.executor.model.states import Status
from services.executor.ports.executions import ExecutionFilter, PageRequest
from services.executor.usecases.starts import ExecutionStarter, StartRequest
from tests.eventually import eventually
from tests.fakes.executor import FakeCatalog, plan
from tests.fakes.executor_executions import FakeExecutions

GATEWAY = Caller(org_id=str(uuid4()), via_gateway=True)


async def start(
    store: FakeExecutions,
    catalog: FakeCatalog,
    subject_id: str,
    *,
    kind: ExecutionKind = ExecutionKind.WORKFLOW,
    caller: Caller = GATEWAY,
    config: RunConfig | None = None,
    ci: Ci | None = None,
    client: str | None = None,
    starter: ExecutionStarter | None = None,
) -> Execution:
    wanted = StartRequest(
        subject=StartSubject(kind, subject_id),
        run_config=config or RunConfig(),
        build_config=BuildConfig(),
        service_client=client,
        ci=ci or Ci(),
    )
    with bind(caller):
        return await (starter or ExecutionStarter(catalog, store)).start(wanted)


def requests(store: FakeExecutions) -> int:
    return sum(event.type.endswith("RunRequested") for event in store.events)


async def test_a_workflow_start_queues_and_requests_a_run_per_plan() -> None:
    store, catalog = FakeExecutions(), FakeCatalog()
    execution = await start(store, catalog, catalog.workflow(plan("One"), plan("Two")))
    assert (execution.status, execution.kind, execution.workflow_name) == (
        Status.QUEUED,
        ExecutionKind.WORKFLOW,
        "Nightly",
    )
    assert [run.target.test_name for run in store.stored.values()] == ["One", "Two"]
    assert requests(store) == 2


class HeldExecutions(FakeExecutions):
    """Stores starts once they are let go; `storing` counts them by organisation."""

    def __init__(self) -> None:
        super().__init__()
        self.storing: Counter[str] = Counter()
        self.go_on = asyncio.Event()

    async def add(self, change: Change, plans: Mapping[str, RunPlan]) -> Execution:
        self.storing[current().org_id] += 1
        await self.go_on.wait()
        return await super().add(change, plans)


async def test_few_large_plans_are_held_at_once_until_they_are_stored() -> None:
    store, catalog = HeldExecutions(), FakeCatalog()
    starter, large, small = ExecutionStarter(catalog, store), catalog.workflow(plan("One")), catalog.workflow(plan())
    catalog.large.add(large)
    starting = []
    for org_id, subject_id in [*product("abc", [large, large]), *product("d", [small] * 5)]:
        caller = Caller(org_id=org_id, via_gateway=True)
        starting.append(asyncio.create_task(start(store, catalog, subject_id, caller=caller, starter=starter)))
    await eventually(lambda: store.storing == {"a": 1, "b": 1, "d": 5})
    store.go_on.set()
    assert {execution.status for execution in await asyncio.gather(*starting)} == {Status.QUEUED}
    assert store.storing == {"a": 2, "b": 2, "c": 2, "d": 5}


async def test_few_reruns_hold_their_plans_at_once() -> None:
    store, catalog = HeldExecutions(), FakeCatalog()
    starter, workflow_id = ExecutionStarter(catalog, store), catalog.workflow(plan("One"))
    store.go_on.set()
    ended = {}
    for org_id in "abc":
        with bind(Caller(org_id=org_id)) as caller:
            ended[org_id] = (await start(store, catalog, workflow_id, caller=caller)).id
            await store.cancel(ended[org_id])
    store.go_on.clear()
    store.storing.clear()
    reruns = []
    for org_id, execution_id in [*ended.items()] * 2:
        with bind(Caller(org_id=org_id)):
            reruns.append(asyncio.create_task(starter.rerun(execution_id, failed_only=False)))
    await eventually(lambda: store.storing == {"a": 1, "b": 1})
    store.go_on.set()
    await asyncio.gather(*reruns)
    assert store.storing == {"a": 2, "b": 2, "c": 2}


async def test_a_test_has_no_workflow() -> None:
    store, catalog = FakeExecutions(), FakeCatalog()
    execution = await start(store, catalog, catalog.add(ResolvedRuns(plans=(plan(),))), kind=ExecutionKind.TEST)
    assert (execution.kind, execution.workflow_id, execution.workflow_name) == (ExecutionKind.TEST, None, None)


async def test_an_unknown_subject_is_not_found() -> None:
    with pytest.raises(NotFound, match=r"^Workflow not found$"):
        await start(FakeExecutions(), FakeCatalog(), str(uuid4()))


async def test_max_parallel_limits_the_requested_runs() -> None:
    store, catalog = FakeExecutions(), FakeCatalog()
    wrong = plan(config_error="Attach it.")
    await start(store, catalog, catalog.workflow(wrong, plan(), plan(), plan(), max_parallel=2))
    statuses = [run.status for run in store.stored.values()]
    assert statuses == [Status.FAILED, Status.QUEUED, Status.QUEUED, Status.INITIALIZED]
    assert requests(store) == 2


async def test_variables_of_a_start_override_those_of_the_workflow() -> None:
    store, catalog = FakeExecutions(), FakeCatalog()
    stored = RunConfig(env={"USER": "ada", "CITY": "Paris"})
    resolved = ResolvedRuns(workflow_id=str(uuid4()), workflow_name="W", run_config=stored, plans=(plan(),))
    config = RunConfig(env={"USER": "bob", "PASSWORD": {"secret": "pw"}})
    execution = await start(store, catalog, catalog.add(resolved), config=config)
    assert execution.run_config.env == {"USER": "bob", "CITY": "Paris", "PASSWORD": {"secret": "pw"}}


@pytest.mark.parametrize(
    ("stored", "env", "field"),
    [({}, {"output": "x"}, "run_config.env.output"), ({"A": "x" * 60_000}, {"B": "x" * 8_000}, "run_config.env")],
)
async def test_a_start_with_invalid_variables_is_refused(
    stored: dict[str, Any], env: dict[str, Any], field: str
) -> None:
    store, catalog = FakeExecutions(), FakeCatalog()
    resolved = ResolvedRuns(
        workflow_id=str(uuid4()), workflow_name="W", run_config=RunConfig(env=stored), plans=(plan(),)
    )
    with pytest.raises(InvalidArgument) as refusal:
        await start(store, catalog, catalog.add(resolved), config=RunConfig(env=env))
    assert [violation.field for violation in refusal.value.violations] == [field]
    assert not store.stored


async def test_the_request_overrides_the_workflow_configuration() -> None:
    store, catalog = FakeExecutions(), FakeCatalog()
    stored = RunConfig(execution_mode=ExecutionMode(retries=4, enable_planning=True))
    workflow_id = catalog.add(
        ResolvedRuns(workflow_id=str(uuid4()), workflow_name="W", run_config=stored, plans=(plan(),))
    )
    config = RunConfig(execution_mode=ExecutionMode(retries=0), run_id="mine")
    execution = await start(store, catalog, workflow_id, config=config)
    assert execution.run_config.execution_mode.retries == 0
    assert execution.run_config.execution_mode.enable_planning is True
    assert execution.run_config.run_id == "mine"
    assert [run.retries for run in store.stored.values()] == [0]


@pytest.mark.parametrize(
    ("caller", "ci", "client", "source"),
    [
        (GATEWAY, None, None, ExecutionSource.API),
        (GATEWAY, None, "mobiletest-cli/1.0", ExecutionSource.CLI),
        (GATEWAY, Ci(branch="main"), "mobiletest-cli/1.0", ExecutionSource.CI),
        (Caller(org_id=GATEWAY.org_id), None, None, ExecutionSource.INTERNAL),
    ],
)
async def test_the_source_follows_from_the_caller(
    caller: Caller, ci: Ci | None, client: str | None, source: ExecutionSource
) -> None:
    store, catalog = FakeExecutions(), FakeCatalog()
    execution = await start(store, catalog, catalog.workflow(plan()), caller=caller, ci=ci, client=client)
    assert (execution.source, execution.service_client, execution.ci) == (source, client, ci or Ci())


async def test_a_start_repeated_with_an_idempotency_key_returns_the_stored_execution() -> None:
    store, catalog = FakeExecutions(), FakeCatalog()
    workflow_id = catalog.workflow(plan(), plan())
    started = []
    for _ in range(2):
        with derive_ids(GATEWAY.org_id, "StartWorkflow", "key-1"):
            started.append(await start(store, catalog, workflow_id))
    assert started[0] == started[1]
    assert len(store.stored) == requests(store) == 2
    with bind(GATEWAY):
        assert (await store.page(ExecutionFilter(), PageRequest(1, 10)))[1] == 1


async def test_a_run_without_a_platform_fails_at_the_start() -> None:
    store, catalog = FakeExecutions(), FakeCatalog()
    execution = await start(store, catalog, catalog.workflow(plan(platform=None)))
    [run] = store.stored.values()
    assert (execution.status, run.status, run.failure) == (Status.FAILED, Status.FAILED, NO_PLATFORM)
    assert requests(store) == 0


async def test_a_ci_run_url_that_must_not_become_a_link_starts_nothing() -> None:
    store, catalog = FakeExecutions(), FakeCatalog()
    with pytest.raises(InvalidArgument, match="X-CI-Run-URL must be an http or https URL") as raised:
        await start(store, catalog, catalog.workflow(plan("One")), ci=Ci(run_url="javascript:alert(1)"))
    assert [violation.field for violation in raised.value.violations] == ["ci.run_url"]
    assert not store.executions
