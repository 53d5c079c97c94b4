"""What the page of a failed run shows about another way to write its step, before scripted services."""

import html
import json
import re
from typing import Any
from uuid import uuid4

import pytest
from google.protobuf.json_format import ParseDict
from google.protobuf.timestamp_pb2 import Timestamp
from mobiletest.catalog.v1 import api_keys_pb2, tests_pb2
from mobiletest.executor.v1 import executions_pb2, runs_pb2
from mobiletest.types.v1.ci_pb2 import CiAttribution

from services.chassis.errors import DomainError, NotFound, ResourceExhausted, Unauthenticated, Unavailable
from tests.fakes.gateway import FakeBackends, script_api_key
from tests.integration.gateway.conftest import Client

pytestmark = pytest.mark.asyncio(loop_scope="module")

EXECUTION, RUN, TEST, CHECK, CHECK_RUN = (str(uuid4()) for _ in range(5))
PATH = f"/executions/{EXECUTION}/runs/{RUN}"
CHECK_PATH = f"/executions/{CHECK}/runs/{CHECK_RUN}"
OFFER = "Find a replacement for the element"
VERIFY, ACCEPT = ">Verify by a run</button>", ">Accept</button>"
STEPS = ["launchApp", {"tapOn": "Pay"}]
PROPOSAL = {
    "path": "steps[1]",
    "old_step": STEPS[1],
    "old_line": "- tapOn: Pay",
    "step": {"tapOn": "Buy now"},
    "line": "- tapOn: Buy now",
    "why": 'button "Pay" is now button "Buy now": only it has the id main, as before',
    "past_screens": 3,
    "held_screens": 1,
}


def failed_run(**fields: Any) -> runs_pb2.Run:
    values: dict[str, Any] = {
        "id": RUN,
        "execution_id": EXECUTION,
        "test_id": TEST,
        "test_version_number": 4,
        "status": "EXECUTION_STATUS_COMPLETED",
        "success": False,
        "failure": {"category": "FAILURE_CATEGORY_ELEMENT_NOT_FOUND", "message": "no Pay", "step_index": 1},
    }
    return ParseDict(values | fields, runs_pb2.Run())


def script_page(backends: FakeBackends, *scopes: str, test: dict[str, Any] | None = None, **run: Any) -> str:
    """Script a failed run whose test is as it was, and a run that passed; a key with these scopes beside `read`."""
    named = [f"SCOPE_{scope.upper()}" for scope in ("read", *scopes)]
    execution = executions_pb2.Execution(
        id=EXECUTION, ci=CiAttribution(), counts=executions_pb2.RunCounts(total=1), completed_at=Timestamp(seconds=2)
    )
    values = {"id": TEST, "name": "Pay", "version_number": 4, "steps": STEPS, "revision": 7} | (test or {})
    runs = {RUN: failed_run(**run), CHECK_RUN: failed_run(id=CHECK_RUN, execution_id=CHECK, success=True)}
    backends.on("GetCurrentApiKey", lambda _: api_keys_pb2.ApiKey(name="Reader", scopes=named))
    backends.on("BatchGetExecutions", lambda _: executions_pb2.BatchGetExecutionsResponse(executions=[execution]))
    backends.on("ListExecutions", lambda _: executions_pb2.ListExecutionsResponse())
    backends.on("GetRun", lambda request: runs[request.run_id])
    answer = tests_pb2.BatchGetTestsResponse(tests=[ParseDict(values, tests_pb2.Test())])
    backends.on("BatchGetTests", lambda _: answer)
    return script_api_key(backends, "read", *scopes)


def script_healing(backends: FakeBackends, state: str, reason: str = "", **fields: Any) -> None:
    values = {"state": f"HEALING_STATE_{state.upper()}", "reason": reason, "test_id": TEST, "test_version_number": 4}
    backends.on("GetHealing", lambda _: ParseDict(values | fields, executions_pb2.Healing()))


CHECKED: dict[str, Any] = {"proposal": PROPOSAL, "check_execution_id": CHECK, "check_run_id": CHECK_RUN}


