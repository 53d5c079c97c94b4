"""The page of a run: what failed, whether the test is flaky or newly broken, and the trace of each attempt."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from aiohttp import web

from services.gateway.dashboard.app_names import with_apps
from services.gateway.dashboard.comparisons import NO_GATE, read_gate, repository_url
from services.gateway.dashboard.pages import Values
from services.gateway.dashboard.resources import read, read_part
from services.gateway.dashboard.run_comments import read_comments, split_addresses
from services.gateway.dashboard.step_proposals import read_proposal
from services.gateway.dashboard.traces import trace_of

Json = Mapping[str, Any]


@with_apps
async def show_run(request: web.Request) -> Values:
    """A run with its attempts, their steps and screens, and what the gate and the report of its test say of it."""
    execution, run = await asyncio.gather(read(request, "GetExecution"), read(request, "GetRun"))
    gate, on_app, proposal, comments = await asyncio.gather(
        _gate(request, run), _on_app(request, run), read_proposal(request, run), read_comments(request, run)
    )
    reasons = gate["gate"]["reasons"] if gate["gate"] else ()
    return {
        "execution": execution,
        "run": run,
        **on_app,
        **proposal,
        **comments,
        "gate_refusal": gate["gate_refusal"],
        "reason": next((reason for reason in reasons if _is_current(reason, run, on_app["test"])), None),
        "failures": neighbours(run["id"], [reason["run_id"] for reason in reasons]),
        "repository": repository_url(_repository(run, on_app["report"])),
        "trace_of": trace_of,
        "split_addresses": split_addresses,
    }


async def _gate(request: web.Request, run: Json) -> Values:
    """The gate of the execution if the run did not pass; none for the check of a proposal."""
    if run["completed_at"] is None or run["success"] or run.get("verifies"):
        return NO_GATE
    return await read_gate(request)


async def _on_app(request: web.Request, run: Json) -> Values:
    """The `app`, the `test` as the catalog has it, and the `report` on how it behaves on the app in the variant of the
    run; each None if it is not known.
    """
    if run["app_id"] is None:
        return {"app": None, "test": None, "report": None}
    variant = (run.get("variant") or {}).get("id", "")
    reading = read(request, "GetTestReport", app_id=run["app_id"], test_id=run["test_id"], variant_id=variant)
    parts = await asyncio.gather(
        read_part("app", read(request, "GetApp", app_id=run["app_id"])),
        read_part("test", read(request, "GetTest", test_id=run["test_id"])),
        read_part("report", reading),
    )
    return {name: value for part in parts for name, value in part.items()}


def _repository(run: Json, report: Json | None) -> str | None:
    """The repository that CI named for the run, or for the newest one of its test: one by hand names none."""
    runs = (run, *(report["runs"] if report else ()))
    return next((text for each in runs if (text := (each["metadata"] or {}).get("repository"))), None)


def _is_current(reason: Json, run: Json, test: Json | None) -> bool:
    """Whether this is what the gate says of the run, and reporting knows of the quarantine that the catalog has."""
    return reason["run_id"] == run["id"] and bool(reason["quarantine"]) == bool(test and test["quarantine"])


def neighbours(run_id: str, run_ids: Sequence[str]) -> Json | None:
    """The `number` of a run among these, from 1, how many they are in `total`, and the ids of the `previous` and the
    `next` one, None at the ends; None if it is not among them.
    """
    if run_id not in run_ids:
        return None
    place = run_ids.index(run_id)
    following = run_ids[place + 1 : place + 2]
    previous = run_ids[place - 1] if place else None
    return {
        "number": place + 1,
        "total": len(run_ids),
        "previous": previous,
        "next": following[0] if following else None,
    }
