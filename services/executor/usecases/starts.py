"""Starts and reruns executions: stores what to run with the requests for workers. Accepted means durable."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime

from mobiletest_automation.flows.environment import InvalidEnvironment, check_environment, check_size, secrets_of
from mobiletest_automation.model.failures import NO_PLATFORM, Category, Failure
from mobiletest_automation.model.run_config import RunConfig, with_defaults
from mobiletest_automation.model.variants import Variant
from services.chassis import logs
from services.chassis.context import current
from services.chassis.errors import FailedPrecondition, InvalidArgument, PermissionDenied, Violation
from services.chassis.fair_turns import FairTurns
from services.chassis.ids import new_id
from services.chassis.limit_refusals import check_models
from services.chassis.retry import log_transient, run_every
from services.executor.model import lifecycle
from services.executor.model.attribution import Ci, ExecutionSource, is_run_url, source_of
from services.executor.model.changes import start_execution
from services.executor.model.claim_order import claim_orders, release_stages
from services.executor.model.executions import (
    BuildConfig,
    CancelPrevious,
    Execution,
    ExecutionKind,
    StartSubject,
    has_lane,
)
from services.executor.model.lifecycle import extra_modes
from services.executor.model.organisation_limits import OrganisationLimits
from services.executor.model.runs import ResolvedRuns, Run, RunPlan
from services.executor.ports.executions import Catalog, Executions, Page, PlanTooLarge, Supersessions
from services.executor.usecases.organisation_limits import StartLimits
from services.executor.usecases.variants import find_variants

ALL_RUNS = Page(1, 100_000)
SWEEP_SECONDS = 5.0
SWEEP_LIMIT = 100
NO_RUN_URL = (
    "X-CI-Run-URL must be an http or https URL, such as https://ci.example/runs/1; leave it out if there is none"
)
NO_CHANGE = "Send X-CI-PR-Number or X-CI-Branch: cancel_previous uses it to find earlier executions of the same change"
# The scope with which a start may name secrets: that which sets them and names them in tests.
SECRETS_SCOPE = "write"
# Characters of the name of an execution.
NAME_LIMIT = 200
NO_NAME = "Send a name: cancel_previous uses it to find earlier executions of the same tests"
CHECKS_A_PROPOSAL = "The execution checks a proposal for a step, and is not repeated: accept it, then start the test"

log = logs.get(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class StartRequest:
    """A workflow or tests to start; `name` is that of several tests."""

    subject: StartSubject
    name: str | None = None
    run_config: RunConfig
    build_config: BuildConfig
    override_build_config: bool = False
    service_client: str | None = None
    ci: Ci = field(default_factory=Ci)
    priority: int = 0
    cancel_previous: bool = False
    # The ids of tests that run one after the other, before the others.
    sequence: tuple[str, ...] = ()
    continue_on_failure: bool = True


class ExecutionStarter:
    """Starts workflows and tests of the caller's organisation."""

    def __init__(self, catalog: Catalog, executions: Executions) -> None:
        self._catalog = catalog
        self._executions = executions
        self._limits = StartLimits(executions)
        # For plans that are large, and those of reruns, whose size is known only when they have been read.
        self._large_turns = FairTurns(2, per_org=1, waiting_per_org=64, waiting=256)

    async def start(self, wanted: StartRequest) -> Execution:
        """The stored execution: queued, or already ended when none of its runs can be started.

        Repeated with the same idempotency key, returns the execution created before.

        Raises:
            NotFound: no such workflow or test.
            InvalidArgument: build_config names an unknown app or version, the workflow has no tests, the URL of the CI
                run is not one, variables cannot be used, or cancel_previous is set without a pull request or branch.
            PermissionDenied: llm_config names a model that is not allowed, or variables name a secret and the caller
                may not write, or there will be no room for the runs.
            ResourceExhausted: too many runs or starts wait, or too many runs were started today.
        """
        if not is_run_url(wanted.ci.run_url or ""):
            raise InvalidArgument(NO_RUN_URL, violations=[Violation("ci.run_url", NO_RUN_URL, "url_parsing")])
        if wanted.cancel_previous and not has_lane(wanted.ci):
            raise InvalidArgument(NO_CHANGE, violations=[Violation("cancel_previous", NO_CHANGE, "missing")])
        if wanted.cancel_previous and wanted.subject.tests and wanted.name is None:
            raise InvalidArgument(NO_NAME, violations=[Violation("name", NO_NAME, "missing")])
        _check_sequence(wanted)
        wanted = replace(wanted, run_config=_with_checked_env(wanted.run_config))
        execution_id = new_id()
        with suppress(PlanTooLarge):
            return await self._start(wanted, execution_id)
        async with self._large_turns.take(current().org_id):
            return await self._start(wanted, execution_id, large=True)

    async def _start(self, wanted: StartRequest, execution_id: str, *, large: bool = False) -> Execution:
        resolved, now, _ = await asyncio.gather(
            self._catalog.resolve(
                wanted.subject,
                wanted.build_config,
                override_build_config=wanted.override_build_config,
                large=large,
            ),
            self._executions.now(),
            self._limits.refresh(),
        )
        execution = _make_execution(wanted, resolved, execution_id, now)
        with _reports_environment():
            check_size(execution.run_config.env, "run_config.env")
        stages = [_stage(wanted.sequence, plan) for plan in resolved.plans]
        return await self._store(execution, resolved.plans, resolved.limits, stages)

    async def rerun(
        self, execution_id: str, *, failed_only: bool, run_ids: Sequence[str] = (), service_client: str | None = None
    ) -> Execution:
        """A new execution of all runs of an ended one, of those that did not pass, or of those that are named.

        Apps, builds, test versions, configuration and attribution stay the same. Repeated with the same idempotency
        key, returns the execution created before.

        Raises:
            NotFound: it does not exist.
            InvalidArgument: a named run is not one of the execution.
            FailedPrecondition: the execution or a named run has not ended, it checks a proposal, or `failed_only` and
                every run passed.
            PermissionDenied: as for `start`.
            ResourceExhausted: as for `start`.
        """
        rerun_id = new_id()
        earlier = await self._executions.get(execution_id)
        if earlier.verifies is not None:  # by steps that are not those of the test, and whose verdict nobody may count
            raise FailedPrecondition(CHECKS_A_PROPOSAL, reason="CHECKS_A_PROPOSAL")
        if not earlier.status.terminal and not run_ids:
            message = f"The execution has not ended: it is {earlier.status}. Cancel it, or wait for its end"
            raise FailedPrecondition(message, reason="EXECUTION_NOT_ENDED")
        former_runs, _ = await self._executions.runs(execution_id, ALL_RUNS)
        named = _named_runs(former_runs, run_ids) if run_ids else former_runs
        runs = [run for run in named if not failed_only or run.success is not True]
        if not runs:
            raise FailedPrecondition("Nothing failed: every run of the execution passed", reason="NOTHING_FAILED")
        async with self._large_turns.take(current().org_id):
            plans, limits, _ = await asyncio.gather(
                self._executions.plans_of(execution_id), self._catalog.organisation_limits(), self._limits.refresh()
            )
            rerun = _rerun_of(earlier, rerun_id, service_client, await self._executions.now())
            return await self._store(rerun, [plans[run.id] for run in runs], limits, [run.stage for run in runs])

    async def check(self, earlier: Execution, run: Run, plan: RunPlan, execution_id: str) -> Execution:
        """A new execution that checks a proposal for a failed run by the changed plan, once, without retries.

        App, build, variables and configuration stay the same. Returns the execution if there is one with this id.

        Raises:
            PermissionDenied: as for `start`.
            ResourceExhausted: as for `start`.
        """
        async with self._large_turns.take(current().org_id):
            limits, _ = await asyncio.gather(self._catalog.organisation_limits(), self._limits.refresh())
            config = earlier.run_config
            mode = replace(config.execution_mode, retries=0, human_in_the_loop=False)
            execution = Execution(
                id=execution_id,
                org_id=earlier.org_id,
                kind=ExecutionKind.TEST,
                source=source_of(Ci(), None, via_gateway=current().via_gateway),
                created_at=await self._executions.now(),
                name=f"Check of a proposal for {run.target.test_name}"[:NAME_LIMIT],
                run_config=replace(config, execution_mode=mode),
                build_config=earlier.build_config,
                verifies=run.id,
            )
            return await self._store(execution, [plan], limits, [0])

    async def _store(
        self, execution: Execution, plans: Sequence[RunPlan], limits: OrganisationLimits, stages: Sequence[int]
    ) -> Execution:
        """Store a new execution with a run in a stage for each plan, and cancel what it supersedes."""
        execution = replace(execution, run_config=_with_screens(execution.run_config, limits))
        models = execution.run_config.llm_config
        check_models(limits.allowed_models, (models.primary_model, models.reflection_model, models.planning_model))
        counted = sum(plan.counts_as for plan in plans)
        async with self._limits.room(len(plans), limits, counted=counted):
            execution = replace(execution, counted_runs=counted, started_by=current().subject_name)
            return await self._add(execution, plans, stages)

    async def _add(self, execution: Execution, plans: Sequence[RunPlan], stages: Sequence[int]) -> Execution:
        orders, variants = await asyncio.gather(
            self._claim_orders(plans), find_variants(self._executions, execution, plans)
        )
        runs = [
            replace(_make_run(execution, plan, variant, position, order), stage=stage)
            for position, (plan, variant, order, stage) in enumerate(zip(plans, variants, orders, stages, strict=True))
        ]
        released = _release_first(runs, execution)
        by_run = dict(zip((run.id for run in released), plans, strict=True))
        stored = await self._executions.add(start_execution(execution, released, execution.created_at), by_run)
        if stored.cancel_previous is not None:
            await cancel_superseded(self._executions, stored)
        return stored

    async def _claim_orders(self, plans: Sequence[RunPlan]) -> list[int]:
        if len(plans) == 1:
            return [0]
        return claim_orders(await self._executions.expected_seconds([plan.target for plan in plans]))


