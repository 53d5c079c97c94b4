"""Starting workflows and tests."""

from uuid import uuid4

import pytest

from services.chassis.context import Caller, bind
from services.chassis.errors import InvalidArgument, NotFound
from services.chassis.ids import derive_ids
from services.executor.model.attribution import Ci, ExecutionSource
from services.executor.model.executions import BuildConfig, Execution, ExecutionKind
from services.executor.model.failures import NO_PLATFORM
from services.executor.model.run_config import ExecutionMode, RunConfig
from services.executor.model.runs import ResolvedRuns
from services.executor.model.states import Status
from services.executor.ports.executions import ExecutionFilter, PageRequest
from services.executor.usecases.starts import ExecutionStarter, StartRequest
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
) -> Execution:
    wanted = StartRequest(
        kind=kind,
        subject_id=subject_id,
        run_config=config or RunConfig(),
        build_config=BuildConfig(),
        service_client=client,
        ci=ci or Ci(),
    )
    with bind(caller):
        return await ExecutionStarter(catalog, store).start(wanted)


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
