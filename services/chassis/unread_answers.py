"""Bounds of what clients leave unread of their answers, for each organisation and for all."""

from collections import Counter
from typing import Protocol

from services.chassis import logs, metrics

log = logs.get(__name__)
_evicted = metrics.counter(
    "mobiletest_unread_answers_evicted_total", "Answers given up because their clients did not read them"
)


class Reader(Protocol):
    """The connection of a client, or an answer to it."""

    def abort(self) -> None:
        """Close it at once, and forget what was not sent."""


class UnreadAnswers:
    """The answers whose clients have not read what was sent. Beyond a limit, those that wait longest are given up."""

    def __init__(self, organisation_bytes: int, process_bytes: int) -> None:
        self._organisation_bytes = organisation_bytes
        self._process_bytes = process_bytes
        self._waiting: dict[Reader, tuple[str, int]] = {}
        self._of: Counter[str] = Counter()

    def hold(self, reader: Reader, org_id: str, size: int) -> None:
        """The client of this organisation does not read now; the answer takes so much memory."""
        self.release(reader)
        self._waiting[reader] = org_id, size
        self._of[org_id] += size
        while self._of[org_id] > self._organisation_bytes:
            self._give_up_oldest(org_id)
        while self._of.total() > self._process_bytes:
            self._give_up_oldest(max(self._of, key=self._of.__getitem__))

    def release(self, reader: Reader) -> None:
        """The client has read on, or has gone."""
        org_id, size = self._waiting.pop(reader, ("", 0))
        self._of[org_id] -= size
        if not self._of[org_id]:
            del self._of[org_id]

    def _give_up_oldest(self, org_id: str) -> None:
        reader = next(each for each, (owner, _) in self._waiting.items() if owner == org_id)
        self.release(reader)
        _evicted.inc()
        log.warning("answer_given_up", org_id=org_id)
        reader.abort()
