"""Reads the steps of tests in child processes: half a megabyte of them takes a second of CPU."""

import json
from collections.abc import Sequence
from dataclasses import asdict

from mobiletest_automation.flows.loader import NO_FILES, Files, load_flow
from mobiletest_automation.flows.nodes import DocumentError, Notice
from services.catalog.model.tests import FlowProblem, ReadFlow, Step
from services.catalog.model.values import InvalidValue
from services.chassis.child_pool import ChildPool, JobFailed, JobLimits
from services.chassis.child_process import preload
from services.chassis.context import current
from services.chassis.fair_turns import FairTurns

LIMITS = JobLimits(cpu_seconds=5, wall_seconds=15, memory_bytes=128 * 2**20, answer_bytes=8 * 2**20)
CHILDREN = 2
JOBS_PER_CHILD = 500
PROBLEMS_LIMIT = 100


class ChildFlowReader:
    """Children that read steps. An organisation occupies at most one of them."""

    def __init__(self, limits: JobLimits = LIMITS) -> None:
        preload(__name__)
        turns = FairTurns(CHILDREN, per_org=1, waiting_per_org=32, waiting=128)
        self._children = ChildPool("flows", answer, turns, limits, jobs_per_child=JOBS_PER_CHILD)

    async def read(self, source: str | Sequence[Step], files: Files = NO_FILES, path: str = "") -> ReadFlow:
        """See the port."""
        request = json.dumps((source, dict(files), path), ensure_ascii=False).encode(errors="surrogatepass")
        try:
            answer_fields = json.loads(await self._children.call(current().org_id, request))
        except JobFailed as failure:
            field = "flow" if isinstance(source, str) else "steps"
            raise InvalidValue(field, f"reading it failed: {failure}; make several tests of it", "too_long") from None
        for field in ("problems", "notices"):
            answer_fields[field] = tuple(FlowProblem(**each) for each in answer_fields[field])
        return ReadFlow(
            **{**answer_fields, "tags": tuple(answer_fields["tags"]), "steps": tuple(answer_fields["steps"])}
        )

    async def close(self) -> None:
        await self._children.close()


def answer(request: bytes) -> bytes:
    """What a child does with a request."""
    return json.dumps(asdict(read_flow(*json.loads(request.decode(errors="surrogatepass"))))).encode()


def read_flow(source: str | Sequence[Step], files: Files = NO_FILES, path: str = "") -> ReadFlow:
    """The flow that a text or a list of steps is, or its problems."""
    root = path or ("flow" if isinstance(source, str) else "steps")
    loaded = load_flow(source, files, root=root, path=path)
    notices = _located(loaded.notices)
    if loaded.flow is None:
        return ReadFlow(problems=_located(loaded.problems), notices=notices)
    steps = tuple(loaded.steps)
    return ReadFlow(loaded.flow.name, loaded.flow.tags, steps, notices=notices)  # type: ignore[arg-type]


def _located(mistakes: Sequence[DocumentError | Notice]) -> tuple[FlowProblem, ...]:
    return tuple(
        FlowProblem(each.path, each.message, str(each), each.file, each.line, each.column)
        for each in mistakes[:PROBLEMS_LIMIT]
    )
