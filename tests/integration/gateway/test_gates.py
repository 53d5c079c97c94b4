"""Comparisons and gates: catalog and executor say whether there is such a thing; reporting waits for what they know."""

from uuid import uuid4

from mobiletest.catalog.v1 import apps_pb2, builds_pb2
from mobiletest.executor.v1 import executions_pb2
from mobiletest.reporting.v1 import reports_pb2

from services.chassis.errors import Unavailable
from tests.fakes.gateway import Behind, knows_apps
from tests.integration.gateway.conftest import Client


def knows_execution(behind: Behind, **counts: int) -> str:
    """An execution that the executor knows, with runs in these states; gives its id."""
    execution = executions_pb2.Execution(id=str(uuid4()), counts=executions_pb2.RunCounts(**counts))
    behind.on(
        "BatchGetExecutions",
        lambda request: executions_pb2.BatchGetExecutionsResponse(
            executions=[execution] if execution.id in request.execution_ids else []
        ),
    )
    return execution.id


async def test_a_gate_waits_for_every_run_that_has_ended(client: Client, behind: Behind) -> None:
    execution = knows_execution(behind, total=9, queued=1, running=1, passed=1, failed=2, cancelled=1, infra_failed=3)
    reason = reports_pb2.GateReason(rule=reports_pb2.GATE_RULE_NEWLY_BROKEN, blocks=True, test_name="Pay")
    gate = reports_pb2.Gate(execution_id=execution, result=reports_pb2.GATE_RESULT_BLOCK, reasons=[reason])
    behind.on("GetGate", lambda _: gate)
    answer = await client("GET", f"/api/v1/executions/{execution}/gate?base_branch=release/1.x")
    (request,) = behind.requests("GetGate")
    assert (request.min_ended_runs, request.total_runs, request.base_branch) == (7, 9, "release/1.x")
    assert (answer.status, answer.json["result"]) == (200, "block")
    shown = answer.json["reasons"][0]
    assert (shown["rule"], shown["blocks"], shown["breakage"], shown["quarantine"]) == (
        "newly_broken",
        True,
        None,
        None,
    )


async def test_the_base_branch_is_main_unless_it_is_named(client: Client, behind: Behind) -> None:
    execution = knows_execution(behind, total=1)
    behind.on(
        "GetGate", lambda request: reports_pb2.Gate(base_branch=request.base_branch, result="GATE_RESULT_PENDING")
    )
    answer = await client("GET", f"/api/v1/executions/{execution}/gate")
    assert (answer.json["base_branch"], answer.json["result"]) == ("main", "pending")


async def test_a_gate_on_an_unknown_execution_is_a_404(client: Client, behind: Behind) -> None:
    knows_execution(behind)
    answer = await client("GET", f"/api/v1/executions/{uuid4()}/gate")
    assert (answer.status, answer.json["detail"]) == (404, "Execution not found")
    assert behind.requests("GetGate") == []


async def test_reporting_away_is_a_503_and_never_a_pass(client: Client, behind: Behind) -> None:
    execution = knows_execution(behind, total=1, passed=1)
    await behind.stop("reporting")
    answer = await client("GET", f"/api/v1/executions/{execution}/gate")
    assert (answer.status, "Retry-After" in answer.headers) == (503, True)
    assert "result" not in answer.json


async def test_reporting_behind_is_a_503_that_says_when_to_come_again(client: Client, behind: Behind) -> None:
    execution = knows_execution(behind, total=1, passed=1)

    def late(_: object) -> reports_pb2.Gate:
        raise Unavailable("Reporting has not heard of all runs of this execution yet; try again", retry_after=2)

    behind.on("GetGate", late)
    answer = await client("GET", f"/api/v1/executions/{execution}/gate")
    assert (answer.status, answer.headers["Retry-After"]) == (503, "2")


async def test_internal_fields_are_none_of_the_interface(client: Client, behind: Behind) -> None:
    execution = knows_execution(behind, total=2, passed=1)
    behind.on("GetGate", lambda _: reports_pb2.Gate(result="GATE_RESULT_PENDING"))
    path = f"/api/v1/executions/{execution}/gate?min_ended_runs=0&total_runs=0"
    await client("GET", path)
    assert [(request.min_ended_runs, request.total_runs) for request in behind.requests("GetGate")] == [(1, 2)]


async def test_a_comparison_waits_for_the_revision_of_the_app(client: Client, behind: Behind) -> None:
    build, base = str(uuid4()), str(uuid4())
    app = apps_pb2.App(id=str(uuid4()), revision=12)
    knows_apps(behind, app)
    behind.on(
        "BatchGetBuilds",
        lambda request: builds_pb2.BatchGetBuildsResponse(
            builds=[builds_pb2.Build(id=id_, app_id=app.id) for id_ in request.version_ids if id_ == build]
        ),
    )
    row = reports_pb2.ComparedTest(test_name="Pay", status="LAST_STATUS_FAILED", base_status="LAST_STATUS_NOT_RUN")
    row.breakage.commit_range = "a..b"
    behind.on("CompareBuilds", lambda _: reports_pb2.BuildComparison(app_id=app.id, newly_failing=[row], total=4))
    answer = await client("GET", f"/api/v1/apps/builds/{build}/compare?base={base}")
    (request,) = behind.requests("CompareBuilds")
    assert (request.version_id, request.base, request.min_app_revision) == (build, base, 12)
    (shown,) = answer.json["newly_failing"]
    assert (shown["status"], shown["base_status"], shown["execution_id"]) == ("failed", "not_run", None)
    assert (shown["breakage"]["commit_range"], shown["breakage"]["last_passing"]) == ("a..b", None)
    assert answer.json["fixed"] == answer.json["flaky"] == answer.json["not_run"] == []
    unknown = await client("GET", f"/api/v1/apps/builds/{uuid4()}/compare")
    assert (unknown.status, unknown.json["detail"]) == (404, "Build not found")
