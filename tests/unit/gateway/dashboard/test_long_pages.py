"""Pages about thousands of tests are made in slices, between which other requests have their turns."""

import asyncio
from collections.abc import Awaitable, Mapping
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request
from mobiletest.reporting.v1 import reports_pb2

from services.chassis.context import Caller
from services.gateway.dashboard.app_names import AppNames
from services.gateway.dashboard.assets import Assets
from services.gateway.dashboard.matrix import GROUPS, TESTS, MatrixSelection, is_quiet
from services.gateway.dashboard.pages import render_in_turns, set_up
from services.gateway.dashboard.resources import OPERATIONS, read, read_parts
from services.gateway.http.request_context import REQUEST_CONTEXT, RequestContext
from services.gateway.page_turns import RenderAs, T

SEEN = "2026-11-28T12:00:00Z"


def row(number: int, **fields: Any) -> dict[str, Any]:
    return {
        "test_id": str(number),
        "test_name": f"Test {number}",
        "classification": "stable",
        "classification_detail": "",
        "flaky_score": 0.0,
        "quarantine": None,
        "cells": [],
        **fields,
    }


def failing(*fingerprints: str, build: str = "1") -> dict[str, Any]:
    times = {"first_seen_at": SEEN, "last_seen_at": SEEN, "example_execution_id": "e"}
    failures = [{"fingerprint": each, "reason": each, "count": 1, **times} for each in fingerprints]
    return {"build_id": build, "build_version": build, "failure_details": failures}


async def turns_during(work: Awaitable[Any]) -> tuple[Any, int]:
    """The result, and how often others had a turn."""
    task, turns = asyncio.ensure_future(work), 0
    while not task.done():
        await asyncio.sleep(0)
        turns += 1
    return task.result(), turns


class Matrix:
    """An operation whose response has many rows."""

    async def call(self, _: web.Request, parameters: Mapping[str, str], render: RenderAs[T]) -> T:
        assert parameters == {"page": "1"}
        rows = [reports_pb2.MatrixTest(test_id=str(number)) for number in range(20_000)]
        return await render(reports_pb2.TestMatrix(tests=rows))


async def test_a_resource_is_decoded_in_slices() -> None:
    app = web.Application()
    app[OPERATIONS] = {"GetTestMatrix": Matrix()}  # type: ignore[dict-item]
    request = make_mocked_request("GET", "/", app=app)
    parts = await read_parts(request, "GetTestMatrix", page=1, page_size=None)
    assert orjson.loads(parts["tests"][7])["test_id"] == "7"
    matrix, turns = await turns_during(read(request, "GetTestMatrix", page=1))
    assert [test["test_id"] for test in matrix["tests"]] == [*map(str, range(20_000))]
    assert turns > 5


async def test_a_page_is_rendered_in_slices() -> None:
    builds = [{"build_id": str(number), "version": str(number)} for number in range(50)]

    matrix = {"builds": builds, "tests": [1], "test_count": 1, "total_builds": 50, "page": 1, "page_size": 50}
    values = {
        "key": {"name": "Key", "scopes": ["read"]},
        "app_names": AppNames([], 0),
        "app": {"id": "7", "name": "Shop", "platform": "Android", "description": None},
        "matrix": matrix,
        "quiet": set(),
        "rows": [(row(number), [("passed", "1 passed", "e")] * 50) for number in range(TESTS)],
        "found": TESTS,
        "groups": [],
        "counts": {},
        "filters": {"search": "", "class": "", "order": ""},
        "size": 50,
        "sizes": [50],
        "orders": {},
    }
    app = web.Application()
    set_up(app, Assets())
    request = make_mocked_request("GET", "/apps/7/matrix", app=app)
    request[REQUEST_CONTEXT] = RequestContext(Caller("org", scopes=frozenset(["read"])))
    response, turns = await turns_during(render_in_turns(request, "matrix.html", values))
    assert response.text.count('class="cell passed"') == 50 * TESTS
    assert turns > 5


def select(rows: list[dict[str, Any]], search: str = "", classification: str = "", order: str = "") -> MatrixSelection:
    selection = MatrixSelection(search, classification, order)
    for each in rows:
        selection.add(orjson.dumps(each))
    return selection


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ({}, ["0", "1", "2", "3"]),
        ({"search": "TEST 3"}, ["3"]),
        ({"classification": "flaky"}, ["1", "3"]),
        ({"order": "class"}, ["2", "1", "3", "0"]),
        ({"order": "score"}, ["3", "1", "0", "2"]),
    ],
)
def test_tests_are_chosen_and_sorted(chosen: dict[str, str], expected: list[str]) -> None:
    rows = [
        row(0),
        row(1, classification="flaky", flaky_score=0.2),
        row(2, classification="broken"),
        row(3, classification="flaky", flaky_score=0.4),
    ]
    selection = select(rows, **chosen)
    assert [test["test_id"] for test in selection.tests()] == expected
    assert (selection.found, selection.classes["flaky"]) == (len(expected), 2)


def cell(*, failed: int, at: str) -> dict[str, Any]:
    details = [{"fingerprint": "f", "reason": "r", "count": failed, "first_seen_at": at, "last_seen_at": at}]
    counts = {"passed_runs": 1 - failed, "failed_runs": failed, "infra_failed_runs": 0}
    return {"build_id": "b", "build_version": "1", **counts, "failure_details": details if failed else []}


def test_the_worst_come_first_then_what_fails_now_then_the_others_by_name() -> None:
    rows = [
        row(0, classification="recovered", cells=[cell(failed=0, at="")]),
        row(1, classification="insufficient_data", cells=[cell(failed=1, at="2026-11-29T12:00:00Z")]),
        row(2, classification="flaky"),
        row(3, classification="regressed"),
    ]
    assert [test["test_id"] for test in select(rows, order="class").tests()] == ["3", "2", "1", "0"]


@pytest.mark.parametrize(
    ("classification", "failed_on", "quiet"),
    [("recovered", 20, True), ("recovered", 28, False), ("broken", 1, False), ("stable", 20, True)],
)
def test_a_recovery_is_quiet_after_a_week(classification: str, failed_on: int, quiet: bool) -> None:
    test = row(0, classification=classification, cells=[cell(failed=1, at=f"2026-11-{failed_on:02}T12:00:00.5Z")])
    assert is_quiet(test, datetime(2026, 11, 29, tzinfo=UTC)) is quiet


def test_a_page_has_the_tests_that_it_shows() -> None:
    assert len(select([row(number) for number in range(TESTS + 1)]).tests()) == TESTS


async def test_failures_of_the_chosen_tests_are_grouped_the_most_frequent_first() -> None:
    rows = [row(number, cells=[failing(f"only-{number}", "all")]) for number in range(GROUPS + 5)]
    groups = await select(rows).most_frequent()
    assert len(groups) == GROUPS
    assert (groups[0]["reason"], groups[0]["count"], len(groups[0]["tests"])) == ("all", GROUPS + 5, GROUPS + 5)
    assert [group["reason"] for group in groups[1:3]] == ["only-0", "only-1"]
    assert [group["count"] for group in await select(rows, search="test 3").most_frequent()] == [1, 1]
