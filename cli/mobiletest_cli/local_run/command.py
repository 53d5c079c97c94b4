"""`mobiletest run --local`: prepares, runs, reports, and decides on the exit code, all in this process."""

from __future__ import annotations

import asyncio
import os
import signal
import tempfile
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from mobiletest_automation import logs
from mobiletest_automation.web_addresses import EVERY_NAME, EVERYWHERE
from mobiletest_cli.errors import NO_VERDICT, OK, TIMEOUT, USAGE, CliError, exit_code
from mobiletest_cli.interruption import Interrupted
from mobiletest_cli.local_run.devices import ChosenDevice, ThisMachine, choose_device
from mobiletest_cli.local_run.flow_editor import FlowEditor
from mobiletest_cli.local_run.interactive import TerminalHuman, check_terminal, read_line
from mobiletest_cli.local_run.preparation import has_models, prepare
from mobiletest_cli.local_run.results import EvidenceFolder, LocalResults, LocalRun
from mobiletest_cli.local_run.runner import CLOSE_SECONDS, LocalRunner, Plan
from mobiletest_cli.local_run.sessions import OneDevice, running_hub
from mobiletest_cli.local_run.watch import WatchedFiles, run_on_change
from mobiletest_cli.output import Output
from mobiletest_cli.progress_display import Display
from mobiletest_cli.results.files import Destinations, ResultFiles
from mobiletest_cli.results.publication import publish
from mobiletest_cli.results.report import Report

if TYPE_CHECKING:
    from mobiletest_automation.model_ports import ModelProvider
    from mobiletest_automation.scripting.http import HttpRequest, HttpResponse, SendHttp
    from mobiletest_cli.commands.run import LocalOptions, WaitLimits
    from mobiletest_cli.selection import Selection
    from mobiletest_cli.workspace import Workspace

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class LocalTestRun:
    """Runs what is selected, once or after each change."""

    def __init__(self, output: Output, destinations: Destinations) -> None:
        self._output = output
        self._destinations = destinations
        # Of the last run.
        self._evidence: Path | None = None
        self._evidence_folders: Collection[EvidenceFolder] = ()

    def run(self, wanted: Selection, options: LocalOptions, limits: WaitLimits) -> int:
        """The exit code. A signal ends it, and closes the session first.

        Raises:
            CliError: it could not be started.
        """
        self._destinations.check(wait=True)
        if options.interactive:
            check_terminal(self._output)
            wanted = replace(wanted, retries=0)
        device = choose_device(ThisMachine(), options.device, wanted.platform, options.capability or ())
        if not options.watch:
            return self._run_once(wanted, options, limits, device)
        if self._output.as_json:
            raise CliError("--json is one document, and --watch runs again and again", USAGE, "Leave out one of them")
        files = WatchedFiles(wanted.paths, wanted.app_files, without=self._destinations.artifacts)
        return run_on_change(self._output, files, lambda: self._run_once_more(wanted, options, limits, device))

    def _run_once_more(self, wanted: Selection, options: LocalOptions, limits: WaitLimits, device: ChosenDevice) -> int:
        """As `_run_once`, but what is wrong is shown, since the next change may repair it."""
        for folder in self._evidence_folders:
            folder.delete()
        if self._evidence is not None:
            _remove_if_empty(self._evidence)
        try:
            return self._run_once(wanted, options, limits, device)
        except CliError as error:
            self._output.error(error)
            return error.exit_code

    def _run_once(self, wanted: Selection, options: LocalOptions, limits: WaitLimits, device: ChosenDevice) -> int:
        plan, files = prepare(self._output, wanted, device, options.from_, options.until)
        part = f" ({plan.flows[0].part})" if plan.flows[0].part else ""
        name = wanted.name or wanted.workspace or Path.cwd().name or "mobiletest"
        results = LocalResults(str(uuid4()), f"{name}{part}")
        self._evidence_folders = results.evidence_folders.values()
        app = wanted.app_files[0] if wanted.app_files else None
        with self._evidence_folder() as evidence:
            with _logs_shown(self._output), running_hub(device) as running:
                editor = FlowEditor(files.text, files.display_path) if options.interactive else None
                reports = self._destinations.artifacts is not None
                work = _Work(self._output, results, evidence, limits.timeout, editor, reports=reports)
                reason = asyncio.run(work.run(plan, running, app))
            results.finish_evidence(self._output)
        if reason is not None and reason.exit_code == TIMEOUT and not limits.fail_on_timeout:
            self._output.warn(reason.message)
            reason = None
        return self._publish(results, files, reason)

    def _publish(self, results: LocalResults, files: Workspace, reason: CliError | None) -> int:
        """Write the files and show the results; the exit code. `reason` is why the flows were cancelled."""
        execution = results.execution(cancelled=isinstance(reason, Interrupted))
        paths = {run.path: files.display_path(run.path) for run in results.runs}
        report = Report(execution, results.documents(), None, paths, "", files.display_path)
        code = reason.exit_code if reason is not None else exit_code(execution, None, fail_on_cancellation=False)
        if code == OK and any(run.success and run.human_helped for run in results.runs):
            code = NO_VERDICT
        return publish(self._output, ResultFiles(results, self._output, self._destinations), report, code, error=reason)

    @contextmanager
    def _evidence_folder(self) -> Iterator[Path]:
        """The folder for artifacts, which is removed if there are none."""
        self._evidence = self._destinations.artifacts or Path(tempfile.mkdtemp(prefix="mobiletest-"))
        try:
            yield self._evidence
        finally:
            _remove_if_empty(self._evidence)


