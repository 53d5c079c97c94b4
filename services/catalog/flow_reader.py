"""Reads the steps of tests in child processes: half a megabyte of them takes a second of CPU."""

import json
from collections.abc import Sequence
from dataclasses import asdict

from services.catalog.model.tests import FlowProblem, ReadFlow, Step
from services.catalog.model.values import InvalidValue
from services.chassis.child_pool import ChildPool, JobFailed, JobLimits
from services.chassis.child_process import preload
from services.chassis.context import current
from services.chassis.fair_turns import FairTurns
from services.flows.loader import NO_FILES, Files, load_flow

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

    async def read(self, source: str | Sequence[Step], files: Files = NO_FILES) -> ReadFlow:
        """See the port."""
        request = json.dumps((source, dict(files)), ensure_ascii=False).encode(errors="surrogatepass")
        try:
            found = json.loads(await self._children.call(current().org_id, request))
        except JobFailed as failure:
            field = "flow" if isinstance(source, str) else "steps"
            raise InvalidValue(field, f"reading it failed: {failure}; make several tests of it", "too_long") from None
        found["problems"] = tuple(FlowProblem(**each) for each in found["problems"])
        return ReadFlow(**{**found, "tags": tuple(found["tags"]), "steps": tuple(found["steps"])})

    async def close(self) -> None:
        await self._children.close()


def answer(request: bytes) -> bytes:
    """What a child does with a request."""
    source, files = json.loads(request.decode(errors="surrogatepass"))
    return json.dumps(asdict(read_flow(source, files))).encode()


def read_flow(source: str | Sequence[Step], files: Files = NO_FILES) -> ReadFlow:
    """The flow that a text or a list of steps is, or its problems."""
    loaded = load_flow(source, files, root="flow" if isinstance(source, str) else "steps")
    if loaded.flow is None:
        shown = loaded.problems[:PROBLEMS_LIMIT]
        return ReadFlow(problems=tuple(FlowProblem(each.path, each.message, str(each)) for each in shown))
    steps = tuple(loaded.steps)
    return ReadFlow(name=loaded.flow.name, tags=loaded.flow.tags, steps=steps)  # type: ignore[arg-type]