async def shown(client: Client, key: str, query: str = "?healing=true") -> str:
    """The page in one line, without the signs of HTML in texts."""
    answer = await client("GET", f"{PATH}{query}", key=key)
    assert answer.status == 200
    return re.sub(r"\s+", " ", html.unescape(answer.body.decode()))


@pytest.mark.parametrize(
    ("run", "test", "is_offered"),
    [
        ({}, {}, True),
        ({}, {"version_number": 5}, False),
        ({"verifies": str(uuid4())}, {}, False),
        ({"success": True}, {}, False),
        ({"failure": {"category": "FAILURE_CATEGORY_ASSERTION_FAILED", "step_index": 1}}, {}, False),
        ({"failure": {"category": "FAILURE_CATEGORY_ELEMENT_NOT_FOUND"}}, {}, False),
    ],
)
async def test_a_replacement_is_offered_where_there_may_be_one(
    client: Client, backends: FakeBackends, run: Any, test: Any, is_offered: bool
) -> None:
    """Making a proposal takes long, so the page does it only when it is asked to."""
    page = await shown(client, script_page(backends, test=test, **run), "?base_branch=next")
    assert (OFFER in page) is is_offered
    assert ('href="?base_branch=next&healing=true#healing"' in page) is is_offered
    assert backends.of("GetHealing") == []


@pytest.mark.parametrize(
    ("error", "is_offered"), [(NotFound("Test not found"), False), (Unavailable("It is stopped"), True)], ids=str
)
async def test_no_replacement_is_offered_for_a_deleted_test(
    client: Client, backends: FakeBackends, error: DomainError, is_offered: bool
) -> None:
    """If the test cannot be read, there may be one."""
    key = script_page(backends)
    backends.fail("BatchGetTests", error)
    assert (OFFER in await shown(client, key, "")) is is_offered


async def test_the_page_says_why_nothing_is_proposed(client: Client, backends: FakeBackends) -> None:
    key = script_page(backends, "write", "execute")
    script_healing(backends, "none", "no passing run has kept the screen of this step")
    page = await shown(client, key)
    assert "There is no proposal: no passing run has kept the screen of this step." in page
    assert OFFER not in page
    assert VERIFY not in page
    assert ACCEPT not in page


@pytest.mark.parametrize(
    ("past", "held", "sentence"),
    [
        (3, 3, "On 3 stored screens of runs that passed, the step acted on this element. The new step finds it there"),
        (3, 1, "The new step finds it on 1 of them; on the others it had another name or id."),
        (3, 0, "The new step does not find it there, because it had another name or id."),
        (1, 1, "On the stored screen of the last run that passed, the step acted on this element. The new step finds"),
    ],
)
async def test_a_proposal_is_shown_with_its_evidence(
    client: Client, backends: FakeBackends, past: int, held: int, sentence: str
) -> None:
    key = script_page(backends)
    script_healing(backends, "unverified", proposal=PROPOSAL | {"past_screens": past, "held_screens": held})
    page = await shown(client, key)
    assert "1 line added, 1 removed." in page
    assert "<bdi>- tapOn: Buy now</bdi></ins>" in page
    assert f"<bdi>{PROPOSAL['why']}</bdi>" in page
    assert sentence in page


@pytest.mark.parametrize("state", ["unverified", "verifying", "verified", "refuted"])
@pytest.mark.parametrize("scopes", [(), ("execute",), ("write",), ("execute", "write")])
async def test_only_who_may_verifies_and_accepts(
    client: Client, backends: FakeBackends, state: str, scopes: tuple[str, ...]
) -> None:
    """A run needs the scope execute, the change of the test the scope write, and before it a run that has passed."""
    key = script_page(backends, *scopes)
    script_healing(backends, state, **CHECKED)
    page = await shown(client, key)
    assert (VERIFY in page) is (state == "unverified" and "execute" in scopes)
    assert (ACCEPT in page) is (state == "verified" and "write" in scopes)
    assert (f'data-live="/api/v1/executions/{CHECK}/events"' in page) is (state == "verifying")
    assert f'<a href="{CHECK_PATH}">Verifying run</a>' in page


