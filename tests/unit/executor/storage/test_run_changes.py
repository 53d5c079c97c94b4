"""Which changes of runs share a transaction, and what becomes of them when it fails."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from pymongo.errors import OperationFailure

from services.chassis.errors import Aborted
from services.executor.storage.run_changes import GROUP_LIMIT, RunChange, RunChangeGroups


class Commits:
    """Transactions that wait for `go`, and fail while they have a run of `broken`."""

    def __init__(self) -> None:
        self.groups: list[list[str]] = []
        self.go = asyncio.Event()
        self.go.set()
        self.broken: dict[str, Exception] = {}

    async def __call__(self, group: Sequence[RunChange], seconds: float) -> None:
        names = [change.run_id for change in group]
        self.groups.append(names)
        await self.go.wait()
        for name in names:
            if name in self.broken:
                raise self.broken[name]
        for change in group:
            done: Any = change.done
            done.set_result(change.transition(change.run_id, datetime.now(UTC)))  # type: ignore[arg-type]


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


async def test_after_a_failure_each_change_is_made_alone() -> None:
    commits = Commits()
    error = commits.broken["b"] = Aborted("changed by another")
    assert await make(RunChangeGroups(commits), "a", "b", "c") == ["a", error, "c"]
    assert commits.groups == [["a", "b", "c"], ["a"], ["b"], ["c"]]


async def test_a_conflict_is_retried_without_delaying_other_changes() -> None:
    commits = Commits()
    groups = RunChangeGroups(commits)
    commits.broken["a"] = OperationFailure("conflict", 112, {"errorLabels": ["TransientTransactionError"]})
    commits.go.clear()
    first = asyncio.create_task(groups.make(change("a", "contended")))
    await asyncio.sleep(0)
    second = asyncio.create_task(groups.make(change("b")))
    commits.go.set()
    assert await second is not None
    with pytest.raises(OperationFailure):
        await first
    assert commits.groups.count(["a"]) == 2


async def test_changes_that_nobody_waits_for_are_dropped() -> None:
    commits = Commits()
    groups = RunChangeGroups(commits)
    commits.go.clear()
    first = asyncio.create_task(groups.make(change("a")))
    await asyncio.sleep(0)
    second = asyncio.create_task(groups.make(change("b")))
    await asyncio.sleep(0)
    second.cancel()
    commits.go.set()
    await first
    await asyncio.gather(second, return_exceptions=True)
    assert commits.groups == [["a"]]
