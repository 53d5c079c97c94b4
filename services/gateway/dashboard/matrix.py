"""The page of the matrix: tests x builds, and the failures on them in groups."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from aiohttp import web

from services.gateway.dashboard.pages import Values, with_session
from services.gateway.dashboard.rest_reader import read

BUILDS = (10, 20, 50)
"""How many builds can be chosen; the first is the default."""
TESTS = 200
"""Tests on a page."""
GROUPS = 20
CLASSES = ("broken", "regressed", "flaky", "recovered", "stable", "insufficient_data")
"""In the order in which somebody looks at them."""
ORDERS = {"name": "Name", "class": "Classification", "score": "Flakiness"}

Json = Mapping[str, Any]


@with_session
async def show_matrix(request: web.Request) -> Values:
    """The tests of an app on its newest builds, or on a page of older ones."""
    query = request.query
    app_id = quote(request.match_info["app_id"], safe="")
    chosen = query.get("builds", "")
    size = int(chosen) if chosen in map(str, BUILDS) else BUILDS[0]
    app, matrix = await asyncio.gather(
        read(request, f"apps/{app_id}"),
        read(request, f"apps/{app_id}/test_matrix", page=query.get("page"), page_size=size),
    )
    filters = {name: query.get(name, "") for name in ("search", "class", "order")}
    tests = sort_tests(filter_tests(matrix["tests"], filters["search"], filters["class"]), filters["order"])
    return {
        "app": app,
        "matrix": matrix,
        "rows": [(test, align_cells(test["cells"], matrix["builds"])) for test in tests[:TESTS]],
        "found": len(tests),
        "groups": group_failures(tests)[:GROUPS],
        "counts": {name: sum(test["classification"] == name for test in matrix["tests"]) for name in CLASSES},
        "filters": filters,
        "size": size,
        "sizes": BUILDS,
        "orders": ORDERS,
    }


def filter_tests(tests: Iterable[Json], search: str, classification: str) -> list[Json]:
    """The tests whose name contains the text, whatever its case, and which have the classification, if one is given."""
    wanted = search.casefold()
    return [
        test
        for test in tests
        if wanted in test["test_name"].casefold() and classification in ("", test["classification"])
    ]


def sort_tests(tests: Iterable[Json], order: str) -> list[Json]:
    """By classification or by score, each with what needs attention first; otherwise as they come, by name."""
    if order == "class":
        return sorted(tests, key=lambda test: CLASSES.index(test["classification"] or CLASSES[-1]))
    if order == "score":
        return sorted(tests, key=lambda test: -float(test["flaky_score"]))
    return list(tests)


def group_failures(tests: Iterable[Json]) -> Sequence[Json]:
    """Failures with the same fingerprint, the most frequent first, with the `tests` and `builds` that have them."""
    groups: dict[str, dict[str, Any]] = {}
    for test in tests:
        for cell in test["cells"]:
            for failure in cell["failure_details"]:
                known = groups.setdefault(failure["fingerprint"], {**failure, "count": 0, "tests": {}, "builds": {}})
                known["count"] += failure["count"]
                known["tests"][test["test_id"]] = test["test_name"]
                known["builds"][cell["build_id"]] = cell["build_version"]
                if failure["last_seen_at"] >= known["last_seen_at"]:
                    newest = ("last_seen_at", "example_execution_id", "position")
                    known.update({name: failure.get(name) for name in newest})
                known["first_seen_at"] = min(known["first_seen_at"], failure["first_seen_at"])
    return sorted(groups.values(), key=lambda group: (-group["count"], group["reason"]))


def align_cells(cells: Iterable[Json], builds: Iterable[Json]) -> list[tuple[str, str, str] | None]:
    """For each build the class, the text and the newest execution of its cell (of its worst variant); None where the
    test did not run.
    """
    shown = {
        cell["build_id"]: (outcome_of(cell), describe(cell), _worst(cell)["latest_execution_id"]) for cell in cells
    }
    return [shown.get(build["build_id"]) for build in builds]


def _worst(cell: Json) -> Json:
    """The worst variant of a cell; the cell itself if the test has a single one."""
    variants: Sequence[Json] = cell.get("variants") or (cell,)
    return variants[0]


def outcome_of(cell: Json) -> str:
    """The class of a cell: "flaky" if the test passed and failed on the same build in its worst variant."""
    if cell.get("variants"):
        worst = _worst(cell)
        if worst["success"] is not None:
            return (
                "flaky" if worst["passed_runs"] and worst["failed_runs"] else "passed" if worst["success"] else "failed"
            )
    if cell["failed_runs"]:
        return "flaky" if cell["passed_runs"] else "failed"
    if cell["passed_runs"]:
        return "passed"
    return "no-verdict" if cell["infra_failed_runs"] else "cancelled"


def describe(cell: Json) -> str:
    """What a cell says: "1 passed, 2 failed (LOCALE=de): Pay is not on the screen"."""
    counts = {
        "passed": cell["passed_runs"],
        "failed": cell["failed_runs"],
        "without verdict": cell["infra_failed_runs"],
        "cancelled": cell["cancelled_runs"],
    }
    text = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
    failing = [each["variant"] for each in cell.get("variants", ()) if each["success"] is False]
    text += f" ({'; '.join(failing[:3])})" if failing else ""
    return f"{text}: {cell['top_failure_reason']}" if cell["top_failure_reason"] else text
