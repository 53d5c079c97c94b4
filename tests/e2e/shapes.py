"""The interface document's tables as data: the fields of each resource with their JSON types.

Tests compare whole answers with these tables, so that a missing field, an extra level or a wrong type fails with its
path.
"""

import re
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any
from uuid import UUID

_RFC3339_IN_UTC = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")


def _is_moment(text: str) -> bool:
    return bool(_RFC3339_IN_UTC.fullmatch(text)) and bool(datetime.fromisoformat(text))


TYPES: dict[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: type(value) is int,
    "number": lambda value: type(value) in (int, float),
    "boolean": lambda value: isinstance(value, bool),
    "object": lambda value: isinstance(value, dict),
    "uuid": lambda value: isinstance(value, str) and str(UUID(value)) == value,
    "time": lambda value: isinstance(value, str) and _is_moment(value),
}
STATUS = "initialized|failed|queued|running|completed|cancelled|initializing"
STANDING = "passed|failed|not_run"
# Each field with its type. "?": or null. "[]": an array of these. A word without a type: all fields of that shape.
SHAPES = {
    "Page": "total:integer page:integer page_size:integer total_pages:integer has_next:boolean has_previous:boolean",
    "App": (
        "id:uuid org_id:uuid name:string platform:iOS|Android static_url:string? current_version:string? "
        "description:string? system_prompt:string? created_at:time latest_version:string? versions_count:integer "
        "latest_build_id:uuid? current_build_id:uuid? attached_tests:integer pinned_tests:integer "
        "recent_executions:integer rolling_pass_rate:number? attribution_ready:boolean"
    ),
    "Apps": "Page items:App[] platform_counts:PlatformCounts",
    "PlatformCounts": "total:integer ios:integer android:integer",
    "Workspace": (
        "app:App current_build_id:string? current_build_version:string? latest_build_id:string? "
        "latest_build_version:string? attached_tests:integer pinned_tests:integer recent_executions:integer "
        "rolling_pass_rate:number? attribution_ready:boolean execution_trend:TrendPoint[] build_health:BuildHealth[]"
    ),
    "TrendPoint": "date:string executions:integer passed:integer failed:integer",
    "BuildHealth": (
        "build_id:uuid version:string uploaded_at:time observed_tests:integer passed_tests:integer "
        "failed_tests:integer coverage_rate:number exact_runs:integer completed_runs:integer passed_runs:integer "
        "failed_runs:integer pass_rate:number?"
    ),
    "Build": (
        "id:uuid app_id:uuid version:string artifact_url:string? metadata:object owner:uuid? uploaded_at:time "
        "download_url:string? package_name:string? was_reused:boolean"
    ),
    "BuildRuns": "Page items:BuildRun[]",
    "BuildRun": (
        f"execution_id:uuid test_id:uuid test_name:string status:{STATUS} success:boolean started_at:time "
        "completed_at:time execution_time_seconds:number source:rerun|schedule|ci|cli|ui|internal|api "
        "resolved_build_version:string metadata:object report_metadata:object"
    ),
    "Matrix": (
        "app_id:uuid builds:MatrixBuild[] tests:MatrixTest[] build_count:integer test_count:integer "
        "total_builds:integer page:integer page_size:integer"
    ),
    "MatrixBuild": "build_id:uuid version:string uploaded_at:time",
    "MatrixTest": (
        "test_id:uuid test_name:string cells:Cell[] flaky_score:number "
        "classification:insufficient_data|broken|flaky|regressed|recovered|stable classification_detail:string"
    ),
    "Cell": (
        "build_id:uuid build_version:string total_runs:integer passed_runs:integer failed_runs:integer "
        "cancelled_runs:integer last_run_at:time top_failure_reason:string? failure_details:object[] "
        "test_version_number:integer latest_execution_id:uuid"
    ),
    "Coverage": (
        "app_id:uuid current_build_version:string? latest_build_version:string? total:integer items:CoverageItem[]"
    ),
    "CoverageItem": (
        "test_id:uuid test_name:string relationship:attached|pinned pinned_version:string? "
        "target_build_version:string? last_status:passed|failed|cancelled|running|queued|not_run "
        "last_execution_time:time? last_execution_id:uuid? last_duration_seconds:number? "
        "last_observed_build_id:uuid? last_observed_build_version:string?"
    ),
    "Start": f"status:{STATUS} message:string id:uuid task_id:uuid",
    "Comparison": (
        "app_id:uuid build:ComparedBuild base:ComparedBuild newly_failing:ComparedTest[] never_passed:ComparedTest[] "
        "not_run_before:ComparedTest[] still_failing:ComparedTest[] fixed:ComparedTest[] "
        "flaky:ComparedTest[] not_run:ComparedTest[] passing:integer total:integer"
    ),
    "ComparedBuild": "build_id:uuid version:string uploaded_at:time branch:string? commit_sha:string?",
    "ComparedTest": (
        f"test_id:uuid test_name:string status:{STANDING} base_status:{STANDING} failure_reason:string? "
        "execution_id:uuid? breakage:Breakage? classification:string flaky_score:number quarantine:object?"
    ),
    "Breakage": "first_failing:ComparedBuild last_passing:ComparedBuild? commit_range:string?",
    "Gate": (
        "execution_id:uuid result:pass|block|pending summary:string covers:string base_branch:string branch:string? "
        "reasons:GateReason[] total_runs:integer passed_runs:integer pending_runs:integer storm:boolean"
    ),
    "BuildGate": (
        "build_id:uuid app_id:uuid build_version:string result:pass|block|pending summary:string covers:string "
        "base_branch:string reasons:GateReason[] not_run:GateTest[] total_tests:integer passed_tests:integer "
        "pending_runs:integer storm:boolean"
    ),
    "GateTest": "test_id:uuid test_name:string",
    "GateReason": (
        "test_id:uuid test_name:string run_id:uuid execution_id:uuid app_id:uuid? build_version:string? blocks:boolean "
        "rule:newly_broken|never_passed|not_run_before|no_verdict|known_on_base|flaky|quarantined detail:string "
        "failure_reason:string? breakage:Breakage? quarantine:object?"
    ),
}


def mismatches(value: Any, kind: str, path: str = "") -> Iterator[str]:
    """Each place where `value` differs from the type or shape, as "path: what"."""
    if kind.endswith("?"):
        if value is not None:
            yield from mismatches(value, kind[:-1], path)
    elif kind.endswith("[]") and isinstance(value, list):
        for place, item in enumerate(value):
            yield from mismatches(item, kind[:-2], f"{path}[{place}]")
    elif kind in SHAPES and isinstance(value, dict):
        yield from _of_fields(value, kind, path)
    elif not (value in kind.split("|") if "|" in kind else kind in TYPES and TYPES[kind](value)):
        yield f"{path}: {value!r} is not {kind}"


def _of_fields(value: dict[str, Any], shape: str, path: str) -> Iterator[str]:
    for field in SHAPES[shape].split():
        name, _, kind = field.partition(":")
        if not kind:
            yield from _of_fields(value, name, path)
        elif name not in value:
            yield f"{path}.{name}: missing"
        else:
            yield from mismatches(value[name], kind, f"{path}.{name}")


def assert_shape(value: Any, shape: str) -> None:
    """Fail with every mismatch."""
    differences = list(mismatches(value, shape))
    assert not differences, "\n".join(differences)
