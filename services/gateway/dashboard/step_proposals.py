"""The part of a failed run's page about another way to write the step whose element has changed."""

import asyncio
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from aiohttp import web

from mobiletest_automation.flows.step_paths import NoSuchStep, replace_step
from services.gateway.dashboard.comparisons import base_branch_of
from services.gateway.dashboard.pages import Values
from services.gateway.dashboard.resources import read, read_part, read_tagged
from services.gateway.dashboard.versions import compare_steps

# The parameter of the page's address that asks for the proposal: making it takes long, so nobody waits for it unasked.
ASKED = "healing"
DELETED = "The test has been deleted since this run"
CHANGED = "The test has been changed since this run: run it again to get a proposal for its steps as they are now"
NO_SUCH_STEP = "The test does not have the step where the run had it"

Json = Mapping[str, Any]


async def read_proposal(request: web.Request, run: Json) -> Values:
    """`offered`: the address that asks for a proposal, None if there cannot be one; `proposed`: what is known of it, if
    that is the address of the page.
    """
    if not _may_have_one(run):
        return {"offered": None, "proposed": None}
    part = await read_part("test", read_tagged(request, "GetTest", test_id=run["test_id"]))
    test, etag = part["test"] or (None, "")
    obstacle = _obstacle(run, test, part["test_refusal"])
    if ASKED not in request.query:
        query = urlencode({**base_branch_of(request), ASKED: "true"})
        return {"offered": None if obstacle in (DELETED, CHANGED) else f"?{query}#healing", "proposed": None}
    return {"offered": None, "proposed": await _read_healing(request, test, etag, obstacle)}


def _may_have_one(run: Json) -> bool:
    """Whether it failed because of an element that a step did not find, and is not itself the check of a proposal."""
    failure = run["failure"]
    if run["success"] is not False or failure is None or run.get("verifies"):
        return False
    return failure["category"] == "element_not_found" and failure["step_index"] is not None


def _obstacle(run: Json, test: Json | None, refusal: Any) -> str:
    """Why the test cannot have the proposal of this run; empty if it can."""
    if refusal is not None:
        return DELETED if refusal.status == 404 else str(refusal.message)
    return "" if test is not None and test["version_number"] == run["test_version_number"] else CHANGED


async def _read_healing(request: web.Request, test: Json | None, etag: str, obstacle: str) -> Values:
    """The proposal as `healing`, or why it is not known as `healing_refusal`; the run that checks it as `check`; the
    `steps` that the test would have, None with an `obstacle`.
    """
    values = dict(await read_part("healing", read(request, "GetHealing")))
    healing = values["healing"] or {}
    proposal = healing.get("proposal")
    difference = check = steps = None
    if proposal is not None:
        difference = await asyncio.to_thread(compare_steps, [proposal["old_step"]], [proposal["step"]])
    if "check_run_id" in healing:
        ids = {"execution_id": healing["check_execution_id"], "run_id": healing["check_run_id"]}
        check = (await read_part("check", read(request, "GetRun", **ids)))["check"]
    if proposal is not None and test is not None and not obstacle:
        steps = _steps_with(test, proposal)
        obstacle = NO_SUCH_STEP if steps is None else ""
    return {
        **values,
        "test": test,
        "etag": etag,
        "obstacle": obstacle,
        "difference": difference,
        "check": check,
        "steps": steps,
    }


def _steps_with(test: Json, proposal: Json) -> list[Any] | None:
    """The steps of the test with the proposed one; None if it does not have the old one there."""
    try:
        return replace_step(test["steps"] or (), proposal["path"], proposal["old_step"], proposal["step"])
    except NoSuchStep:
        return None
