"""Which changes of runs share a transaction, and what becomes of them when it fails."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from pymongo.errors import OperationFailure

from services.chassis.errors import Aborted
from services.executor.storage.run_changes import GROUP_LIMIT, RunChange, RunChangeGroups


class Commits:
    """Transactions of which those with a run of `broken` fail, and the first `conflicts` too; one with a run of `slow`
    waits for `go`.
    """

    def __init__(self) -> None:
        self.groups: list[list[str]] = []
        self.broken: dict[str, Exception] = {}
        self.conflicts = 0
        self.slow: set[str] = set()
        self.go = asyncio.Event()

    async def __call__(self, group: Sequence[RunChange], seconds: float) -> Mapping[RunChange, Any]:
        names = [change.run_id for change in group]
        self.groups.append(names)
        if self.conflicts:
            self.conflicts -= 1
            raise OperationFailure("conflict", 112, {"errorLabels": ["TransientTransactionError"]})
        if self.slow & set(names):
            await self.go.wait()
        for name in names:
            if name in self.broken:
                raise self.broken[name]
        return {change: change.transition(change.run_id, datetime.now(UTC)) for change in group}  # type: ignore[arg-type]


def change(run_id: str, execution_id: str = "e") -> RunChange:
    return RunChange(execution_id, run_id, lambda run, _: run)


async def make(groups: RunChangeGroups, *run_ids: str) -> list[Any]:
    return await asyncio.gather(*(groups.make(change(run_id)) for run_id in run_ids), return_exceptions=True)


async def test_changes_that_arrive_together_share_a_transaction() -> None:
    commits = Commits()
    assert await make(RunChangeGroups(commits), "a", "b", "c") == ["a", "b", "c"]
    assert commits.groups == [["a", "b", "c"]]


async def test_a_run_is_changed_once_in_a_transaction() -> None:
    commits = Commits()
    await make(RunChangeGroups(commits), "a", "a", "b")
    assert commits.groups == [["a", "b"], ["a"]]


async def test_a_transaction_has_a_limited_number_of_changes() -> None:
    commits = Commits()
    await make(RunChangeGroups(commits), *map(str, range(GROUP_LIMIT + 1)))
    assert [len(group) for group in commits.groups] == [GROUP_LIMIT, 1]


async def test_after_a_failure_the_changes_of_an_execution_are_made_in_halves() -> None:
    commits = Commits()
    error = commits.broken["b"] = Aborted("changed by another")
    assert await make(RunChangeGroups(commits), "a", "b", "c") == ["a", error, "c"]
    assert commits.groups == [["a", "b", "c"], ["a", "b", "c"], ["a"], ["b", "c"], ["b"], ["c"]]


async def test_a_failure_leaves_other_executions_together() -> None:
    commits = Commits()
    groups = RunChangeGroups(commits)
    commits.broken["x"] = Aborted("changed by another")
    changes = [change("x", "other"), change("a"), change("b")]
    outcomes = await asyncio.gather(*map(groups.make, changes), return_exceptions=True)
    assert outcomes == [commits.broken["x"], "a", "b"]
    assert commits.groups[0] == ["x", "a", "b"]
    assert commits.groups[1:] == [["x"], ["a", "b"]]


async def test_a_contended_execution_delays_no_others_and_keeps_its_changes_together() -> None:
    commits = Commits()
    groups = RunChangeGroups(commits)
    commits.conflicts = 1
    commits.go.clear()
    commits.slow = {"a"}
    first = asyncio.create_task(groups.make(change("a", "contended")))
    await groups.make(change("d"))
    later = [asyncio.create_task(groups.make(change(name, "contended"))) for name in "bc"]
    await groups.make(change("e"))
    commits.go.set()
    await asyncio.gather(first, *later)
    assert commits.groups == [["d", "a"], ["d"], ["a"], ["e"], ["b", "c"]]


async def test_abandoned_changes_are_dropped() -> None:
    commits = Commits()
    groups = RunChangeGroups(commits)
    commits.slow = {"a"}
    first = asyncio.create_task(groups.make(change("a")))
    await asyncio.sleep(0)
    second = asyncio.create_task(groups.make(change("b")))
    await asyncio.sleep(0)
    second.cancel()
    commits.go.set()
    await asyncio.gather(first, second, return_exceptions=True)
    assert commits.groups == [["a"]]
