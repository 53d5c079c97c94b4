"""Runs flows one after the other on one device, by the automation that workers of a server run, too."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mobiletest_automation.attempt import AttemptRunner
from mobiletest_automation.attempt_request import AttemptRequest
from mobiletest_automation.devices.port import NO_BUILD, AppUnderTest, Devices
from mobiletest_automation.model.attempts import Attempt, close_attempt, verdict
from mobiletest_automation.model.failures import Category, Failure, cancellation, not_run_after
from mobiletest_automation.model.results import AttemptResult
from mobiletest_automation.model.run_config import ExecutionMode, RunConfig, Screens
from mobiletest_automation.model.states import Status
from mobiletest_automation.model.variants import EMPTY_VARIANT, Variant
from mobiletest_cli.local_run.results import EvidenceFolder, LocalResults, LocalRun

if TYPE_CHECKING:
    from mobiletest_automation.model_ports import ModelProvider
    from mobiletest_automation.ports import Human
    from mobiletest_automation.scripting.http import SendHttp
    from mobiletest_cli.local_run.run_report import HeldScreens

# How long a stopped attempt waits for its session to be closed.
CLOSE_SECONDS = 60.0
# How long an attempt may last in which a person tries steps.
INTERACTIVE_SECONDS = 24 * 3600.0
WORKER = "this machine"


@dataclass(frozen=True)
class PlannedFlow:
    """A flow to run. `steps` are JSON, `positions` as `flows.positions` writes them, `files` those that it uses.

    `in_order`: executionOrder of config.yaml names it. `left_out` are the paths of steps that are not run, the first
    among them if it `begins_later`, and `part` says which are ("steps 3 to 5 of 9"); "" for all.
    """

    path: str
    name: str
    steps: str
    positions: str = ""
    files: Mapping[str, Path] = field(default_factory=dict)
    properties: tuple[tuple[str, str], ...] = ()
    in_order: bool = False
    left_out: frozenset[str] = frozenset()
    begins_later: bool = False
    part: str = ""
    variant: Variant = EMPTY_VARIANT


@dataclass(frozen=True)
class Plan:
    """The flows to run in order, on a device of the platform ("Android"), with variables of which some are secret.

    `build` is the app; `retries` are further attempts after a failing verdict.
    """

    flows: Sequence[PlannedFlow]
    platform: str
    build: AppUnderTest = NO_BUILD
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)
    secrets: frozenset[str] = frozenset()
    retries: int = 0
    continue_on_failure: bool = True


class LocalFlowFiles:
    """The port FlowFiles on files of this machine."""

    def __init__(self, files: Mapping[str, Path]) -> None:
        self._files = files

    def __contains__(self, path: object) -> bool:
        return path in self._files

    async def read(self, path: str) -> bytes:
        return await asyncio.to_thread(self._files[path].read_bytes)


class LocalRunner:
    """Runs plans. `on_change` is called with each run that begins or has ended, `on_defect` with errors of ours."""

    def __init__(
        self,
        devices: Devices,
        results: LocalResults,
        evidence: Path,
        *,
        on_change: Callable[[LocalRun], None],
        on_defect: Callable[[Exception], None],
        models: ModelProvider | None = None,
        new_http: Callable[[], SendHttp] | None = None,
        new_human: Callable[[EvidenceFolder], Human | None] = lambda _: None,
        reports: bool = False,
    ) -> None:
        """Artifacts go to a folder for each run in the folder `evidence`. `new_http` makes what sends the requests of
        the scripts of one attempt; None: they have no network. `new_human` makes the person who tries steps where one
        fails, if there is one. With `reports`, runs that do not pass get one with the screens of their steps.
        """
        self._devices = devices
        self._models = models
        self._new_http = new_http
        self._new_human = new_human
        self._results = results
        self._evidence = evidence
        self._on_change = on_change
        self._on_defect = on_defect
        self._reports = reports
        # Of the run under way.
        self._screens: HeldScreens | None = None

    async def run(self, plan: Plan, new_id: Callable[[], str]) -> None:
        """Run the flows; how they went is in the results. When it is cancelled, so are the runs that have not ended."""
        version = plan.build.version or None
        self._results.runs = [
            LocalRun(
                id=new_id(),
                name=f"{flow.name} ({flow.part})" if flow.part else flow.name,
                path=flow.path,
                part=flow.part,
                variant=flow.variant,
                platform=plan.platform,
                version=version,
                properties=flow.properties,
            )
            for flow in plan.flows
        ]
        failed = ""
        try:
            for index, flow in enumerate(plan.flows):
                if failed and flow.in_order:
                    self._end(index, not_run_after(failed))
                    continue
                await self._run_flow(index, plan, flow)
                if flow.in_order and not plan.continue_on_failure and not self._results.runs[index].success:
                    failed = failed or flow.name
        except asyncio.CancelledError:
            for index, run in enumerate(self._results.runs):
                if not run.status.terminal:
                    await self._finish(index, cancellation(None))
            raise

    async def _run_flow(self, index: int, plan: Plan, flow: PlannedFlow) -> None:
        """Attempts until one passes, has no verdict, or no retry is left."""
        if self._reports:
            from mobiletest_cli.local_run.run_report import HeldScreens

            self._screens = HeldScreens()
        self._change(index, status=Status.RUNNING, started_at=_now())
        for number in range(1, plan.retries + 2):
            attempt = await self._attempt(index, plan, flow, number)
            if not attempt.failed_verdict:
                break
        await self._finish(index, attempt.failure)

    async def _attempt(self, index: int, plan: Plan, flow: PlannedFlow, number: int) -> Attempt:
        run = self._results.runs[index]
        folder = self._results.evidence_folders.setdefault(run.id, EvidenceFolder(self._evidence / run.id))
        begun = Attempt(number=number, worker=WORKER, started_at=_now())
        self._change(index, attempts=(*run.attempts, begun))
        partial: dict[str, Any] = {}

        async def remember(steps: Sequence[Any], artifacts: Sequence[Any]) -> None:
            partial.update(steps=tuple(steps), artifacts=tuple(artifacts))

        human = self._new_human(folder)
        try:
            http = self._new_http() if self._new_http is not None else None
            runner = AttemptRunner(self._devices, model=self._models, http=http, release_seconds=CLOSE_SECONDS)
            result = await runner.run(
                self._request(run, plan, flow, number, interactive=human is not None),
                evidence=folder,
                progress=remember,
                human=human,
                files=LocalFlowFiles(flow.files),
                screens=self._screens,
            )
        except asyncio.CancelledError:
            stopped = close_attempt(begun, AttemptResult(failure=cancellation(None), **partial), _now())
            self._change(index, attempts=(*run.attempts, stopped))
            raise
        except Exception as error:
            self._on_defect(error)
            message = f"Internal error ({type(error).__name__}: {error}); MOBILETEST_DEBUG=1 shows the traceback."
            result = AttemptResult(failure=Failure(Category.UNKNOWN, message), **partial)
        ended = close_attempt(begun, result, _now())
        self._change(index, attempts=(*run.attempts, ended))
        return ended

    def _request(
        self, run: LocalRun, plan: Plan, flow: PlannedFlow, number: int, *, interactive: bool
    ) -> AttemptRequest:
        request = AttemptRequest(
            run_id=run.id,
            flow_name=Path(flow.path).stem,
            use_cache=False,
            attempt=number,
            platform=plan.platform.lower(),
            steps=json.loads(flow.steps),
            positions=flow.positions,
            left_out=flow.left_out,
            build=plan.build,
            config=RunConfig(execution_mode=ExecutionMode(retries=plan.retries), screens=Screens.FAILED),
            env=plan.variables,
            secrets=plan.secrets,
        )
        return replace(request, interactive=True, run_seconds=INTERACTIVE_SECONDS) if interactive else request

    async def _finish(self, index: int, failure: Failure | None) -> None:
        """End the run, and write its report if it has not passed."""
        self._end(index, failure)
        run = self._results.runs[index]
        if self._screens is not None and run.attempts and not run.success:
            from mobiletest_cli.local_run.run_report import write_report

            await write_report(run, self._screens, self._results.evidence_folders[run.id])

    def _end(self, index: int, failure: Failure | None) -> None:
        status, success = verdict(failure)
        self._change(index, status=status, success=success, failure=failure, completed_at=_now())

    def _change(self, index: int, **fields: Any) -> None:
        run = self._results.runs[index] = replace(self._results.runs[index], **fields)
        if "status" in fields:
            self._on_change(run)


def _now() -> datetime:
    return datetime.now(UTC)
