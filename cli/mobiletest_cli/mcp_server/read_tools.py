"""Tools that read what the organisation has and how it is doing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, Field

from mobiletest_cli import lookup, presentation
from mobiletest_cli.api import Api
from mobiletest_cli.errors import INVALID_FILE, CliError
from mobiletest_cli.mcp_server import summaries
from mobiletest_cli.mcp_server.project_files import ProjectFiles
from mobiletest_cli.names import is_id

if TYPE_CHECKING:
    from mobiletest_cli.api_types import Run

AppName = Annotated[str, Field(description="Name or id of an app", max_length=200)]
TestName = Annotated[str, Field(description="Name or id of a test", max_length=200)]


def _check_id(text: str) -> str:
    if not is_id(text):
        raise ValueError("this is not the id of an execution: list_executions shows them")
    return text


ExecutionId = Annotated[str, Field(description="Id of an execution", max_length=100), AfterValidator(_check_id)]
Limit = Annotated[int, Field(ge=1, le=100, description="At most so many")]
Answer = dict[str, Any]


class ReadTools:
    """Nothing that these do changes anything."""

    def __init__(self, api: Api, files: ProjectFiles) -> None:
        self._api = api
        self._files = files

    def list_apps(self, limit: Limit = 20) -> Answer:
        """List the apps with their current build, number of tests and pass rate."""
        return _answer("apps", map(summaries.app_summary, self._api.pages("apps", limit=limit + 1)), limit)

    def list_builds(self, app: AppName, limit: Limit = 20) -> Answer:
        """List the builds of an app, newest first."""
        app_details = lookup.find_app(self._api, app)
        builds = self._api.pages(f"apps/{app_details['id']}/builds", limit=limit + 1)
        return _answer("builds", (summaries.build_summary(build, app_details) for build in builds), limit)

    def list_tests(
        self,
        app: Annotated[str | None, Field(description="Only tests of this app, by name or id")] = None,
        tag: Annotated[str | None, Field(description="Only tests with this tag")] = None,
        search: Annotated[str | None, Field(description="A part of the name")] = None,
        limit: Limit = 20,
    ) -> Answer:
        """List tests. get_test shows the steps of one."""
        app_id = lookup.find_app(self._api, app)["id"] if app else None
        tests = self._api.pages("tests", limit=limit + 1, app_id=app_id, tag=tag, search=search)
        return _answer("tests", map(summaries.test_summary, tests), limit)

    def get_test(self, test: TestName) -> Answer:
        """Show the steps of a test with their positions, and the file that it was imported from."""
        test_details = self._api.get(f"tests/{lookup.find_test(self._api, test)['id']}")
        steps = [{"position": position, "step": step} for position, step in enumerate(test_details["steps"])]
        return {**summaries.test_summary(test_details), "description": test_details["description"], "steps": steps}

    def test_history(self, test: TestName, limit: Limit = 20) -> Answer:
        """List the newest runs of a test on all builds: since when it fails, and whether it is flaky."""
        test_details = lookup.find_test(self._api, test)
        runs = (
            {
                "execution_id": run["execution_id"],
                "outcome": run["status"],
                "success": run["success"],
                "build": run["resolved_build_version"],
                "completed_at": run["completed_at"],
            }
            for run in self._api.pages(f"tests/{test_details['id']}/runs", limit=limit + 1)
        )
        return _answer("runs", runs, limit)

    def list_executions(
        self,
        app: Annotated[str | None, Field(description="Only of this app, by name or id")] = None,
        branch: Annotated[str | None, Field(description="Only of this branch")] = None,
        limit: Limit = 20,
    ) -> Answer:
        """List executions, newest first."""
        app_id = lookup.find_app(self._api, app)["id"] if app else None
        executions = self._api.pages("executions", limit=limit + 1, app_id=app_id, branch=branch)
        return _answer("executions", (summaries.execution_summary(self._api, each) for each in executions), limit)

    def get_execution(self, execution: ExecutionId, limit: Limit = 20) -> Answer:
        """Show how an execution went, with the runs that did not pass; read_failure shows one of them."""
        return describe_execution(self._api, execution, limit)

    def get_gate(
        self,
        execution: ExecutionId | None = None,
        build: Annotated[str | None, Field(description="Version or id of a build, instead of an execution")] = None,
        app: Annotated[str | None, Field(description="App of the build, by name or id")] = None,
        base_branch: Annotated[str | None, Field(description="Branch to compare with")] = None,
    ) -> Answer:
        """Ask whether CI may continue after an execution, or with a build by the newest verdict of each attached test,
        and which failures are new, known, flaky or quarantined."""
        if (execution is None) == (build is None):
            raise CliError("give either execution or build", INVALID_FILE)
        if build is None:
            path = f"executions/{execution}"
            base_branch = base_branch or lookup.base_branch_of(self._api.get(path))
        else:
            build_details = lookup.build_by_id_or_version(
                self._api, build, lambda: lookup.find_app(self._api, app or "")
            )
            path = f"apps/builds/{build_details['id']}"
        gate = self._api.get(f"{path}/gate", base_branch=base_branch or self._files.base_branch)
        reasons = [
            {
                "test": reason["test_name"],
                "rule": reason["rule"],
                "blocks": reason["blocks"],
                "detail": reason["detail"],
                "commit_range": reason["breakage"]["commit_range"] if reason["breakage"] else None,
            }
            for reason in gate["reasons"][:100]
        ]
        not_run = [test["test_name"] for test in gate.get("not_run", ())[:100]]
        answer = {"result": gate["result"], "summary": gate["summary"], "covers": gate["covers"], "reasons": reasons}
        return {**answer, "not_run": not_run} if build is not None else answer

    def compare_builds(
        self,
        app: AppName,
        build: Annotated[str, Field(description="Version or id of the build")],
        base: Annotated[str | None, Field(description="Version or id of the build to compare with")] = None,
    ) -> Answer:
        """Compare the results of a build with an earlier one: what broke, what was fixed, what has not been run."""

        def identify(wanted: str) -> Any:
            build = lookup.build_by_id_or_version(self._api, wanted, lambda: lookup.find_app(self._api, app))
            return build["id"]

        base_id, branch = identify(base) if base else None, self._files.base_branch
        compared = self._api.get(f"apps/builds/{identify(build)}/compare", base=base_id, base_branch=branch)
        lists = ("newly_failing", "never_passed", "not_run_before", "still_failing", "fixed", "flaky", "not_run")
        names = {name: [test["test_name"] for test in compared[name][:100]] for name in lists}
        return {"build": compared["build"]["version"], "base": compared["base"]["version"], **names}

    def get_coverage(self, app: AppName) -> Answer:
        """Show which tests of an app have not been run, or have not passed, on the version that they are for."""
        app_details = lookup.find_app(self._api, app)
        coverage = self._api.get(f"apps/{app_details['id']}/coverage")
        names = ("test_name", "relationship", "target_build_version", "last_status", "last_execution_id")
        left = [item for item in coverage["items"] if item["last_status"] != "passed"]
        not_passed = _answer("not_passed", ({name: item[name] for name in names} for item in left), 100)
        return {"current_build": coverage["current_build_version"], "tests": coverage["total"], **not_passed}

    def validate_flow(
        self,
        text: Annotated[str | None, Field(description="The YAML of a flow", max_length=262_144)] = None,
        path: Annotated[str | None, Field(description="A flow or a folder of flows in the project")] = None,
    ) -> Answer:
        """Check a flow, or the flows of a folder, without running it: each problem with file, line and column."""
        if (text is None) == (path is None):
            raise CliError("give either text or path", INVALID_FILE)
        problems = self._files.validate_text(text) if text is not None else self._files.validate(path or ".")
        return {"valid": not any(problem["severity"] == "error" for problem in problems), "problems": problems}


def describe_execution(api: Api, execution: str, limit: int = 20) -> Answer:
    """An execution, what simulated devices ran in it, and its runs that did not pass, at most `limit`."""
    execution_details = api.get(f"executions/{execution}")
    runs: list[Run] = list(api.pages(f"executions/{execution}/runs"))
    not_passed = [run for run in runs if presentation.outcome(run) != "passed"]
    note = {"simulation": text} if (text := presentation.simulation(runs)) else {}
    shown = _answer("not_passed", (summaries.run_summary(api, run) for run in not_passed), limit)
    return {**summaries.execution_summary(api, execution_details), **note, **shown}


def _answer(name: str, items: Iterable[Any], limit: int) -> Answer:
    """A list, and whether there may be more."""
    first: list[Any] = []
    for item in items:
        if len(first) == limit:
            return {name: first, "more": f"there are more than {limit}; raise limit, or filter"}
        first.append(item)
    return {name: first}
