"""Tools that start and cancel executions and change tests: only there with --allow-run."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import anyio.from_thread
from mcp.server.mcpserver import Context
from pydantic import Field

from mobiletest_automation.flows.printable import printable
from mobiletest_cli import lookup, presentation
from mobiletest_cli.api import Api
from mobiletest_cli.errors import NOT_FOUND, USAGE, CliError, RequestRefused
from mobiletest_cli.mcp_server.calls import Calls
from mobiletest_cli.mcp_server.failure_tools import Step
from mobiletest_cli.mcp_server.project_files import ProjectFiles
from mobiletest_cli.mcp_server.read_tools import Answer, ExecutionId, TestName, describe_execution
from mobiletest_cli.output import Output
from mobiletest_cli.printable import printable_values
from mobiletest_cli.progress import Follower, RunTally, WaitEnded
from mobiletest_cli.selection import Selection
from mobiletest_cli.start import Start, StartBuilder

if TYPE_CHECKING:
    from mobiletest_cli.api_types import Execution, Run, Test

CHANGED = 412
WaitSeconds = Annotated[
    int, Field(ge=0, le=3600, description="Seconds to wait for the end; the execution goes on after them")
]
Names = Annotated[list[str] | None, Field(max_length=100)]


class RunTools:
    """Each of these changes something on the server."""

    def __init__(self, api: Api, files: ProjectFiles, calls: Calls) -> None:
        self._api = api
        self._files = files
        self._calls = calls
        self._waits = Calls(most=8)

    async def run_flow(
        self,
        ctx: Context,
        paths: Annotated[Names, Field(description="Flows or folders of flows in the project")] = None,
        tests: Annotated[Names, Field(description="Names of tests: of these flows, or else stored ones")] = None,
        tags: Annotated[Names, Field(description="Only tests with one of these tags")] = None,
        app: Annotated[str | None, Field(description="Name or id of the app")] = None,
        app_file: Annotated[str | None, Field(description="App file (.apk, .ipa) in the project to upload")] = None,
        build: Annotated[str | None, Field(description="Version of the build; the current one without it")] = None,
        env: Annotated[
            dict[str, str | dict[str, str | bool]] | None,
            Field(max_length=100, description='Variables of the flows; {"value": "...", "secret": true} is masked'),
        ] = None,
        wait_seconds: WaitSeconds = 600,
    ) -> Answer:
        """Run flows of the project (imported first), or stored tests, on a build; the results and what failed."""

        def prepare() -> Start:
            if not (paths or tests or tags):
                raise CliError("nothing is selected", USAGE, "Give paths, tests or tags")
            files = [self._files.find(path) for path in paths or ()]
            if files:
                self._files.check(files)
            wanted = Selection(
                app_files=[self._files.find(app_file)] if app_file else (),
                apps=[app] if app else (),
                version=build,
                paths=files,
                tests=tests or (),
                tags=tags or (),
                env=env or {},
            )
            return StartBuilder(self._api, Output(as_json=True, quiet=True)).build(wanted)

        return await self._start(ctx, prepare, wait_seconds)

    async def wait_for_execution(self, ctx: Context, execution: ExecutionId, wait_seconds: WaitSeconds = 600) -> Answer:
        """Wait for the end of an execution; its results and what failed."""
        return await self._wait(ctx, execution, wait_seconds)

    async def rerun_failed(self, ctx: Context, execution: ExecutionId, wait_seconds: WaitSeconds = 600) -> Answer:
        """Run again what did not pass, on the same builds with the same versions of the tests."""
        start = Start(f"executions/{execution}/rerun", {"failed_only": True})
        return await self._start(ctx, lambda: start, wait_seconds)

    def cancel_execution(self, execution: ExecutionId) -> Answer:
        """Cancel an execution: its runs that have not ended get no verdict; those under way end within seconds."""
        answer: Answer = self._api.post(f"executions/{execution}/cancel", {})
        return answer

    def heal_step(self, execution: ExecutionId, run: Annotated[str, Field(description="Id of a failed run")]) -> Answer:
        """Propose how to write the step of a run that did not find its element, and have a run check that.

        While the state is "verifying", wait for the execution check_execution_id and call this again. Only a proposal
        that is "verified" may be offered to a person, who decides; nothing is changed by this.
        """
        path = f"executions/{execution}/runs/{run}/healing"
        healing: Answer = self._api.get(path)
        if healing["state"] == "unverified" and not healing["reason"]:
            healing = self._api.post(path, {})
        shown: Answer = printable_values(healing)
        return shown

    def apply_fix(
        self,
        test: TestName,
        position: Annotated[int, Field(ge=0, description="Position of the step, as get_test shows it")],
        current: Annotated[Any, Field(description="The step that is there now, as get_test shows it")],
        step: Step,
    ) -> Answer:
        """Replace one step of a test that is not imported from a file; this makes a new version of the test.

        It is refused if another step is there: somebody has changed the test since it was read.
        """
        test_details = lookup.find_test(self._api, test)
        response = self._api.call("GET", f"tests/{test_details['id']}")
        stored: Test = response.json()
        steps = list(stored["steps"] or ())
        _check_step(stored, steps[position : position + 1], current)
        steps[position] = step
        try:
            changed: Test = self._api.call(
                "PATCH",
                f"tests/{stored['id']}",
                json={"steps": steps},
                headers={"If-Match": response.headers["ETag"]},
                repeatable=False,
            ).json()
        except RequestRefused as refused:
            if refused.status == CHANGED:
                raise CliError("the test has just been changed by somebody else", USAGE, "Read it again") from None
            raise
        return {"test": changed["name"], "version_number": changed["version_number"], "was": current, "is": step}

    async def _start(self, ctx: Context, prepare: Callable[[], Start], wait_seconds: int) -> Answer:
        def start() -> str:
            prepared = prepare()
            return str(self._api.start(prepared.path, prepared.body, key=str(uuid.uuid4()))["id"])

        return await self._wait(ctx, await self._calls.run(start), wait_seconds)

    async def _wait(self, ctx: Context, execution: str, seconds: int) -> Answer:
        cancelled = threading.Event()

        tally = RunTally()

        def show_runs(runs: Sequence[Run]) -> None:
            for run in runs:
                tally.add_run(run)
            show()

        def show_execution(execution: Execution) -> None:
            tally.add_execution(execution)
            show()

        def show() -> None:
            if cancelled.is_set():
                raise CliError("the wait was cancelled", USAGE)
            numbers = tally.counts
            ended = numbers["total"] - numbers.get("running", 0) - numbers["queued"]
            text = printable(presentation.counts_text(numbers))
            anyio.from_thread.run(partial(ctx.report_progress, ended, numbers["total"], text))

        def wait() -> Answer:
            follower = Follower(self._api, execution, on_runs=show_runs, on_execution=show_execution)
            more = {}
            try:
                follower.wait(seconds)
            except WaitEnded as ended:
                more = {"not_ended": f"{ended.message}; it goes on: wait_for_execution"}
            return {**describe_execution(self._api, execution), **more}

        try:
            return await self._waits.run(wait)
        finally:
            cancelled.set()


def _check_step(test: Test, there: Sequence[Any], current: Any) -> None:
    """CliError: the step is not there, or belongs to a file."""
    if test["source_path"] or test["files"]:
        place = f"the file {test['source_path']} of {test['workspace']}" if test["source_path"] else "its files"
        raise CliError(f"the steps of this test come from {place}", USAGE, "Change the file, and run it with run_flow")
    if printable_values(there) != printable_values([current]):  # the agent knows it as get_test shows it
        hint = f"version {test['version_number']} has other steps: get_test shows them"
        raise CliError("the step at this position is not the one that was given", NOT_FOUND, hint)
