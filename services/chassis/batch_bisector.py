"""Finding the events that a handler fails on: what it fails on is given to it in halves, down to single events."""

from collections import Counter
from collections.abc import Mapping

from bson.errors import InvalidDocument

from services.chassis import logs
from services.chassis.events import Event, InvalidMessage
from services.chassis.record_batch import RecordBatch

MAX_ATTEMPTS = 3
"""So often a single event has to fail, lest it be put away for what was not its fault."""
RETRY_SECONDS = 0.25
"""Drivers raise such errors too, in the moment in which a connection breaks."""
HANDLER_FAILED = "HANDLER_FAILED"

_BUGS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    InvalidDocument,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)

log = logs.get(__name__)


def is_bug(error: Exception) -> bool:
    """Whether code raises this that did not expect what it was given, rather than the world around it that fails."""
    return isinstance(error, _BUGS) and not isinstance(error, OSError)  # the error of a certificate is both


class BatchBisector:
    """What of a batch the handler is still to be given, in order: at first all of it.

    To find one of a thousand costs twenty calls and its tries. What was handled is not given again.
    """

    def __init__(self, batch: RecordBatch) -> None:
        self._batch = batch
        self._left = [list(batch.events)]
        self._failures: Counter[int] = Counter()
        self._told: set[type[Exception]] = set()

    def next(self) -> Mapping[int, Event]:
        """What to give now, by the index of the record; nothing when all is dealt with."""
        while self._left:
            if part := self._of_batch(self._left[-1]):
                return part
            self._left.pop()
        return {}

    def handled(self) -> list[Event]:
        """The handler has dealt with the last one; gives what it did not refuse of it."""
        return list(self._of_batch(self._left.pop()).values())

    def failed(self, error: Exception) -> bool:
        """Halve the last one. A single event is refused: as invalid at once, for another error after TRIES of them.

        Gives whether to wait before it is tried again: until one was refused for such an error it may be the moment's.
        """
        part = list(self._of_batch(self._left.pop()))
        if len(part) > 1:
            middle = len(part) // 2
            self._left += [part[middle:], part[:middle]]
            return False
        (index,) = part
        self._failures[index] += 1
        if isinstance(error, InvalidMessage):
            self._batch.refuse_one(index, error)
            return False
        if self._failures[index] < MAX_ATTEMPTS:
            self._left.append(part)
            return type(error) not in self._told
        self._batch.refuse_one(index, self._blamed(index, error))
        return False

    def _blamed(self, index: int, error: Exception) -> InvalidMessage:
        """In a batch each kind of error is told once with its traceback: one bug may hit hundreds of events."""
        why = f"{type(error).__name__}: {error}"
        if type(error) not in self._told:
            self._told.add(type(error))
            record = self._batch.records[index]
            place = {"topic": record.topic, "partition": record.partition, "offset": record.offset}
            log.error("handler_failed", type=self._batch.events[index].type, **place, exc_info=error)
        return InvalidMessage(HANDLER_FAILED, why)

    def _of_batch(self, part: list[int]) -> dict[int, Event]:
        events = self._batch.events
        return {index: events[index] for index in part if index in events}
