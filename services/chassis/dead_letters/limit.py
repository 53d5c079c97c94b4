"""How many messages of a partition may be invalid before it is held instead of dead-lettering all of them."""

from collections import Counter, defaultdict, deque
from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass, field

from aiokafka import ConsumerRecord, TopicPartition

from services.chassis.dead_letters.letters import REPLAYED_FROM
from services.chassis.events import InvalidMessage
from services.chassis.topics import partition_of

# How many of the last reasons the explanation repeats.
SHOWN_REASONS = 5

# A handled record, and why it is invalid.
Outcome = tuple[ConsumerRecord, InvalidMessage | None]


@dataclass(frozen=True, slots=True)
class DlqLimit:
    """At most this share of the newest `window` messages of a partition may be invalid; 1 means no limit."""

    share: float = 1.0
    window: int = 200


@dataclass(slots=True)
class _Partition:
    """`seen` counts all messages; `invalid` has the numbers of the invalid ones within the window."""

    seen: int = 0
    invalid: deque[int] = field(default_factory=deque)
    reasons: deque[str] = field(default_factory=lambda: deque(maxlen=SHOWN_REASONS))


class DlqLimitState:
    """Counts messages by partition. The first `window` messages of one never exceed the limit, nor do replayed ones."""

    def __init__(self, limit: DlqLimit) -> None:
        self._limit = limit
        self._partitions: defaultdict[TopicPartition, _Partition] = defaultdict(_Partition)

    def count(self, outcomes: Iterable[Outcome]) -> None:
        """Count a batch that is within the limit."""
        for record, error in outcomes:
            self._count(self._partitions[partition_of(record)], record, error)

    def count_valid(self, records: Iterable[ConsumerRecord]) -> None:
        """Count a batch of which no message is invalid."""
        for partition, number in Counter(map(partition_of, records)).items():
            self._partitions[partition].seen += number

    def over_limit(self, outcomes: Iterable[Outcome]) -> dict[TopicPartition, str]:
        """The partitions that would exceed the limit at some message of the batch, with an explanation that says what
        to do. Counts nothing.
        """
        copies: dict[TopicPartition, _Partition] = {}
        explanations: dict[TopicPartition, str] = {}
        for record, error in outcomes:
            name = partition_of(record)
            if name in explanations:
                continue
            if (partition := copies.get(name)) is None:
                partition = copies[name] = deepcopy(self._partitions[name])
            if self._count(partition, record, error):
                explanations[name] = self._explain(name, partition)
        return explanations

    def _count(self, partition: _Partition, record: ConsumerRecord, error: InvalidMessage | None) -> bool:
        """Whether the limit is exceeded with this message."""
        partition.seen += 1
        if error is None or any(name == REPLAYED_FROM for name, _ in record.headers):
            return False
        partition.invalid.append(partition.seen)
        partition.reasons.append(f"{error.reason} ({str(error)[:200]}) at {record.offset}")
        while partition.invalid[0] <= partition.seen - self._limit.window:
            partition.invalid.popleft()
        share = len(partition.invalid) / self._limit.window
        return partition.seen >= self._limit.window and share > self._limit.share

    def _explain(self, name: TopicPartition, partition: _Partition) -> str:
        return (
            f"{len(partition.invalid)} of the newest {self._limit.window} messages of {name.topic}/{name.partition} "
            f"are invalid, more than the share of {self._limit.share:g} that MOBILETEST_INVALID_SHARE allows. The last "
            f"ones, with their offsets: {'; '.join(partition.reasons)}. They were neither dead-lettered nor committed. "
            f"Earlier dead letters: `python -m services.chassis.dead_letters list {name.topic}`. Fix the producer, or "
            f"deploy a version that can read its messages; or set MOBILETEST_INVALID_SHARE=1 to dead-letter all of "
            f"them, and replay them later."
        )
