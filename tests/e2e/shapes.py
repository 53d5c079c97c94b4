"""The interface document's tables as data: each resource's fields with their JSON types.

A type is a checker of one value. Tests compare whole answers with these tables, so that a missing field, an extra
level or a wrong type fails with its path.
"""

import re
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any
from uuid import UUID

Check = Callable[[Any], bool]
Shape = dict[str, Any]
_RFC3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")


def string(value: Any) -> bool:
    return isinstance(value, str)


def integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def boolean(value: Any) -> bool:
    return isinstance(value, bool)


def record(value: Any) -> bool:
    """A free-form object."""
    return isinstance(value, dict)


def uuid(value: Any) -> bool:
    return isinstance(value, str) and str(UUID(value)) == value


def date_time(value: Any) -> bool:
    """RFC 3339 in UTC with Z."""
    return isinstance(value, str) and bool(_RFC3339.fullmatch(value)) and bool(datetime.fromisoformat(value))


def one_of(*values: str) -> Check:
    return lambda value: value in values


def nullable(kind: Any) -> Any:
    """The kind, or null."""
    return ("nullable", kind)


def array(kind: Any) -> Any:
    """An array whose items are all of the kind."""
    return ("array", kind)


def mismatches(value: Any, kind: Any, path: str = "") -> Iterator[str]:
    """Each place where `value` differs from `kind`, as "path: what"."""
    if isinstance(kind, tuple):
        yield from _of_container(value, kind, path)
    elif isinstance(kind, dict):
        yield from _of_fields(value, kind, path)
    elif not kind(value):
        yield f"{path}: {value!r} is not {kind.__name__}"


def _of_container(value: Any, kind: tuple[str, Any], path: str) -> Iterator[str]:
    if kind[0] == "nullable":
        if value is not None:
            yield from mismatches(value, kind[1], path)
    elif not isinstance(value, list):
        yield f"{path}: {value!r} is not an array"
    else:
        for place, item in enumerate(value):
            yield from mismatches(item, kind[1], f"{path}[{place}]")


def _of_fields(value: Any, fields: Shape, path: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{path}: {value!r} is not an object"
        return
    for name, kind in fields.items():
        if name not in value:
            yield f"{path}.{name}: missing"
        else:
            yield from mismatches(value[name], kind, f"{path}.{name}")


def assert_shape(value: Any, kind: Any) -> None:
    """Fail with every mismatch."""
    found = list(mismatches(value, kind))
    assert not found, "\n".join(found)


PLATFORM = one_of("iOS", "Android")
STATUS = one_of("initialized", "failed", "queued", "running", "completed", "cancelled", "initializing")
SOURCE = one_of("rerun", "schedule", "ci", "cli", "ui", "internal", "api")

APP: Shape = {
    "id": uuid,
    "org_id": uuid,
    "name": string,
    "platform": PLATFORM,
    "static_url": nullable(string),
    "current_version": nullable(string),
    "description": nullable(string),
    "system_prompt": nullable(string),
    "created_at": date_time,
    "latest_version": nullable(string),
    "versions_count": integer,
    "latest_build_id": nullable(uuid),
    "current_build_id": nullable(uuid),
    "attached_tests": integer,
    "pinned_tests": integer,
    "recent_executions": integer,
    "rolling_pass_rate": nullable(number),
    "attribution_ready": boolean,
}
PAGE: Shape = {
    "total": integer,
    "page": integer,
    "page_size": integer,
    "total_pages": integer,
    "has_next": boolean,
    "has_previous": boolean,
}
APPS: Shape = PAGE | {
    "items": array(APP),
    "platform_counts": {"total": integer, "ios": integer, "android": integer},
}
TREND_POINT: Shape = {"date": string, "executions": integer, "passed": integer, "failed": integer}
BUILD_HEALTH: Shape = {
    "build_id": uuid,
    "version": string,
    "uploaded_at": date_time,
    "observed_tests": integer,
    "passed_tests": integer,
    "failed_tests": integer,
    "coverage_rate": number,
    "exact_runs": integer,
    "completed_runs": integer,
    "passed_runs": integer,
    "failed_runs": integer,
    "pass_rate": nullable(number),
}
WORKSPACE: Shape = {
    "app": APP,
    "current_build_id": nullable(string),
    "current_build_version": nullable(string),
    "latest_build_id": nullable(string),
    "latest_build_version": nullable(string),
    "attached_tests": integer,
    "pinned_tests": integer,
    "recent_executions": integer,
    "rolling_pass_rate": nullable(number),
    "attribution_ready": boolean,
    "execution_trend": array(TREND_POINT),
    "build_health": array(BUILD_HEALTH),
}
BUILD: Shape = {
    "id": uuid,
    "app_id": uuid,
    "version": string,
    "artifact_url": nullable(string),
    "metadata": record,
    "owner": nullable(uuid),
    "uploaded_at": date_time,
    "download_url": nullable(string),
    "package_name": nullable(string),
    "was_reused": boolean,
}
BUILD_RUN: Shape = {
    "execution_id": uuid,
    "test_id": uuid,
    "test_name": string,
    "status": STATUS,
    "success": boolean,
    "started_at": date_time,
    "completed_at": date_time,
    "execution_time_seconds": number,
    "source": SOURCE,
    "resolved_build_version": string,
    "metadata": record,
    "report_metadata": record,
}
BUILD_RUNS: Shape = PAGE | {"items": array(BUILD_RUN)}
CELL: Shape = {
    "build_id": uuid,
    "build_version": string,
    "total_runs": integer,
    "passed_runs": integer,
    "failed_runs": integer,
    "cancelled_runs": integer,
    "last_run_at": date_time,
    "top_failure_reason": nullable(string),
    "failure_details": array(record),
    "test_version_number": integer,
    "latest_execution_id": uuid,
}
MATRIX: Shape = {
    "app_id": uuid,
    "builds": array({"build_id": uuid, "version": string, "uploaded_at": date_time}),
    "tests": array(
        {
            "test_id": uuid,
            "test_name": string,
            "cells": array(CELL),
            "flaky_score": number,
            "classification": one_of("insufficient_data", "broken", "flaky", "regressed", "recovered", "stable"),
            "classification_detail": string,
        }
    ),
    "build_count": integer,
    "test_count": integer,
    "total_builds": integer,
    "page": integer,
    "page_size": integer,
}
COVERAGE: Shape = {
    "app_id": uuid,
    "current_build_version": nullable(string),
    "latest_build_version": nullable(string),
    "total": integer,
    "items": array(
        {
            "test_id": uuid,
            "test_name": string,
            "relationship": one_of("attached", "pinned"),
            "pinned_version": nullable(string),
            "target_build_version": nullable(string),
            "last_status": one_of("passed", "failed", "cancelled", "running", "queued", "not_run"),
            "last_execution_time": nullable(date_time),
            "last_execution_id": nullable(uuid),
            "last_duration_seconds": nullable(number),
            "last_observed_build_id": nullable(uuid),
            "last_observed_build_version": nullable(string),
        }
    ),
}
START: Shape = {"status": STATUS, "message": string, "id": uuid, "task_id": uuid}