def _with_screens(config: RunConfig, limits: OrganisationLimits) -> RunConfig:
    """The configuration, with the organisation's setting if it does not say which screens are kept."""
    return config if config.screens is not None else replace(config, screens=limits.screens)


def _with_checked_env(config: RunConfig) -> RunConfig:
    """InvalidArgument for variables that cannot be used; PermissionDenied for those that the caller may not use."""
    with _reports_environment():
        checked = replace(config, env=check_environment(config.env, "run_config.env"))
    _check_may_name_secrets(secrets_of(checked.env))
    return checked


def _check_may_name_secrets(secrets: Mapping[str, str]) -> None:
    """PermissionDenied: whoever chooses the variable of a secret chooses where a test types it, as its author does."""
    if secrets and SECRETS_SCOPE not in current().scopes:
        message = (
            f"run_config.env.{min(secrets)} names a secret, for which a start needs the scope {SECRETS_SCOPE}: add it, "
            "or name the secret in env of the test or the workflow"
        )
        raise PermissionDenied(message, reason="SCOPE_MISSING", metadata={"scope": SECRETS_SCOPE})


@contextmanager
def _reports_environment() -> Iterator[None]:
    try:
        yield
    except InvalidEnvironment as error:
        violations = [Violation(name, problem, "value_error") for name, problem in error.problems]
        raise InvalidArgument(str(error), violations=violations) from error


