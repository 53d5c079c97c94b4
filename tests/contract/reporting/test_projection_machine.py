"""A consumer group that folds a world into MongoDB, as a state machine: what may happen to events.

The partitions hold every event one to five times, shuffled. Two members take batches from the partitions that they
own, fold them, and commit. Meanwhile transactions fail before and after their commit, members crash and come back,
lose partitions while they have a batch in hand, and offsets are wound back. After each step the read models are those
of a recount of whatever was applied by then, byte for byte.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from pymongo import MongoClient

from services.chassis.migrations import migrate
from services.chassis.mongo import Driver, Mongo
from services.reporting.model.batch import Batch, Snapshot
from services.reporting.model.flaky import FlakyRules
from services.reporting.model.projection import ProjectionRules
from services.reporting.model.snapshots import RunSnapshot
from services.reporting.ports import Projections, ProjectionTransaction
from services.reporting.storage.schema import MIGRATIONS
from services.reporting.usecases.projector import Projector
from tests.contract.reporting.projections import stored
from tests.contract.reporting.store import MongoStore
from tests.examples import examples
from tests.fakes.reporting_recount import recount
from tests.fakes.reporting_stored_bytes import Contents, contents, differences
from tests.fakes.reporting_strategies import BUILDS, build_number, snapshot_lists

RULES = ProjectionRules(flaky=FlakyRules(window=3))
EXAMPLES = settings(
    max_examples=examples(50),
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
PARTITIONS = 3
MEMBERS = 2


class Outcome(Enum):
    """What becomes of a transaction."""

    COMMITTED = "committed"
    # It failed, and nothing of it is there.
    LOST = "lost"
    # It was committed, but the answer was lost.
    UNSURE = "unsure"


class StoreUnavailable(Exception):
    """The database did not answer."""


class UnreliableProjections:
    """Folds whose transactions end as they are told to."""

    def __init__(self, folds: Projections) -> None:
        self._folds = folds
        self.outcome = Outcome.COMMITTED

    async def transaction(self, work: Callable[[ProjectionTransaction], Awaitable[None]]) -> None:
        async def then_lost(transaction: ProjectionTransaction) -> None:
            await work(transaction)
            raise StoreUnavailable

        await self._folds.transaction(work if self.outcome is not Outcome.LOST else then_lost)
        if self.outcome is Outcome.UNSURE:
            raise StoreUnavailable


@dataclass
class Member:
    """One member: where it reads next, and the batch it has in hand."""

    folding: Projector
    positions: dict[int, int] = field(default_factory=dict)
    hand: list[Snapshot] = field(default_factory=list)
    ends: dict[int, int] = field(default_factory=dict)

    def drop(self) -> None:
        """Forget the batch in hand."""
        self.hand, self.ends = [], {}


class ProjectionMachine(RuleBasedStateMachine):
    """The group. `runner` runs its coroutines."""

    def __init__(self, store: MongoStore, runner: asyncio.Runner, stored: Callable[[], Contents]) -> None:
        super().__init__()
        self._runner, self._stored = runner, stored
        self._unreliable = UnreliableProjections(store.projections)
        self._log: list[list[Snapshot]] = [[] for _ in range(PARTITIONS)]
        self._owner = [partition % MEMBERS for partition in range(PARTITIONS)]
        self._committed = [0] * PARTITIONS
        self._members = [Member(self._folding()) for _ in range(MEMBERS)]
        self._applied: list[Snapshot] = []
        runner.run(store.clear())

    def _folding(self) -> Projector:
        return Projector(self._unreliable, RULES)

    @initialize(world=snapshot_lists(), random=st.randoms(use_true_random=False))
    def publish(self, world: list[Snapshot], random: Random) -> None:
        """Every event one to five times, each copy on some partition, in no order."""
        copies = [one for told in move_runs(world, random) for one in [told] * random.choice([1, 1, 1, 2, 2, 3, 5])]
        random.shuffle(copies)
        for one in copies:
            self._log[random.randrange(PARTITIONS)].append(one)
        for partition, owner in enumerate(self._owner):
            self._members[owner].positions[partition] = 0

    @rule(number=st.integers(0, MEMBERS - 1), size=st.integers(1, 40))
    def take(self, number: int, size: int) -> None:
        """A member fetches up to `size` events of each of its partitions."""
        member = self._members[number]
        member.drop()
        for partition, position in member.positions.items():
            records = self._log[partition][position : position + size]
            member.hand += records
            member.ends[partition] = position + len(records)

    @rule(number=st.integers(0, MEMBERS - 1), outcome=st.sampled_from(Outcome), commits=st.booleans())
    def apply(self, number: int, outcome: Outcome, *, commits: bool) -> None:
        """A member folds what it has in hand, even if the partitions are not its own any more, and may commit."""
        member = self._members[number]
        self._unreliable.outcome = outcome
        with suppress(StoreUnavailable):
            self._runner.run(member.folding.apply_events(Batch.of(member.hand)))
        if outcome is not Outcome.LOST:
            self._applied += member.hand
        if outcome is Outcome.COMMITTED:
            self._advance(member, commits=commits)

    def _advance(self, member: Member, *, commits: bool) -> None:
        for partition, end in member.ends.items():
            if partition in member.positions:
                member.positions[partition] = end
                if commits:
                    self._committed[partition] = end
        member.drop()

    @rule(number=st.integers(0, MEMBERS - 1))
    def crash(self, number: int) -> None:
        """A member is killed and comes back: it reads from what was committed, and remembers nothing."""
        positions = {place: self._committed[place] for place in self._members[number].positions}
        self._members[number] = Member(self._folding(), positions)

    @rule(partition=st.integers(0, PARTITIONS - 1))
    def rebalance(self, partition: int) -> None:
        """A partition goes to the other member; the batch in the hand of the first stays there."""
        self._members[self._owner[partition]].positions.pop(partition, None)
        self._owner[partition] = 1 - self._owner[partition]
        self._members[self._owner[partition]].positions[partition] = self._committed[partition]

    @rule(partition=st.integers(0, PARTITIONS - 1), by=st.integers(1, 1000))
    def wind_back(self, partition: int, by: int) -> None:
        """Somebody sets the offsets of a partition back."""
        self._committed[partition] = max(0, self._committed[partition] - by)
        self._members[self._owner[partition]].positions[partition] = self._committed[partition]

    @precondition(lambda self: any(self._log))
    @rule(size=st.integers(5, 200))
    def catch_up(self, size: int) -> None:
        """Both members read to the end, in turns."""
        while any(end < len(log) for end, log in zip(self._committed, self._log, strict=True)):
            for number in range(MEMBERS):
                self.take(number, size)
                self.apply(number, Outcome.COMMITTED, commits=True)

    @invariant()
    def equals_a_recount(self) -> None:
        wrong = differences(self._stored(), contents(recount(self._applied, RULES)))
        assert not wrong, "\n".join(wrong)


def move_runs(world: list[Snapshot], random: Random) -> list[Snapshot]:
    """The world with some runs that were to run on another build before they ended on theirs."""
    return [_moved(one, random) for one in world]


def _moved(one: Snapshot, random: Random) -> Snapshot:
    if not isinstance(one, RunSnapshot) or one.build is None or one.status.terminal or random.random() < 0.5:
        return one
    app = int((one.app_id or "").removeprefix("app-"))
    return replace(one, build=build_number(app, random.randrange(BUILDS)))


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


def test_stored_documents_always_equal_a_recount(
    runner: asyncio.Runner,
    mongo_uri: str,
    mongo_driver: Driver,
    read_models_database: str,
    mongo_client: MongoClient[dict[str, Any]],
) -> None:
    mongo = runner.run(Mongo.connect(mongo_uri, read_models_database, mongo_driver))
    try:
        runner.run(migrate(mongo, MIGRATIONS))
        store, read = MongoStore(mongo), partial(stored, mongo_client, read_models_database)
        run_state_machine_as_test(lambda: ProjectionMachine(store, runner, read), settings=EXAMPLES)  # type: ignore[no-untyped-call]
    finally:
        runner.run(mongo.close())
