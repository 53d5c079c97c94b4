"""How many messages of a topic may be invalid before the consumer stops instead of dead-lettering all of them."""

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field

from aiokafka import ConsumerRecord

from services.chassis.dead_letters.letters import REPLAYED_FROM
from services.chassis.events import InvalidMessage

SHOWN_REASONS = 5
"""How many of the last reasons the error repeats."""


@dataclass(frozen=True, slots=True)
class DlqLimit:
    """At most this share of the newest `window` messages of a topic may be invalid; 1 means no limit."""

    share: float = 1.0
    window: int = 200


class DlqLimitExceeded(Exception):
    """The consumer stops; its last batch is neither dead-lettered nor committed. The message says what to do."""


@dataclass(slots=True)
class _Topic:
    """`seen` counts all messages; `invalid` has the numbers of the invalid ones within the window."""

    seen: int = 0
    invalid: deque[int] = field(default_factory=deque)
    reasons: deque[str] = field(default_factory=lambda: deque(maxlen=SHOWN_REASONS))


class DlqLimitState:
    """Counts messages by topic. A topic's first `window` messages never exceed the limit, nor do replayed ones."""

    def __init__(self, limit: DlqLimit) -> None:
        self._limit = limit
        self._topics: defaultdict[str, _Topic] = defaultdict(_Topic)

    def count(self, records: Iterable[ConsumerRecord], refused: Mapping[int, InvalidMessage]) -> None:
        """Count a batch; `refused` by index in it. DlqLimitExceeded at the first message over the limit."""
        if not refused:
            for name, number in Counter(record.topic for record in records).items():
                self._topics[name].seen += number
            return
        for index, record in enumerate(records):
            self._count(record, refused.get(index))

    def check(self, records: Iterable[ConsumerRecord], refused: Mapping[int, InvalidMessage]) -> None:
        """DlqLimitExceeded if `count` would raise it; counts nothing."""
        deepcopy(self).count(records, refused)

    def _count(self, record: ConsumerRecord, error: InvalidMessage | None) -> None:
        topic = self._topics[record.topic]
        topic.seen += 1
        if error is None or any(name == REPLAYED_FROM for name, _ in record.headers):
            return
        topic.invalid.append(topic.seen)
        topic.reasons.append(f"{error.reason} ({str(error)[:200]}) at {record.partition}/{record.offset}")
        while topic.invalid[0] <= topic.seen - self._limit.window:
            topic.invalid.popleft()
        share = len(topic.invalid) / self._limit.window
        if topic.seen >= self._limit.window and share > self._limit.share:
            raise DlqLimitExceeded(self._explain(record.topic, topic))

    def _explain(self, name: str, topic: _Topic) -> str:
        return (
            f"{len(topic.invalid)} of the newest {self._limit.window} messages of {name} are invalid, more than the "
            f"share of {self._limit.share:g} that MOBILETEST_INVALID_SHARE allows. The last ones, with their "
            f"partition/offset: {'; '.join(topic.reasons)}. The current batch was neither dead-lettered nor committed. "
            f"Earlier dead letters: `python -m services.chassis.dead_letters list {name}`. Fix the producer, or deploy "
            f"a version that can read its messages; or set MOBILETEST_INVALID_SHARE=1 to dead-letter all of them, and "
            f"replay them later."
        )