def _make_execution(wanted: StartRequest, resolved: ResolvedRuns, execution_id: str, now: datetime) -> Execution:
    caller = current()
    return Execution(
        id=execution_id,
        org_id=caller.org_id,
        kind=wanted.subject.kind,
        source=source_of(wanted.ci, wanted.service_client, via_gateway=caller.via_gateway),
        created_at=now,
        workflow_id=resolved.workflow_id or None,
        workflow_name=resolved.workflow_name or None,
        name=wanted.name,
        shard=wanted.subject.shard,
        ci=wanted.ci,
        service_client=wanted.service_client,
        run_config=with_defaults(resolved.run_config, wanted.run_config),
        build_config=wanted.build_config,
        max_parallel=resolved.max_parallel,
        sequence=len(wanted.sequence),
        continue_on_failure=wanted.continue_on_failure,
        priority=wanted.priority,
        cancel_previous=CancelPrevious.PENDING if wanted.cancel_previous else None,
        notice=resolved.notice,
    )


def _named_runs(runs: Sequence[Run], run_ids: Sequence[str]) -> list[Run]:
    """InvalidArgument: an id is of none of the runs; FailedPrecondition: a named run has not ended."""
    known = {run.id: run for run in runs}
    unknown = [position for position, run_id in enumerate(run_ids) if run_id not in known]
    if unknown:
        message = "The execution has no such run"
        violations = [Violation(f"run_ids[{position}]", message, "not_found") for position in unknown]
        raise InvalidArgument(message, violations=violations)
    named = [run for run in runs if run.id in set(run_ids)]
    for run in named:
        if not run.status.terminal:
            message = f'The run of "{run.target.test_name}" has not ended: it is {run.status}. Wait for its end'
            raise FailedPrecondition(message, reason="RUN_NOT_ENDED")
    return named


