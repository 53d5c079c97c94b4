"""Compares the reports with a recount of the executor's runs, all of it through REST."""

from collections import Counter
from typing import Any

from tests.e2e.client import Api, created

Cell = tuple[str, str]
OUTCOMES = ("total_runs", "passed_runs", "failed_runs", "infra_failed_runs", "cancelled_runs")


async def every(api: Api, path: str, **params: Any) -> list[Any]:
    """All items of a paged list."""
    items: list[Any] = []
    page = 1
    while True:
        answer = created(await api.get(path, params={"page": page, "page_size": 100, **params}))
        items += answer["items"]
        if not answer["has_next"]:
            return items
        page += 1


async def runs_of(api: Api, app: Any) -> list[Any]:
    """Every run of every execution of an app, as the executor shows them."""
    executions = await every(api, "/executions", app_id=app["id"])
    return [run for execution in executions for run in await every(api, f"/executions/{execution['id']}/runs")]


def outcome(run: Any) -> str:
    """The counter of the matrix that a finished run belongs to."""
    if run["status"] == "cancelled":
        return "cancelled_runs"
    if run["status"] == "failed":
        return "infra_failed_runs"
    return "passed_runs" if run["success"] else "failed_runs"


def recounted(runs: list[Any]) -> dict[Cell, Counter[str]]:
    """The matrix's counts by (test, build), from runs."""
    cells: dict[Cell, Counter[str]] = {}
    for run in runs:
        cells.setdefault((run["test_id"], run["build_id"]), Counter()).update(["total_runs", outcome(run)])
    return cells


async def reported(api: Api, app: Any) -> dict[Cell, Counter[str]]:
    """The matrix's counts by (test, build), as reporting shows them."""
    matrix = created(await api.get(f"/apps/{app['id']}/test_matrix", params={"page_size": 50}))
    return {
        (row["test_id"], cell["build_id"]): Counter({name: cell[name] for name in OUTCOMES if cell[name]})
        for row in matrix["tests"]
        for cell in row["cells"]
    }


async def differences(api: Api, app: Any, runs: list[Any]) -> list[str]:
    """Each place where reports and recount differ: matrix cells, build health, the trend's sums."""
    expected, shown = recounted(runs), await reported(api, app)
    wrong = [
        f"cell {cell}: {dict(shown.get(cell, {}))}, recount {dict(expected.get(cell, {}))}"
        for cell in expected.keys() | shown.keys()
        if expected.get(cell) != shown.get(cell)
    ]
    workspace = created(await api.get(f"/apps/{app['id']}/workspace"))
    return wrong + _health_differences(workspace, runs) + _trend_differences(workspace, runs)


def _health_differences(workspace: Any, runs: list[Any]) -> list[str]:
    wrong = []
    for build in workspace["build_health"]:
        own = [run for run in runs if run["build_id"] == build["build_id"]]
        verdicts = Counter(run["success"] for run in own if run["status"] == "completed")
        expected = {
            "exact_runs": len(own),
            "completed_runs": verdicts.total(),
            "passed_runs": verdicts[True],
            "failed_runs": sum(outcome(run) == "failed_runs" for run in own),
            "infra_failed_runs": sum(outcome(run) == "infra_failed_runs" for run in own),
        }
        wrong += [
            f"build {build['version']} {name}: {build[name]}, recount {n}"
            for name, n in expected.items()
            if build[name] != n
        ]
    return wrong


def _trend_differences(workspace: Any, runs: list[Any]) -> list[str]:
    names = ("executions", "passed", "failed", "infra_failed")
    shown = Counter({name: sum(day[name] for day in workspace["execution_trend"]) for name in names})
    ended = Counter(outcome(run) for run in runs)
    counted = {name: ended[f"{name}_runs"] for name in names[1:]}
    expected = Counter({"executions": len(runs), **counted})
    return [] if shown == expected else [f"trend {dict(shown)}, recount {dict(expected)}"]