class _Work:
    """The part that runs in an event loop."""

    def __init__(
        self,
        output: Output,
        results: LocalResults,
        evidence: Path,
        timeout: float | None,
        editor: FlowEditor | None,
        *,
        reports: bool,
    ) -> None:
        """`timeout` is in seconds; with an `editor` a person tries steps where one fails, with `reports` one of each
        run that does not pass is written.
        """
        self._output = output
        self._editor = editor
        self._results = results
        self._evidence = evidence
        self._timeout = timeout
        self._reports = reports
        self._reason: CliError | None = None
        self._display = Display(output)

    async def run(self, plan: Plan, device: ChosenDevice, app: Path | None) -> CliError | None:
        """Run the plan; why it ended early, None if it did not."""
        async with AsyncExitStack() as stack:
            devices = OneDevice(device, app)
            runner = LocalRunner(
                devices,
                self._results,
                self._evidence,
                on_change=self._show,
                on_defect=self._show_defect,
                models=await _open_models(stack, os.environ),
                new_http=_new_http,
                new_human=self._new_human,
                reports=self._reports,
            )
            task = asyncio.ensure_future(runner.run(plan, lambda: str(uuid4())))
            with self._stopped_by_signals(task, devices), self._live():
                await self._wait(task)
            await devices.close(CLOSE_SECONDS)
            if self._reason is not None and device.hub:
                self._output.say(f"Closed the session on {device.name}.")
        return self._reason

    async def _wait(self, task: asyncio.Future[None]) -> None:
        seconds = self._timeout
        try:
            async with asyncio.timeout(seconds):
                await task
        except TimeoutError:
            self._reason = CliError(f"the flows have not ended within {seconds:g} s", TIMEOUT)
        except asyncio.CancelledError:
            if self._reason is None:
                raise

    def _new_human(self, folder: EvidenceFolder) -> TerminalHuman | None:
        return TerminalHuman(self._output, self._editor, folder, read_line) if self._editor is not None else None

    def _show(self, run: LocalRun) -> None:
        self._display.tally.add_execution(self._results.execution())
        self._display.show_runs([self._results.document(run)])

    def _show_defect(self, error: Exception) -> None:
        if os.environ.get("MOBILETEST_DEBUG"):
            self._output.traceback(error)

    @contextmanager
    def _live(self) -> Iterator[None]:
        if not self._output.live or self._editor is not None:
            yield
            return
        with self._output.status(lambda: self._display.line(0.0)):
            yield

    @contextmanager
    def _stopped_by_signals(self, task: asyncio.Future[None], devices: OneDevice) -> Iterator[None]:
        """The first signal cancels the task, which closes its session; the second ends the process at once."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        loop = asyncio.get_running_loop()

        def stop(number: int) -> None:
            if self._reason is not None:
                os._exit(128 + number)
            self._reason = Interrupted(number)
            what = f"closing the session on {devices.open.info.name} ..." if devices.open else "stopping ..."
            self._output.say(f"{what[0].upper()}{what[1:]} Again to leave at once.")
            task.cancel()

        for number in _SIGNALS:
            loop.add_signal_handler(number, stop, number)
        try:
            yield
        finally:
            for number in _SIGNALS:
                loop.remove_signal_handler(number)


async def _open_models(stack: AsyncExitStack, environ: Mapping[str, str]) -> ModelProvider | None:
    """The models that the variables MOBILETEST_LLM_* name; None without MOBILETEST_LLM_BASE_URL.

    Raises:
        CliError: a variable cannot be used.
    """
    if not has_models(environ):
        return None
    from mobiletest_cli.local_run.models import open_models, read_settings

    return await open_models(stack, read_settings(environ))


def _new_http() -> SendHttp:
    """What sends the requests of the scripts of one attempt: to every host, since this is the machine of their author.

    It is imported with the first request.
    """

    async def read_hosts() -> Sequence[str]:
        return (EVERY_NAME,)

    @cache
    def sender() -> SendHttp:
        from mobiletest_automation.scripting.http_client import ScriptHttp

        return ScriptHttp(read_hosts, EVERYWHERE).send

    async def send(request: HttpRequest) -> HttpResponse:
        return await sender()(request)

    return send


class _LogLines:
    """Shows logs as lines of the command."""

    def __init__(self, output: Output) -> None:
        self._output = output

    def msg(self, line: str) -> None:
        self._output.say(logs.redact_text(logs.mask_text(line)))

    debug = info = warning = error = critical = exception = msg


@contextmanager
def _logs_shown(output: Output) -> Iterator[None]:
    """Show logs as lines of the command if MOBILETEST_DEBUG is set: they are for operators of servers."""
    import structlog

    earlier = structlog.get_config()
    if os.environ.get("MOBILETEST_DEBUG"):
        renderer = structlog.dev.ConsoleRenderer(colors=False)
        structlog.configure(processors=[renderer], logger_factory=lambda *_: _LogLines(output))
    else:
        structlog.configure(processors=[], logger_factory=structlog.ReturnLoggerFactory())
    try:
        yield
    finally:
        structlog.configure(**earlier)


def _remove_if_empty(folder: Path) -> None:
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
