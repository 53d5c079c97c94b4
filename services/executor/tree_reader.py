"""Reads stored trees and checks steps on them, in child processes: it may take more CPU and memory than other calls."""

from collections.abc import Iterable, Sequence

import orjson

from mobiletest_automation.flows.step_places import StepPlace
from mobiletest_automation.stored_screens.verdict import Verdict
from services.chassis import logs
from services.chassis.child_pool import ChildPool, JobFailed, JobLimits
from services.chassis.child_process import preload
from services.chassis.errors import InvalidArgument, Violation
from services.chassis.fair_turns import FairTurns
from services.chassis.packed_parts import pack
from services.executor.ports.rechecks import (
    CheckAnswer,
    CheckFailed,
    CheckRequest,
    ScreenToCheck,
    ScreenVerdict,
    StepToRead,
    WrittenStep,
)

LIMITS = JobLimits(cpu_seconds=5, wall_seconds=20, memory_bytes=384 * 2**20, answer_bytes=48 * 2**20)
# One organisation occupies one of them.
CHILDREN = 2
JOBS_PER_CHILD = 500
# The modules that only the children import.
TREES, STEPS = "services.executor.tree_json", "services.executor.recheck_child"
# What a request is, which is its first byte.
_READ_TREE, _READ_STEP, _CHECK = b"\x00", b"\x01", b"\x02"

log = logs.get(__name__)


class TreeReader:
    """The children, in turns of the organisations. The ports `Trees` and `StepChecks`."""

    def __init__(self, limits: JobLimits = LIMITS) -> None:
        preload(__name__, TREES, STEPS)
        turns = FairTurns(CHILDREN, per_org=1, waiting_per_org=32, waiting=128)
        self._children = ChildPool("trees", answer, turns, limits, jobs_per_child=JOBS_PER_CHILD)

    async def read(self, org_id: str, stored: bytes) -> bytes | None:
        """The tree as JSON; None if it is damaged, or takes more than the limits.

        Raises:
            ResourceExhausted: too many requests wait.
            Unavailable: too many wait.
        """
        try:
            return await self._children.call(org_id, _READ_TREE + stored) or None
        except JobFailed as failure:
            log.warning("tree_not_read", org_id=org_id, error=str(failure))
            return None

    async def read_step(self, org_id: str, wanted: StepToRead) -> WrittenStep:
        try:
            answer = orjson.loads(await self._children.call(org_id, _READ_STEP + orjson.dumps(wanted)))
        except JobFailed as failure:
            raise _invalid(Violation("step", f"reading it failed: {failure}", "step.work")) from None
        if "violation" in answer:
            raise _invalid(Violation(**answer["violation"]))
        place = answer.pop("place")
        words = frozenset(answer.pop("other_words"))
        return WrittenStep(**answer, place=None if place is None else StepPlace(*place), other_words=words)

    async def check(self, org_id: str, step: WrittenStep, request: CheckRequest) -> CheckAnswer:
        numbers = {hash: number for number, hash in enumerate(request.trees)}

        def screens(wanted: Iterable[ScreenToCheck]) -> Sequence[tuple[int, str]]:
            return [(numbers[screen.tree], screen.platform) for screen in wanted]

        head = {
            "step": step.value,
            "may_ask_model": request.may_ask_model,
            "own": screens(request.own),
            "others": screens(request.others),
        }
        try:
            answer = orjson.loads(await self._children.call(org_id, _CHECK + pack(head, request.trees.values())))
        except JobFailed as failure:
            log.warning("screens_not_checked", org_id=org_id, error=str(failure))
            raise CheckFailed(str(failure)) from None
        own, others = (
            [ScreenVerdict(Verdict(verdict), reason, element) for verdict, reason, element in answer[kind]]
            for kind in ("own", "others")
        )
        return CheckAnswer(own=own, others=others, asserts_nothing=answer["asserts_nothing"])

    async def close(self) -> None:
        await self._children.close()


def _invalid(violation: Violation) -> InvalidArgument:
    return InvalidArgument(f"{violation.field}: {violation.message}", violations=[violation])


def answer(request: bytes) -> bytes:
    """What a child does: a tree as JSON, empty if it is damaged; a step; or its verdicts on screens."""
    from services.executor import recheck_child, tree_json

    jobs = {_READ_TREE: tree_json.read_tree, _READ_STEP: recheck_child.read_step, _CHECK: recheck_child.check}
    return jobs[request[:1]](request[1:])
