"""Finding the events on which a handler fails: it is called with halves of a failing batch, down to single events."""

from collections import Counter
from collections.abc import Mapping

from services.chassis import logs
from services.chassis.events import Event, InvalidMessage
from services.chassis.mongo_errors import is_unencodable
from services.chassis.record_batch import RecordBatch

MAX_ATTEMPTS = 3
"""Attempts before an event is dead-lettered."""
RETRY_SECONDS = 0.25
"""Drivers raise the same kinds of errors at the moment when a connection breaks."""
HANDLER_FAILED = "HANDLER_FAILED"

_BUGS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)

log = logs.get(__name__)


def is_bug(error: Exception) -> bool:
    """Whether this is the error of code that met an unexpected value, rather than of a dependency."""
    if is_unencodable(error):
        return True
    return isinstance(error, _BUGS) and not isinstance(error, OSError)  # ssl.SSLCertVerificationError is both


class BatchBisector:
    """Gives the parts of a batch to call the handler with, in order: at first the whole batch.

    To find one failing event among a thousand takes about twenty calls. Handled parts are not given again.
    """

    def __init__(self, batch: RecordBatch) -> None:
        self._batch = batch
        self._left = [list(batch.events)]
        self._failures: Counter[int] = Counter()
        self._logged: set[type[Exception]] = set()

    def next(self) -> Mapping[int, Event]:
        """The next part, by the index of the record; empty at the end."""
        while self._left:
            if part := self._remaining(self._left[-1]):
                return part
            self._left.pop()
        return {}

    def handled(self) -> list[Event]:
        """The handler has finished the current part; returns the events of it that were not refused."""
        return list(self._remaining(self._left.pop()).values())

    def failed(self, error: Exception) -> bool:
        """Halve the current part; refuse a single event, for an error other than InvalidMessage after MAX_ATTEMPTS.

        Returns whether to wait before the next attempt: the first errors of a kind may be those of a broken connection.
        """
        part = list(self._remaining(self._left.pop()))
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
            return type(error) not in self._logged
        self._batch.refuse_one(index, self._refusal(index, error))
        return False

    def _refusal(self, index: int, error: Exception) -> InvalidMessage:
        """Each kind of error is logged once per batch with its traceback: one bug may affect hundreds of events."""
        why = f"{type(error).__name__}: {error}"
        if type(error) not in self._logged:
            self._logged.add(type(error))
            record = self._batch.records[index]
            place = {"topic": record.topic, "partition": record.partition, "offset": record.offset}
            log.error("handler_failed", type=self._batch.events[index].type, **place, exc_info=error)
        return InvalidMessage(HANDLER_FAILED, why)

    def _remaining(self, part: list[int]) -> dict[int, Event]:
        events = self._batch.events
        return {index: events[index] for index in part if index in events}