@pytest.mark.parametrize(
    ("test", "proposal", "sentence"),
    [
        ({"version_number": 5}, {}, "The test has been changed since this run"),
        ({"steps": ["launchApp", {"tapOn": "Other"}]}, {}, "does not have the step where the run had it."),
        ({"source_path": "pay.yaml"}, {}, "The test is imported from <bdi>pay.yaml</bdi>"),
        ({}, {"position": {"file": "pay.yaml", "line": 3, "column": 5}}, "imported from <bdi>pay.yaml:3:5</bdi>"),
    ],
)
async def test_a_proposal_is_not_accepted_for_other_steps(
    client: Client, backends: FakeBackends, test: Any, proposal: Any, sentence: str
) -> None:
    """Those of a test that was changed since, and those that the next import would bring back."""
    key = script_page(backends, "write", "execute", test=test)
    script_healing(backends, "verified", **CHECKED | {"proposal": PROPOSAL | proposal})
    page = await shown(client, key)
    assert sentence in page
    assert ACCEPT not in page


async def test_accepting_replaces_the_step_in_the_steps_that_were_read(client: Client, backends: FakeBackends) -> None:
    key = script_page(backends, "write")
    script_healing(backends, "verified", **CHECKED)
    page = await shown(client, key)
    button = re.search(r'data-steps="(.*?)" data-test="(.*?)" data-etag="(.+?)" data-newest="(\d+)"', page)
    assert button is not None
    assert json.loads(button[1]) == ["launchApp", {"tapOn": "Buy now"}]
    assert (button[2], button[4]) == (TEST, "4")


async def test_a_proposal_without_a_verdict_says_so(client: Client, backends: FakeBackends) -> None:
    """It can be verified again until too many runs have ended without one."""
    key = script_page(backends, "execute")
    script_healing(backends, "unverified", **CHECKED)
    page = await shown(client, key)
    assert "Not verified: no run has ended with a verdict yet." in page
    assert VERIFY in page
    script_healing(backends, "unverified", "the runs that should check it ended without a verdict", **CHECKED)
    page = await shown(client, key)
    assert "Not verified: the runs that should check it ended without a verdict." in page
    assert VERIFY not in page


@pytest.mark.parametrize(
    "error",
    [ResourceExhausted("Too many requests wait: try again", reason="TOO_MANY_WAITING"), Unavailable("It is stopped")],
    ids=str,
)
async def test_errors_are_said_in_words(client: Client, backends: FakeBackends, error: DomainError) -> None:
    key = script_page(backends)
    backends.fail("GetHealing", error)
    page = await shown(client, key)
    assert "Whether the step can be written in another way is not known now: " in page
    assert "no Pay" in page  # the rest of the page is there


async def test_a_check_says_that_it_is_no_result(client: Client, backends: FakeBackends) -> None:
    """On the page of its run, and on that of its execution, which has no gate. Neither offers to run it again."""
    key = script_page(backends, verifies=str(uuid4()))
    fields: dict[str, Any] = {
        "ci": CiAttribution(),
        "counts": executions_pb2.RunCounts(),
        "completed_at": Timestamp(seconds=2),
    }
    check = executions_pb2.Execution(id=EXECUTION, verifies=str(uuid4()), **fields)
    backends.on("BatchGetExecutions", lambda _: executions_pb2.BatchGetExecutionsResponse(executions=[check]))
    backends.on("ListRuns", lambda _: executions_pb2.ListRunsResponse(page=1, page_size=100))
    run_page = await shown(client, key)
    assert "This run checks another way to write the step of a failed run." in run_page
    page = (await client("GET", f"/executions/{EXECUTION}", key=key)).body.decode()
    assert "This execution checks another way to write the step" in page
    assert "The gate is not known" not in page
    assert "/rerun" not in run_page + page


async def test_a_session_that_has_ended_leads_to_the_page_to_sign_in(client: Client, backends: FakeBackends) -> None:
    key = script_page(backends)
    backends.fail("GetHealing", Unauthenticated("Invalid API key", reason="INVALID_API_KEY"))
    answer = await client("GET", f"{PATH}?healing=true", key=key, allow_redirects=False)
    assert answer.status == 303
