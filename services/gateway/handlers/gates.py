"""Comparisons and gates: reporting answers, after the service that knows has said that there is such a thing.

The executor knows at once which runs have ended; reporting hears of it. So the gate waits for as many as the executor
knows of: who asks right after the end gets the answer for the whole execution, and never one for a part of it.
"""

from typing import Any

from mobiletest.executor.v1 import executions_pb2

from services.gateway.handlers.unary import Asking, Invoke
from services.gateway.upstream.reads import Reads


def of_build(builds: Reads, apps: Reads, report: Invoke) -> Invoke:
    """A report with `version_id` and `min_app_revision` in its request."""

    async def invoke(request: Any, asking: Asking, seconds: float) -> Any:
        build = await builds.get(asking.caller, request.version_id, seconds)
        app = await apps.get(asking.caller, build.app_id, seconds)
        request.min_app_revision = app.revision
        return await report(request, asking, seconds)

    return invoke


def of_execution(executions: Reads, gate: Invoke) -> Invoke:
    """A gate with `execution_id`, `min_ended_runs` and `total_runs` in its request."""

    async def invoke(request: Any, asking: Asking, seconds: float) -> Any:
        execution = await executions.get(asking.caller, request.execution_id, seconds)
        request.min_ended_runs, request.total_runs = ended(execution.counts), execution.counts.total
        return await gate(request, asking, seconds)

    return invoke


def ended(counts: executions_pb2.RunCounts) -> int:
    """How many runs have ended, with or without a verdict."""
    return counts.passed + counts.failed + counts.cancelled + counts.infra_failed
