"""The queue of waiting runs, on a database with canned answers."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from mobiletest_automation.model.devices import Platform
from services.executor.ports.runs import RunKey
from services.executor.storage.fair_queue import CALM_CLAIMS, MAX_LOOKAHEAD, ClaimContention, FairQueue
from services.executor.storage.leased_runs import LeasedRuns

NOW = datetime(2026, 11, 21, tzinfo=UTC)


class Answers:
    """A database with one waiting run of each organisation; `meanwhile` happens while leased runs are counted."""

    def __init__(self, *org_ids: str) -> None:
        self._org_ids = org_ids
        self.meanwhile: Callable[[], None] | None = None

    async def aggregate(self, collection: str, pipeline: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        if "leased_platform" in pipeline[0]["$match"]:
            if self.meanwhile is not None:
                self.meanwhile()
            return []
        return [_head(org_id) for org_id in self._org_ids]


def _head(org_id: str) -> dict[str, Any]:
    of_run = {"execution_id": f"execution of {org_id}", "run_id": f"run of {org_id}"}
    return {"_id": f"Android/11/{org_id}", "org_id": org_id, "claimable_at": NOW, **of_run}


def _key(org_id: str) -> RunKey:
    return RunKey(f"execution of {org_id}", f"run of {org_id}")


def queue_on(mongo: Any) -> FairQueue:
    return FairQueue(mongo, LeasedRuns(mongo), lambda _: None)


async def test_a_claim_lost_during_a_search_does_not_break_the_search() -> None:
    mongo = Answers("a", "b")
    queue = queue_on(mongo)
    mongo.meanwhile = lambda: queue.record_lost_claim(contended=False)
    assert await queue.next_runs(Platform.ANDROID, 2) == [_key("a"), _key("b")]


async def test_an_organisation_may_have_any_name() -> None:
    queue = queue_on(Answers("a/b", "c"))
    assert await queue.next_runs(Platform.ANDROID, 2) == [_key("a/b"), _key("c")]


def test_losses_increase_the_lookahead_up_to_a_limit_and_calm_shrinks_it() -> None:
    contention = ClaimContention()
    contention.record_win()
    assert (contention.lookahead, contention.pick([1, 2], 2)) == (0, [1, 2])
    seen = []
    for _ in range(7):
        contention.record_loss()
        seen.append(contention.lookahead)
    assert seen == [1, 3, 7, 15, MAX_LOOKAHEAD, MAX_LOOKAHEAD, MAX_LOOKAHEAD]
    for _ in range((MAX_LOOKAHEAD + 1) * CALM_CLAIMS):
        contention.record_win()
    assert contention.lookahead == 0


def test_picked_candidates_are_in_order_and_distinct() -> None:
    for _ in range(50):
        chosen = ClaimContention().pick(range(10), 4)
        assert len(chosen) == 4
        assert chosen == sorted(set(chosen))