def _rerun_of(earlier: Execution, rerun_id: str, service_client: str | None, now: datetime) -> Execution:
    return Execution(
        id=rerun_id,
        org_id=earlier.org_id,
        kind=earlier.kind,
        source=ExecutionSource.RERUN,
        created_at=now,
        workflow_id=earlier.workflow_id,
        workflow_name=earlier.workflow_name,
        name=earlier.name,
        shard=earlier.shard,
        ci=earlier.ci,
        service_client=service_client,
        run_config=earlier.run_config,
        build_config=earlier.build_config,
        max_parallel=earlier.max_parallel,
        sequence=earlier.sequence,
        continue_on_failure=earlier.continue_on_failure,
        priority=earlier.priority,
        rerun_of=earlier.id,
    )


def _make_run(execution: Execution, plan: RunPlan, variant: Variant, position: int, claim_order: int) -> Run:
    """The run, not yet released; one that cannot be started has already failed."""
    now = execution.created_at
    run = Run(
        id=new_id(),
        execution_id=execution.id,
        org_id=execution.org_id,
        position=position,
        target=plan.target,
        retries=execution.run_config.execution_mode.retries or 0,
        extra_modes=extra_modes(execution.run_config),
        created_at=now,
        priority=execution.priority,
        claim_order=claim_order,
        variant=variant,
        verifies=execution.verifies,
    )
    if plan.config_error:
        failure = Failure(Category.CONFIG_INVALID, plan.config_error, reason=plan.config_error)
        return lifecycle.end(run, failure, now)
    return run if plan.target.platform is not None else lifecycle.end(run, NO_PLATFORM, now)


def _check_sequence(wanted: StartRequest) -> None:
    """InvalidArgument: an id of the sequence is of none of the tests."""
    known = {test.test_id for test in wanted.subject.tests}
    unknown = [position for position, test_id in enumerate(wanted.sequence) if test_id not in known]
    if unknown:
        message = "The test is not among the tests to start"
        violations = [Violation(f"sequence[{position}]", message, "not_found") for position in unknown]
        raise InvalidArgument(message, violations=violations)


def _stage(sequence: Sequence[str], plan: RunPlan) -> int:
    test_id = plan.target.test_id
    return sequence.index(test_id) if test_id in sequence else len(sequence)


def _release_first(runs: list[Run], execution: Execution) -> list[Run]:
    """The runs, of which those of the first stage are queued, or the first `max_parallel` ones by claim order."""
    max_parallel, now = execution.max_parallel, execution.created_at
    if execution.sequence:
        return release_stages(runs, execution.sequence, now, continue_on_failure=execution.continue_on_failure)
    waiting = sorted((run for run in runs if not run.status.terminal), key=lambda run: run.claim_order)
    first = frozenset(run.id for run in waiting[:max_parallel])
    return [lifecycle.queue(run, now) if run.id in first else run for run in runs]


async def cancel_superseded(executions: Executions | Supersessions, execution: Execution) -> None:
    """Cancel what the execution supersedes; what cannot be cancelled now is left to the sweep."""
    with log_transient(log, "superseding_postponed", execution_id=execution.id):
        await executions.supersede(execution)


class SupersessionSweep:
    """Finishes starts, of all organisations, whose process died. Several processes may sweep at once."""

    def __init__(self, supersessions: Supersessions) -> None:
        self._supersessions = supersessions

    async def run(self) -> None:
        """Sweep until cancelled."""
        await asyncio.sleep(SWEEP_SECONDS)
        await run_every(SWEEP_SECONDS, self.sweep, log=log, event="superseding_failed")

    async def sweep(self) -> None:
        """Finish the pending starts once."""
        for execution in await self._supersessions.pending(SWEEP_LIMIT):
            await cancel_superseded(self._supersessions, execution)
