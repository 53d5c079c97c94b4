"""Reports: reporting answers, after the catalog has said that there is such a thing.

The catalog knows at once what was created; reporting hears of it. So the catalog decides about 404, and its revision of
the app is what reporting waits for.
"""

from typing import Any

from mobiletest.catalog.v1 import apps_pb2
from mobiletest.executor.v1 import executions_pb2
from mobiletest.reporting.v1 import reports_pb2

from services.chassis.errors import NotFound
from services.gateway.handlers.unary import CallContext, Invoke
from services.gateway.upstream.batch_reader import BatchReader


def report_of_app(apps: BatchReader, report: Invoke) -> Invoke:
    """A report with `app_id` and `min_app_revision` in its request."""

    async def invoke(request: Any, asking: CallContext, seconds: float) -> Any:
        app = await apps.get(asking.caller, request.app_id, seconds)
        request.min_app_revision = app.revision
        return await report(request, asking, seconds)

    return invoke


def workspace_of_app(apps: BatchReader, report: Invoke) -> Invoke:
    """The workspace: as `of_app`, with the catalog's fields filled in."""

    async def invoke(request: Any, asking: CallContext, seconds: float) -> reports_pb2.AppWorkspace:
        app = await apps.get(asking.caller, request.app_id, seconds)
        request.min_app_revision = app.revision
        answer: reports_pb2.AppWorkspace = await report(request, asking, seconds)
        add_catalog_fields(answer, app)
        return answer

    return invoke


def runs_of(things: BatchReader, id_field: str, report: Invoke) -> Invoke:
    """The runs of what the catalog knows, or of what it has deleted: that history stays readable."""

    async def invoke(request: Any, asking: CallContext, seconds: float) -> Any:
        try:
            await things.get(asking.caller, getattr(request, id_field), seconds)
        except NotFound:
            history = await report(request, asking, seconds)
            if history.total:
                return history
            raise
        return await report(request, asking, seconds)

    return invoke


def add_catalog_fields(answer: reports_pb2.AppWorkspace, app: apps_pb2.App) -> None:
    """Set the fields that reports.proto marks with "catalog", and reporting's in the app."""
    answer.app.CopyFrom(app)
    answer.app.recent_executions = answer.recent_executions
    answer.app.attribution_ready = answer.attribution_ready
    if answer.HasField("rolling_pass_rate"):
        answer.app.rolling_pass_rate = answer.rolling_pass_rate
    answer.attached_tests, answer.pinned_tests = app.attached_tests, app.pinned_tests
    if app.HasField("current_build_id"):
        answer.current_build_id, answer.current_build_version = app.current_build_id, app.current_version
    if app.HasField("latest_build_id"):
        answer.latest_build_id, answer.latest_build_version = app.latest_build_id, app.latest_version


def comparison_of_build(builds: BatchReader, apps: BatchReader, report: Invoke) -> Invoke:
    """A report with `version_id` and `min_app_revision` in its request."""

    async def invoke(request: Any, asking: CallContext, seconds: float) -> Any:
        build = await builds.get(asking.caller, request.version_id, seconds)
        app = await apps.get(asking.caller, build.app_id, seconds)
        request.min_app_revision = app.revision
        return await report(request, asking, seconds)

    return invoke


def gate_of_execution(executions: BatchReader, gate: Invoke) -> Invoke:
    """A gate with `execution_id`, `min_ended_runs` and `total_runs` in its request."""

    async def invoke(request: Any, asking: CallContext, seconds: float) -> Any:
        execution = await executions.get(asking.caller, request.execution_id, seconds)
        request.min_ended_runs, request.total_runs = count_ended_runs(execution.counts), execution.counts.total
        return await gate(request, asking, seconds)

    return invoke


def count_ended_runs(counts: executions_pb2.RunCounts) -> int:
    """How many runs have ended, with or without a verdict."""
    return counts.passed + counts.failed + counts.cancelled + counts.infra_failed
