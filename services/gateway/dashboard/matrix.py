"""The page of the matrix: tests x builds, and the failures on them in groups."""

import asyncio
from bisect import insort
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from math import ceil
from typing import Any

import orjson
from aiohttp import web

from services.chassis.turns import in_turns
from services.gateway.dashboard.app_names import with_apps
from services.gateway.dashboard.error_pages import PageUnknown
from services.gateway.dashboard.pages import Values
from services.gateway.dashboard.resources import read, read_parts

# How many builds can be chosen; the first is the default.
BUILDS = (10, 20, 50)
# Characters of a failure in the tip of a cell; a page has thousands of them.
TIP_LENGTH = 120
# Tests on a page.
TESTS = 200
GROUPS = 20
# In the order in which somebody looks at them.
CLASSES = ("broken", "regressed", "flaky", "recovered", "stable", "insufficient_data")
LOUD = CLASSES[:3]
# The first is the default.
ORDERS = {"class": "Worst first", "name": "Name", "score": "Flakiness"}
# After these days a recovery is no news.
RECOVERED_LONG_AGO = timedelta(days=7)

Json = Mapping[str, Any]


@with_apps
async def show_matrix(request: web.Request) -> Values:
    """The tests of an app on its newest builds, or on a page of older ones.

    Raises:
        PageUnknown: the app has fewer builds.
    """
    app, (matrix, selection) = await asyncio.gather(read(request, "GetApp"), read_matrix(request))
    groups = await selection.most_frequent()
    tests = selection.tests()
    return {
        "app": app,
        "matrix": matrix,
        "rows": [(test, align_cells(test["cells"], matrix["builds"])) for test in tests],
        "quiet": {test["test_id"] for test in tests if is_quiet(test, datetime.now(UTC))},
        "found": selection.found,
        "groups": groups,
        "triages": {each["fingerprint"]: each["triage"] for each in map(orjson.loads, matrix.get("triages", ()))},
        "counts": {name: selection.classes[name] for name in CLASSES},
        "filters": _filters(request),
        "size": _builds(request),
        "sizes": BUILDS,
        "orders": ORDERS,
    }


async def read_matrix(request: web.Request) -> tuple[dict[str, Any], "MatrixSelection"]:
    """The page of the matrix that the address names, and those of its tests that its filters choose.

    Raises:
        PageUnknown: the app has fewer builds.
    """
    size = _builds(request)
    matrix = await read_parts(request, "GetTestMatrix", page=request.query.get("page"), page_size=size)
    last = max(1, ceil(matrix["total_builds"] / size))
    if matrix["page"] > last:
        raise PageUnknown(matrix["page"], last)
    matrix["builds"] = [*map(orjson.loads, matrix["builds"])]
    filters = _filters(request)
    selection = MatrixSelection(filters["search"], filters["class"], filters["order"])
    async for text in in_turns(matrix["tests"]):
        selection.add(text)
    return matrix, selection


def _filters(request: web.Request) -> dict[str, str]:
    chosen = {name: request.query.get(name, "") for name in ("search", "class", "order")}
    return {**chosen, "order": chosen["order"] or next(iter(ORDERS))}


def _builds(request: web.Request) -> int:
    chosen = request.query.get("builds", "")
    return int(chosen) if chosen in map(str, BUILDS) else BUILDS[0]


class MatrixSelection:
    """The tests of a matrix that are chosen, and their failures in groups. Tests are JSON until they are shown."""

    def __init__(self, search: str, classification: str, order: str) -> None:
        """Tests whose name contains the text, whatever its case, and which have the classification, if one is given.

        `order`: by "class" or "score", each with what needs attention first, and what does not as it comes, by name;
        otherwise all by name.
        """
        self._search = search.casefold()
        self._class = classification
        self._order = order
        self._found: list[tuple[float, bytes]] = []
        self._groups: dict[str, dict[str, Any]] = {}
        # All tests, by classification.
        self.classes: Counter[str] = Counter()

    @property
    def found(self) -> int:
        return len(self._found)

    def add(self, text: bytes) -> None:
        test = orjson.loads(text)
        self.classes[test["classification"]] += 1
        if self._search in test["test_name"].casefold() and self._class in ("", test["classification"]):
            self._found.append((self._place(test), text))
            self._group_failures(test)

    def tests(self) -> Sequence[Json]:
        """The first TESTS of those that are chosen."""
        return [orjson.loads(text) for text in self.all_tests()[:TESTS]]

    def all_tests(self) -> Sequence[bytes]:
        """All that are chosen, in order, as JSON."""
        return [text for _, text in sorted(self._found, key=lambda each: each[0])]

    async def most_frequent(self) -> Sequence[Json]:
        """The GROUPS most frequent failures: those with the same fingerprint, and the `tests` and `builds` that have
        them.
        """
        most: list[Json] = []
        async for group in in_turns(self._groups.values()):
            insort(most, group, key=lambda group: (-group["count"], group["reason"]))
            del most[GROUPS:]
        return most

    def _place(self, test: Json) -> float:
        if self._order == "class":
            name = test["classification"]
            return LOUD.index(name) if name in LOUD else len(LOUD) + (not fails_now(test))
        return -float(test["flaky_score"]) if self._order == "score" else 0

    def _group_failures(self, test: Json) -> None:
        for cell in test["cells"]:
            for failure in cell["failure_details"]:
                new = {**failure, "count": 0, "tests": {}, "builds": {}}
                known = self._groups.setdefault(failure["fingerprint"], new)
                known["count"] += failure["count"]
                known["tests"][test["test_id"]] = test["test_name"]
                known["builds"][cell["build_id"]] = cell["build_version"]
                if failure["last_seen_at"] >= known["last_seen_at"]:
                    newest = ("last_seen_at", "example_execution_id", "sample_message", "position")
                    known.update({name: failure.get(name) for name in newest})
                known["first_seen_at"] = min(known["first_seen_at"], failure["first_seen_at"])


def fails_now(test: Json) -> bool:
    """Whether it fails on the newest of the builds on which it ran."""
    return bool(test["cells"]) and outcome_of(test["cells"][0]) in ("failed", "flaky")


def is_quiet(test: Json, now: datetime) -> bool:
    """Whether nobody needs to look: it is stable, or it recovered and has not failed for a week on these builds."""
    if test["classification"] in LOUD:
        return False
    failures = [failure["last_seen_at"] for cell in test["cells"] for failure in cell["failure_details"]]
    return (
        max(map(datetime.fromisoformat, failures), default=datetime.min.replace(tzinfo=UTC)) < now - RECOVERED_LONG_AGO
    )


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
    failures = cell["failure_details"]
    return f"{text}: {first_line(failures[0]['sample_message'], TIP_LENGTH)}" if failures else text


def first_line(message: str, length: int) -> str:
    """The first line of a message that has some text, in at most `length` characters."""
    line = next((line.strip() for line in message.splitlines() if line.strip()), "")
    return line if len(line) <= length else f"{line[: length - 1]}…"
