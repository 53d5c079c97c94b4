"""The lists that pages give as CSV, read by the operations and filters of the pages themselves."""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import orjson
from aiohttp import web

from services.chassis.turns import in_turns
from services.gateway.dashboard.coverage import state_of
from services.gateway.dashboard.csv_tables import MOST_ROWS, LoadTable, Table, row_of
from services.gateway.dashboard.execution_filters import read_filters, to_parameters
from services.gateway.dashboard.failures import FILTERS as FAILURE_FILTERS
from services.gateway.dashboard.matrix import align_cells, read_matrix
from services.gateway.dashboard.resources import read_parts
from services.gateway.dashboard.run_results import read_result
from services.gateway.dashboard.tests import FILTERS as TEST_FILTERS

Json = Mapping[str, Any]
# What the page of a list passes to its operation.
Parameters = Callable[[web.Request], Mapping[str, Any]]

TESTS = (
    *("id", "name", "description", "platform", "tags", "version_number", "quarantine.reason", "quarantine.until"),
    *("workspace", "source_path", "created_at", "updated_at"),
)
EXECUTIONS = (
    *("id", "name", "workflow_name", "kind", "status", "success", "message", "source"),
    *("counts.total", "counts.passed", "counts.failed", "counts.infra_failed", "counts.cancelled"),
    *("ci.repository", "ci.branch", "ci.commit_sha", "ci.pr_number", "ci.run_url"),
    *("created_at", "completed_at", "execution_time_seconds"),
)
BUILD_RUNS = (
    *("execution_id", "run_id", "test_id", "test_name", "status", "success", "source", "started_at", "completed_at"),
    *("execution_time_seconds", "metadata.branch", "metadata.commit_sha", "metadata.device", "metadata.simulated"),
)
TEST_RUNS = (*BUILD_RUNS, "app_id", "resolved_build_version")
FAILURES = (
    *("app_id", "app_name", "fingerprint", "category", "sample_message", "count", "reopened"),
    *("first_seen.at", "first_seen.build_version", "last_seen.at", "last_seen.build_version", "last_seen.branch"),
    *("triage.state", "triage.fixed_in", "triage.note", "triage.ticket_url", "triage.owner"),
)
WORKFLOWS = ("id", "name", "description", "test_ids", "tags", "max_parallel", "created_at", "updated_at")
COVERAGE = (
    *("test_id", "test_name", "relationship", "pinned_version", "target_build_version", "last_status"),
    *("last_execution_time", "last_execution_id", "last_duration_seconds", "last_observed_build_version"),
)
MATRIX = ("test_id", "test_name", "classification", "flaky_score")


def listed(name: str, operation: str, columns: Sequence[str], page_size: int, parameters: Parameters) -> LoadTable:
    """A table of all pages of an operation; they are read as the file is sent. The name of the file says
    if the operation has not searched or listed all.
    """

    async def load(request: web.Request) -> Table:
        chosen = parameters(request)
        read_page = partial(read_parts, request, operation, page_size=page_size, **chosen)
        first = await read_page(page=1)
        limits = {"-searched-in-part": first.get("searched_until"), "-in-part": first.get("listed_all") is False}
        part = next((part for part, is_limited in limits.items() if is_limited), "")
        return Table(name + part, columns, _rows(first, read_page, columns), first["total"] > MOST_ROWS)

    return load


async def _rows(page: Any, read_page: Callable[..., Any], columns: Sequence[str]) -> AsyncIterator[list[Any]]:
    """The rows of a page and of those after it. A list that becomes longer meanwhile can show an item twice."""
    number, left = 1, MOST_ROWS
    while True:
        for text in page["items"][:left]:
            yield row_of(orjson.loads(text), columns)
        left -= len(page["items"])
        if left <= 0 or not page["has_next"]:
            return
        number += 1
        page = await read_page(page=number)


def _filters(names: Iterable[str]) -> Parameters:
    """The filters of a page, as it passes them on: those of these parameters of its address that have a text."""
    return lambda request: {name: text for name in names if (text := request.query.get(name, "").strip())}


def _execution_filters(request: web.Request) -> Mapping[str, str]:
    return to_parameters(read_filters(request.query))


def _of_build(request: web.Request) -> Json:
    return {"version_id": request.match_info["build_id"], **read_result(request.query)}


def _of_test(request: web.Request) -> Json:
    return read_result(request.query)


list_tests = listed("tests", "ListTests", TESTS, 500, _filters(TEST_FILTERS))
list_executions = listed("executions", "ListExecutions", EXECUTIONS, 100, _execution_filters)
list_build_runs = listed("runs", "ListBuildRuns", BUILD_RUNS, 100, _of_build)
list_test_runs = listed("runs", "ListTestRuns", TEST_RUNS, 100, _of_test)
list_failures = listed("failures", "ListFailures", FAILURES, 100, _filters(FAILURE_FILTERS))
list_workflows = listed("workflows", "ListWorkflows", WORKFLOWS, 500, _filters(("search",)))


async def list_coverage(request: web.Request) -> Table:
    """The attached tests of an app in the state that the page shows, by name."""
    coverage = await read_parts(request, "GetAppCoverage")
    wanted = request.query.get("state", "")
    found: list[list[Any]] = []
    async for text in in_turns(coverage["items"]):
        item = orjson.loads(text)
        if wanted in ("", state_of(item)):
            found.append(row_of(item, COVERAGE))
    return Table("coverage", COVERAGE, _in_turns(found[:MOST_ROWS]), len(found) > MOST_ROWS)


async def list_matrix(request: web.Request) -> Table:
    """The tests that the page of the matrix shows, with a column for each of its builds: how the test ended there."""
    matrix, selection = await read_matrix(request)
    found = selection.all_tests()
    columns = [*MATRIX, *(build["version"] for build in matrix["builds"])]
    return Table("matrix", columns, _cells(found[:MOST_ROWS], matrix["builds"]), len(found) > MOST_ROWS)


async def _cells(tests: Iterable[bytes], builds: Sequence[Json]) -> AsyncIterator[list[Any]]:
    async for text in in_turns(tests):
        test = orjson.loads(text)
        yield [*row_of(test, MATRIX), *(cell[0] if cell else None for cell in align_cells(test["cells"], builds))]


async def _in_turns(rows: Iterable[list[Any]]) -> AsyncIterator[list[Any]]:
    async for row in in_turns(rows):
        yield row
