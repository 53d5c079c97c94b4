"""When so much is invalid that the fault is not in the messages: the consumer stops instead of putting all away."""

from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from aiokafka import ConsumerRecord

from services.chassis.dead_letters.letters import REPLAYED_FROM
from services.chassis.events import InvalidMessage

SHOWN_REASONS = 5
"""The error repeats so many of the last reasons."""

Verdict = tuple[ConsumerRecord, InvalidMessage | None]


@dataclass(frozen=True, slots=True)
class DlqLimit:
    """More than `share` invalid of the newest `window` messages of a topic is too much; a share of 1 never is."""

    share: float = 1.0
    window: int = 200


class DlqLimitExceeded(Exception):
    """The consumer stops; what it was given last is neither put away nor committed. The text says what to do."""


@dataclass(slots=True)
class _Topic:
    """`invalid`: the numbers of the invalid ones among the newest; `seen` counts all."""

    seen: int = 0
    invalid: deque[int] = field(default_factory=deque)
    reasons: deque[str] = field(default_factory=lambda: deque(maxlen=SHOWN_REASONS))

    def copy(self) -> "_Topic":
        return replace(self, invalid=self.invalid.copy(), reasons=self.reasons.copy())


class DlqLimitState:
    """Watches the share of the invalid ones, topic by topic. The first `window` messages stop nobody."""

    def __init__(self, tolerance: DlqLimit) -> None:
        self._tolerance = tolerance
        self._topics: dict[str, _Topic] = {}

    def count(self, records: Iterable[ConsumerRecord], refused: Mapping[int, InvalidMessage]) -> None:
        """Count a batch; `refused` by the index in it. TooManyInvalid at the message that is one too many."""
        if not refused:
            for name, number in Counter(record.topic for record in records).items():
                self._of(name).seen += number
            return
        for index, record in enumerate(records):
            self._count(record, refused.get(index))

    def check(self, records: Iterable[ConsumerRecord], refused: Mapping[int, InvalidMessage]) -> None:
        """TooManyInvalid if `count` would raise it; counts nothing."""
        trial = DlqLimitState(self._tolerance)
        trial._topics = {name: topic.copy() for name, topic in self._topics.items()}
        trial.count(records, refused)

    def _count(self, record: ConsumerRecord, error: InvalidMessage | None) -> None:
        topic = self._of(record.topic)
        topic.seen += 1
        if error is None or _was_replayed(record):
            return
        topic.invalid.append(topic.seen)
        topic.reasons.append(f"{error.reason} ({str(error)[:200]}) at {record.partition}/{record.offset}")
        while topic.invalid[0] <= topic.seen - self._tolerance.window:
            topic.invalid.popleft()
        share = len(topic.invalid) / self._tolerance.window
        if topic.seen >= self._tolerance.window and share > self._tolerance.share:
            raise DlqLimitExceeded(self._text(record.topic, topic))

    def _of(self, name: str) -> _Topic:
        return self._topics.setdefault(name, _Topic())

    def _text(self, name: str, topic: _Topic) -> str:
        return (
            f"{len(topic.invalid)} of the newest {self._tolerance.window} messages of {name} are invalid, more than "
            f"the share of {self._tolerance.share:g} that MOBILETEST_INVALID_SHARE allows. The last ones, with their "
            f"partition/offset: {'; '.join(topic.reasons)}. The messages in hand were neither put away nor committed. "
            f"What was put away before: `python -m services.chassis.dead_letters list {name}`. Mend who publishes them "
            f"or deploy a version that reads them; or set MOBILETEST_INVALID_SHARE=1 to put all of them away, and "
            f"replay them later."
        )


def _was_replayed(record: ConsumerRecord) -> bool:
    """What an operator replays may be invalid once more: that is no reason to stop."""
    return any(name == REPLAYED_FROM for name, _ in record.headers)
