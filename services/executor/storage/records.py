"""Executions, runs, plans and steps as the documents that hold them. None is not stored."""

from dataclasses import replace
from functools import cache
from typing import Any, TypeVar

import orjson
from pydantic import TypeAdapter

from mobiletest_automation.model.attempts import Attempt
from mobiletest_automation.model.results import Artifact, StepResult, end_steps
from mobiletest_automation.model.states import Status
from mobiletest_automation.model.variants import EMPTY_VARIANT
from services.chassis.mongo import Document
from services.chassis.text_search import fold_case
from services.executor.model.executions import Execution
from services.executor.model.runs import Run, RunLimits, RunPlan
from services.executor.ports.runs import LiveAttempt
from services.executor.storage.fair_queue import queue_fields
from services.executor.storage.schema import ARTIFACTS_KEPT_SINCE, SCREENS_KEPT_SINCE

OPEN_STATUSES = [status.value for status in Status if not status.terminal]
# A projection for pages of executions, each of which may have 64 KiB of variables.
WITHOUT_ENV = {"run_config.env": 0}

T = TypeVar("T")


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def to_document(value: Any) -> Document:
    """The fields of a dataclass that are not None, as MongoDB values."""
    kind: Any = type(value)
    document: Document = _adapter(kind).dump_python(value, exclude_none=True)
    return document


def from_document(kind: type[T], document: Document) -> T:
    """The dataclass of the document. An absent field gets its default."""
    known: Any = kind
    made: T = _adapter(known).validate_python(document)
    return made


def execution_document(execution: Execution) -> Document:
    """The execution with the fields by which lists find it."""
    document = to_document(execution)
    return {"_id": document.pop("id"), **document, **list_fields(execution)}


def list_fields(execution: Execution) -> Document:
    """Its result, and the texts that lists search by prefix, folded; none for what it does not have."""
    flaky = {"flaky": True} if execution.flaky_runs else {}
    ci = execution.ci
    texts = {
        "branch": ci.branch,
        "commit": ci.commit_sha,
        "ci_run": ci.run_id,
        "name": execution.title,
        "started_by": execution.started_by,
    }
    folded = {name: fold_case(text.strip()) for name, text in texts.items() if text and text.strip()}
    return {"result": execution.result.value, **flaky, **({"search": folded} if folded else {})}


def execution_of(document: Document) -> Execution:
    return from_document(Execution, {**document, "id": document["_id"]})


def run_document(run: Run, limits: RunLimits) -> Document:
    """The run without its steps, with the fields by which the fair queue, the reaper and retention find it."""
    bare = replace(run, attempts=tuple(replace(attempt, steps=()) for attempt in run.attempts)) if run.attempts else run
    document = to_document(bare)
    if run.variant == EMPTY_VARIANT:
        del document["variant"]
    if not run.comment_count:
        del document["comment_count"]
    due_at = run.due_at(limits)
    due = {"due_at": due_at} if due_at else {}
    kept = {ARTIFACTS_KEPT_SINCE: run.completed_at} if run.completed_at and _leaves_artifacts(run) else {}
    screens = {SCREENS_KEPT_SINCE: run.completed_at} if run.completed_at and _leaves_screens(run) else {}
    return {"_id": document.pop("id"), **document, **due, **kept, **screens, **queue_fields(run)}


def _leaves_artifacts(run: Run) -> bool:
    """Whether retention must look for artifacts: a run whose worker died may have some that it does not list."""
    return any(attempt.artifacts or attempt.success is not True for attempt in run.attempts)


def _leaves_screens(run: Run) -> bool:
    """Whether it is among what was seen of the test: the steps of a run that checks a proposal are not the test's."""
    steps = [step for attempt in run.attempts[-1:] for step in attempt.steps]
    return run.verifies is None and any(step.screen is not None and step.screen.tree for step in steps)


def run_of(document: Document) -> Run:
    return from_document(Run, {**document, "id": document["_id"]})


def steps_document(run: Run, attempt: Attempt) -> Document:
    """The steps of one attempt. The id makes the write idempotent."""
    return {
        "_id": f"{run.id}/{attempt.number}",
        "org_id": run.org_id,
        "run_id": run.id,
        "number": attempt.number,
        "steps": [to_document(step) for step in attempt.steps],
    }


def live_document(attempt: LiveAttempt) -> Document:
    """What an attempt under way has reached. Its final steps replace it."""
    return {
        "_id": f"{attempt.key.run_id}/{attempt.number}",
        "live": True,
        "org_id": attempt.org_id,
        "execution_id": attempt.key.execution_id,
        "run_id": attempt.key.run_id,
        "number": attempt.number,
        "device": attempt.device,
        "simulated": attempt.simulated,
        "steps": [to_document(step) for step in attempt.steps],
        "artifacts": [to_document(artifact) for artifact in attempt.artifacts],
    }


def with_steps(run: Run, documents: list[Document]) -> Run:
    """The run, its attempts with their stored steps; one that was lost has what it had reached."""
    stored = {document["number"]: document for document in documents}
    return replace(run, attempts=tuple(_attempt_with(a, stored.get(a.number)) for a in run.attempts))


def _attempt_with(attempt: Attempt, document: Document | None) -> Attempt:
    if document is None:
        return attempt
    steps = tuple(from_document(StepResult, step) for step in document["steps"])
    if "live" not in document:
        return replace(attempt, steps=steps)
    if attempt.device is None:
        attempt = replace(attempt, device=document["device"], simulated=document["simulated"])
    if attempt.status.terminal:
        return replace(attempt, steps=end_steps(steps))
    return replace(attempt, steps=steps, artifacts=tuple(from_document(Artifact, a) for a in document["artifacts"]))


def plan_document(run: Run, plan: RunPlan) -> Document:
    """What a worker needs besides the run. Steps are JSON text, because their keys may not be valid field names."""
    document = _adapter(RunPlan).dump_python(plan, exclude_none=True, exclude={"steps"})
    return {"_id": run.id, "org_id": run.org_id, **document, "steps": orjson.dumps(plan.steps)}


def plan_of(document: Document) -> RunPlan:
    size = {"size_bytes": len(document["steps"])}  # unless it is stored
    return from_document(RunPlan, {**size, **document, "steps": orjson.loads(document["steps"])})
