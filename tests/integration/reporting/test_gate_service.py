"""CI's events in over Kafka, comparison and gate out over gRPC."""

from uuid import uuid4

import pytest
from mobiletest.reporting.v1 import reports_pb2 as pb

from tests.fakes.reporting_event_log import EventLog, with_duplicates
from tests.integration.reporting.conftest import Service

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def on(
    service: Service, desk: EventLog, branch: str, build: tuple[str, str], age: int, endings: dict[str, str]
) -> list[str]:
    """A build of a branch, its commit called as its version, and an execution for each test; gives the executions."""
    desk.branch, desk.commit_sha = branch, f"c{build[1]}"
    executions = [str(uuid4()) for _ in endings]
    events = [desk.build(*build, age=age)]
    for execution, (test, ending) in zip(executions, endings.items(), strict=True):
        events += desk.life(build, test, ending, execution_id=execution)
    await service.publish(*with_duplicates(events))
    return executions


def a_build(version: str) -> tuple[str, str]:
    return str(uuid4()), version


async def test_a_comparison(service: Service, desk: EventLog) -> None:
    pay, search, waits = (str(uuid4()) for _ in range(3))
    old, broken, new = a_build("1"), a_build("2"), a_build("3")
    await service.publish(desk.app(), desk.attachment(waits, "Waits"))
    await on(service, desk, "main", old, 3, {pay: "passed", search: "failed"})
    await on(service, desk, "main", broken, 2, {pay: "failed"})
    await on(service, desk, "main", new, 1, {pay: "failed", search: "passed"})
    await service.applied()
    request = pb.CompareBuildsRequest(version_id=new[0].upper(), base=old[0])
    compared = await service.reports.CompareBuilds(request)
    assert (compared.build.version, compared.base.version, compared.app_id) == ("3", "1", desk.app_id)
    assert (compared.build.branch, compared.build.commit_sha, compared.total) == ("main", "c3", 3)
    (row,) = compared.newly_failing
    assert (row.test_id, row.status, row.base_status) == (pay, pb.LAST_STATUS_FAILED, pb.LAST_STATUS_PASSED)
    assert (row.failure_reason, row.breakage.commit_range) == ('No "Buy" after <time>', "c1..c2")
    assert row.failure_message == 'No "Buy" after 30 s'
    assert len(row.failure_fingerprint) == 16
    assert (row.breakage.first_failing.version, row.breakage.last_passing.version) == ("2", "1")
    assert [test.test_id for test in compared.fixed] == [search]
    assert [(test.test_id, test.status) for test in compared.not_run] == [(waits, pb.LAST_STATUS_NOT_RUN)]
    without = await service.reports.CompareBuilds(pb.CompareBuildsRequest(version_id=new[0]))
    assert (without.base.version, [test.test_id for test in without.still_failing]) == ("2", [pay])
    base = await service.reports.FindBaseBuild(pb.FindBaseBuildRequest(version_id=new[0].upper()))
    assert base == without.base


async def test_a_gate(service: Service, desk: EventLog) -> None:
    pay, search = str(uuid4()), str(uuid4())
    await on(service, desk, "main", a_build("1"), 3, {pay: "passed", search: "failed"})
    build = a_build("2")
    broke, known = await on(service, desk, "feature", build, 2, {pay: "failed", search: "failed"})
    (passed,) = await on(service, desk, "feature", build, 2, {str(uuid4()): "passed"})
    await service.applied()
    gate = await service.reports.GetGate(pb.GetGateRequest(execution_id=broke.upper(), min_ended_runs=1, total_runs=1))
    assert (gate.execution_id, gate.result, gate.base_branch) == (broke, pb.GATE_RESULT_BLOCK, "main")
    assert gate.summary == 'Blocked: 1 test newly broken ("Log in").'
    (reason,) = gate.reasons
    assert (reason.rule, reason.blocks, reason.build_version) == (pb.GATE_RULE_NEWLY_BROKEN, True, "2")
    assert (reason.failure_reason, reason.breakage.commit_range) == ('No "Buy" after <time>', "c1..c2")
    compared = await service.reports.CompareBuilds(pb.CompareBuildsRequest(version_id=build[0]))
    assert reason.failure_message == compared.newly_failing[0].failure_message != ""
    assert reason.failure_fingerprint == compared.newly_failing[0].failure_fingerprint != ""
    for execution, result, summary in (
        (known, pb.GATE_RESULT_BLOCK, 'Blocked: no run passed; 1 failure does not block (1 known on main: "Log in").'),
        (passed, pb.GATE_RESULT_PASS, "Passed: the only run passed."),
    ):
        gate = await service.reports.GetGate(pb.GetGateRequest(execution_id=execution))
        assert (gate.result, gate.summary, gate.branch) == (result, summary, "feature")
        assert gate.covers == 'Covers 1 test on build 2: "Log in".'


async def test_a_gate_of_a_build(service: Service, desk: EventLog) -> None:
    pay, search, waits = (str(uuid4()) for _ in range(3))
    await service.publish(desk.app(), *(desk.attachment(test, name) for test, name in ((pay, "P"), (waits, "Waits"))))
    await on(service, desk, "main", a_build("1"), 3, {pay: "passed"})
    build = a_build("2")
    (broke, _) = await on(service, desk, "feature", build, 2, {pay: "failed", search: "passed"})
    await service.applied()
    gate = await service.reports.GetBuildGate(pb.GetBuildGateRequest(version_id=build[0].upper()))
    assert (gate.build_id, gate.app_id, gate.build_version) == (build[0], desk.app_id, "2")
    assert (gate.result, gate.base_branch, gate.total_tests, gate.passed_tests) == (pb.GATE_RESULT_BLOCK, "main", 2, 0)
    assert gate.summary == 'Blocked: 1 test newly broken ("Log in"); 1 test was not run ("Waits").'
    assert "1 of 2 attached tests" in gate.covers
    (reason,) = gate.reasons
    assert (reason.rule, reason.execution_id) == (pb.GATE_RULE_NEWLY_BROKEN, broke)
    assert [(test.test_id, test.test_name) for test in gate.not_run] == [(waits, "Waits")]
