"""Comparisons and gates as messages of the contract."""

from collections.abc import Sequence
from functools import lru_cache

from mobiletest.reporting.v1 import reports_pb2

from services.chassis.proto_values import to_enum_number, to_timestamp
from services.chassis.turns import in_turns
from services.reporting.failure_messages import triage_message
from services.reporting.messages import quarantine_message
from services.reporting.model.cells import MESSAGE_LENGTH
from services.reporting.model.reports.breakage import Breakage, ComparedBuild
from services.reporting.model.reports.compare import ComparedTest, Comparison
from services.reporting.model.reports.gate import BuildGate, Gate, GateReason


async def comparison_message(comparison: Comparison) -> reports_pb2.BuildComparison:
    message = reports_pb2.BuildComparison(
        app_id=comparison.app_id,
        build=compared_build_message(comparison.build),
        base=compared_build_message(comparison.base),
        passing=comparison.passing,
        total=comparison.total,
    )
    for tests, compared in (
        (message.newly_failing, comparison.newly_failing),
        (message.never_passed, comparison.never_passed),
        (message.not_run_before, comparison.not_run_before),
        (message.still_failing, comparison.still_failing),
        (message.fixed, comparison.fixed),
        (message.flaky, comparison.flaky),
        (message.not_run, comparison.not_run),
    ):
        async for test in in_turns(compared):
            tests.append(_compared_test(test))
    return message


def compared_build_message(build: ComparedBuild) -> reports_pb2.ComparedBuild:
    """A build in a comparison."""
    return reports_pb2.ComparedBuild(
        build_id=build.build_id,
        version=build.version,
        uploaded_at=to_timestamp(build.uploaded_at),
        branch=build.branch,
        commit_sha=build.commit_sha,
        repository=build.repository,
    )


def _compared_test(test: ComparedTest) -> reports_pb2.ComparedTest:
    return reports_pb2.ComparedTest(
        test_id=test.test_id,
        test_name=test.test_name,
        status=to_enum_number(reports_pb2.LastStatus, test.status),
        base_status=to_enum_number(reports_pb2.LastStatus, test.base_status),
        failure_reason=test.failure.reason if test.failure else None,
        execution_id=test.execution_id,
        breakage=_breakage(test.breakage),
        classification=to_enum_number(reports_pb2.Classification, test.classification),
        flaky_score=test.flaky_score,
        quarantine=quarantine_message(test.quarantine),
        variant=test.variant or None,
        failure_message=test.failure.sample_message[:MESSAGE_LENGTH] if test.failure else None,
        failure_fingerprint=test.failure.fingerprint if test.failure else None,
        triage=triage_message(test.triage),
    )


@lru_cache(maxsize=256)
def _breakage(breakage: Breakage | None) -> reports_pb2.Breakage | None:
    """Equal ones, as thousands of tests may have, share one message: copy it, never change it."""
    if breakage is None:
        return None
    return reports_pb2.Breakage(
        first_failing=compared_build_message(breakage.first_failing),
        last_passing=compared_build_message(breakage.last_passing) if breakage.last_passing else None,
        commit_range=breakage.commit_range,
    )


async def gate_message(gate: Gate) -> reports_pb2.Gate:
    message = reports_pb2.Gate(
        execution_id=gate.execution_id,
        result=to_enum_number(reports_pb2.GateResult, gate.result),
        summary=gate.summary,
        covers=gate.covers,
        base_branch=gate.base_branch,
        branch=gate.branch,
        total_runs=gate.counts.total,
        passed_runs=gate.counts.passed,
        pending_runs=gate.counts.pending,
        storm=gate.storm,
    )
    await _add_reasons(message, gate.reasons)
    return message


async def build_gate_message(gate: BuildGate) -> reports_pb2.BuildGate:
    message = reports_pb2.BuildGate(
        build_id=gate.build.build_id,
        app_id=gate.build.app_id,
        build_version=gate.build.version,
        result=to_enum_number(reports_pb2.GateResult, gate.result),
        summary=gate.summary,
        covers=gate.covers,
        base_branch=gate.base_branch,
        total_tests=gate.counts.total,
        passed_tests=gate.counts.passed,
        pending_runs=gate.counts.pending,
        storm=gate.storm,
    )
    async for test_id, name in in_turns(gate.not_run):
        message.not_run.add(test_id=test_id, test_name=name)
    await _add_reasons(message, gate.reasons)
    return message


async def _add_reasons(message: reports_pb2.Gate | reports_pb2.BuildGate, reasons: Sequence[GateReason]) -> None:
    async for reason in in_turns(reasons):
        message.reasons.append(_reason(reason))


def _reason(reason: GateReason) -> reports_pb2.GateReason:
    run = reason.run
    return reports_pb2.GateReason(
        test_id=run.test_id,
        test_name=run.test_name,
        run_id=run.run_id,
        execution_id=run.execution_id,
        app_id=run.app_id,
        build_version=run.build_version,
        blocks=reason.rule.blocks,
        rule=to_enum_number(reports_pb2.GateRule, reason.rule),
        detail=reason.detail,
        failure_reason=run.failure_reason,
        breakage=_breakage(reason.breakage),
        quarantine=quarantine_message(reason.quarantine),
        variant=reason.variant or None,
        failure_message=run.failure_message,
        failure_fingerprint=run.fingerprint,
        triage=triage_message(reason.triage),
    )
