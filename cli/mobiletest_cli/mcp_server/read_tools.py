"""Tools that read what the organisation has and how it is doing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, Field

from mobiletest_cli import branches, lookup, presentation
from mobiletest_cli.api import Api
from mobiletest_cli.classifications import classify_test
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
RunResult = Literal["passed", "failed", "no_verdict", "flaky", "cancelled"]
Limit = Annotated[int, Field(ge=1, le=100, description="At most so many")]
Moment = Annotated[str, Field(description="RFC 3339")]
Answer = dict[str, Any]


class ReadTools:
    """Nothing that these do changes anything."""

    def __init__(self, api: Api, files: ProjectFiles) -> None:
        self._api = api
        self._files = files

    def list_apps(self, limit: Limit = 20) -> Answer:
        """List the apps with what is broken on their newest build with a verdict, the worst first."""
        return list_answer("apps", map(summaries.app_summary, self._api.pages("apps/health", limit=limit + 1)), limit)

    def list_builds(self, app: AppName, limit: Limit = 20) -> Answer:
        """List the builds of an app, newest first."""
        app_details = lookup.find_app(self._api, app)
        builds = self._api.pages(f"apps/{app_details['id']}/builds", limit=limit + 1)
        return list_answer("builds", (summaries.build_summary(build, app_details) for build in builds), limit)

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
        return list_answer("tests", map(summaries.test_summary, tests), limit)

    def get_test(self, test: TestName) -> Answer:
        """Show the steps of a test with their positions, and the file that it was imported from."""
        test_details = self._api.get(f"tests/{lookup.find_test(self._api, test)['id']}")
        steps = [{"position": position, "step": step} for position, step in enumerate(test_details["steps"])]
        return {**summaries.test_summary(test_details), "description": test_details["description"], "steps": steps}

    def test_history(
        self,
        test: TestName,
        result: Annotated[RunResult | None, Field(description="Only runs with this result")] = None,
        limit: Limit = 20,
    ) -> Answer:
        """List the newest runs of a test on all builds: since when it fails, and whether it is flaky and why."""
        test_id = lookup.find_test(self._api, test)["id"]
        newest = list(self._api.pages(f"tests/{test_id}/runs", limit=limit + 1, result=result))
        runs = (
            {
                "execution_id": run["execution_id"],
                "outcome": run["status"],
                "success": run["success"],
                "build": run["resolved_build_version"],
                "branch": (run["metadata"] or {}).get("branch"),
                "completed_at": run["completed_at"],
            }
            for run in newest
        )
        return {"classifications": classify_test(self._api, test_id, newest), **list_answer("runs", runs, limit)}

    def list_executions(
        self,
        app: Annotated[str | None, Field(description="Only of this app, by name or id")] = None,
        branch: str = "",
        commit_sha: str = "",
        name: str = "",
        ci_run_id: str = "",
        started_by: Annotated[str, Field(description="Name of an API key")] = "",
        pr_number: int | None = None,
        result: Literal["passed", "failed", "no_verdict", "flaky", "cancelled", "running"] | None = None,
        created_after: Moment = "",
        created_before: Moment = "",
        sort: Literal["newest", "oldest", "longest"] | None = None,
        exact: bool = False,
        limit: Limit = 20,
    ) -> Answer:
        """List executions, newest first, also of one change: branch, commit or pull request.

        Texts are the beginnings of what is looked for, unless `exact` is set.
        """
        filters = {
            "app_id": lookup.find_app(self._api, app)["id"] if app else None,
            "branch": branch,
            "commit_sha": commit_sha,
            "name": name,
            "ci_run_id": ci_run_id,
            "started_by": started_by,
            "pr_number": pr_number,
            "result": result,
            "created_after": created_after,
            "created_before": created_before,
            "sort": sort,
            "exact": exact and "true",
        }
        given = {parameter: value or None for parameter, value in filters.items()}
        executions = self._api.pages("executions", limit=limit + 1, **given)
        return list_answer("executions", (summaries.execution_summary(self._api, each) for each in executions), limit)

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
                "fingerprint": reason.get("failure_fingerprint"),
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
        build: Annotated[str | None, Field(description="Version or id of the build")] = None,
        branch: Annotated[str | None, Field(description="Or: the newest build of this branch")] = None,
        pr_number: Annotated[int | None, Field(description="Or: of this pull request")] = None,
        base: Annotated[str | None, Field(description="Version or id of the build to compare with")] = None,
    ) -> Answer:
        """Say what is broken on a build, a branch or a pull request, compared with an earlier build or the base branch:
        what broke, what was fixed, what has not been run. Without any of them: on the app's newest build.
        """

        def identify(wanted: str) -> Any:
            build = lookup.build_by_id_or_version(self._api, wanted, lambda: lookup.find_app(self._api, app))
            return build["id"]

        base_branch = self._files.base_branch
        if sum(each is not None for each in (build, branch, pr_number)) > 1:
            raise CliError("give one of build, branch and pr_number", INVALID_FILE)
        if build is not None:
            chosen = branches.ChosenBuilds(identify(build))
        else:
            app_id = lookup.find_app(self._api, app)["id"]
            chosen = branches.choose_builds(self._api, app_id, branch or None, pr_number or None, base_branch)
        base_id = identify(base) if base else chosen.base_id
        compared = self._api.get(f"apps/builds/{chosen.build_id}/compare", base=base_id, base_branch=base_branch)
        lists = ("newly_failing", "never_passed", "not_run_before", "still_failing", "fixed", "flaky", "not_run")
        names = {name: [test["test_name"] for test in compared[name][:100]] for name in lists}
        more = {"also_tested_by": chosen.sharing[:10]} if chosen.sharing else {}
        return {"build": compared["build"]["version"], "base": compared["base"]["version"], **names, **more}

    def get_coverage(self, app: AppName) -> Answer:
        """Show which tests of an app have not been run, or have not passed, on the version that they are for."""
        app_details = lookup.find_app(self._api, app)
        coverage = self._api.get(f"apps/{app_details['id']}/coverage")
        names = ("test_name", "relationship", "target_build_version", "last_status", "last_execution_id")
        left = [item for item in coverage["items"] if item["last_status"] != "passed"]
        not_passed = list_answer("not_passed", ({name: item[name] for name in names} for item in left), 100)
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
    shown = list_answer("not_passed", (summaries.run_summary(api, run) for run in not_passed), limit)
    return {**summaries.execution_summary(api, execution_details), **note, **shown}


def list_answer(name: str, items: Iterable[Any], limit: int) -> Answer:
    """A list, and whether there may be more."""
    first: list[Any] = []
    for item in items:
        if len(first) == limit:
            return {name: first, "more": f"there are more than {limit}; raise limit, or filter"}
        first.append(item)
    return {name: first}
