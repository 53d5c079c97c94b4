"""Claimable runs in memory."""

from services.chassis.context import Caller, bind, current_or_none
from services.executor.model.attempts import AttemptResult
from services.executor.model.executions import BuildConfig, ExecutionKind, StartSubject
from services.executor.model.failures import Category, Failure
from services.executor.model.run_config import ExecutionMode, RunConfig
from services.executor.model.runs import Run, RunPlan
from services.executor.ports.runs import RunKey
from services.executor.usecases.starts import ExecutionStarter, StartRequest
from services.executor.worker.run_executor import ActiveRun
from tests.fakes.executor import FakeCatalog, plan
from tests.fakes.executor_executions import FakeExecutions

CALLER = Caller(org_id="11111111-1111-4111-8111-111111111111", via_gateway=True)
FAILED = AttemptResult(failure=Failure(Category.ASSERTION_FAILED, "Not there."))


async def started(
    store: FakeExecutions, *plans: RunPlan, retries: int = 1, max_parallel: int | None = None
) -> list[RunKey]:
    """The runs of a new execution, of the bound caller if there is one; queued, unless max_parallel holds them back."""
    catalog = FakeCatalog()
    config = RunConfig(execution_mode=ExecutionMode(retries=retries))
    wanted = StartRequest(
        subject=StartSubject(
            ExecutionKind.WORKFLOW, catalog.workflow(*(plans or (plan(),)), max_parallel=max_parallel)
        ),
        run_config=config,
        build_config=BuildConfig(),
    )
    with bind(current_or_none() or CALLER):
        execution = await ExecutionStarter(catalog, store).start(wanted)
    return [RunKey(execution.id, run.id) for run in store.stored.values() if run.execution_id == execution.id]


async def active_run(store: FakeExecutions, key: RunKey) -> ActiveRun:
    """The run, claimed by worker-1."""
    claim = await store.claim(key, "worker-1")
    assert claim is not None
    return ActiveRun(claim)


def run_of(store: FakeExecutions, key: RunKey) -> Run:
    return store.stored[key.run_id]
