"""A batch of fetched records: the events still to be handled, and the records that are refused."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from aiokafka import ConsumerRecord, TopicPartition

from services.chassis import logs
from services.chassis.dead_letters.letters import RefusedRecord
from services.chassis.dead_letters.limit import Outcome
from services.chassis.events import Event, InvalidMessage, decode_event
from services.chassis.topics import partition_of
from services.chassis.unreadable_records import UnreadableRecords

HANDLER_FAILED = "HANDLER_FAILED"

log = logs.get(__name__)


class RecordBatch:
    """`events` and `refused` (the reasons) by the index of their records, in order."""

    def __init__(self, records: Sequence[ConsumerRecord]) -> None:
        """Decode the records and refuse those that are not events."""
        self.records = records
        self.events: dict[int, Event] = {}
        self.refused: dict[int, InvalidMessage] = {}
        self._lost: set[TopicPartition] = set()
        self._logged: set[type[Exception]] = set()
        for index, record in enumerate(records):
            try:
                self.events[index] = _decode_record(record)
            except InvalidMessage as error:
                self.refused[index] = error

    def refuse(self, errors: Sequence[InvalidMessage]) -> None:
        """Refuse the events of these errors, and their duplicates.

        Raises:
            ValueError: for an event of no record.
        """
        if not errors:
            return
        indexes: dict[Event, list[int]] = {}
        for index, event in self.events.items():
            indexes.setdefault(event, []).append(index)
        refused: dict[int, InvalidMessage] = {}
        for error in errors:
            if error.event is None or error.event not in indexes:
                raise ValueError(f"the handler refused an event that is not in its batch: {error.event!r:.300}")
            refused.update(dict.fromkeys(indexes[error.event], error))
        self.refused |= refused
        self.events = {index: event for index, event in self.events.items() if index not in self.refused}

    def refuse_one(self, index: int, error: Exception) -> None:
        """Refuse the event with this index, on which the handler fails.

        Each kind of error is logged once per batch with its traceback: one bug may affect hundreds of events.
        """
        event, record = self.events.pop(index), self.records[index]
        if isinstance(error, InvalidMessage):
            self.refused[index] = error
            return
        self.refused[index] = InvalidMessage(HANDLER_FAILED, f"{type(error).__name__}: {error}")
        if self.is_new(error):
            self._logged.add(type(error))
            place = {"topic": record.topic, "partition": record.partition, "offset": record.offset}
            log.error("handler_failed", type=event.type, **place, exc_info=error)

    def is_new(self, error: Exception) -> bool:
        """Whether no event is refused for an error of this kind yet: it may be that of a connection that breaks."""
        return type(error) not in self._logged

    def events_of(self, indexes: Iterable[int]) -> dict[int, Event]:
        """The events of these records that are still to be handled."""
        return {index: self.events[index] for index in indexes if index in self.events}

    def drop_lost(self, owned: Callable[[ConsumerRecord], bool]) -> None:
        """Drop the partitions whose records are not `owned` any more: the broker delivers these again, to the member
        that has the partition then.
        """
        self._drop({partition_of(record) for record in self.records if not owned(record)})

    def drop(self, partition: TopicPartition) -> int:
        """Drop a partition, to read it later; returns the offset of its first record."""
        self._drop({partition})
        first = next(record for record in self.records if partition_of(record) == partition)
        return int(first.first if isinstance(first, UnreadableRecords) else first.offset)

    def _drop(self, partitions: set[TopicPartition]) -> None:
        self._lost |= partitions
        if self._lost:
            self.events = {index: event for index, event in self.events.items() if self._has(index)}
            self.refused = {index: error for index, error in self.refused.items() if self._has(index)}

    def owned_records(self) -> list[ConsumerRecord]:
        """The records that were not dropped, to be committed."""
        return [record for record in self.records if partition_of(record) not in self._lost]

    def outcomes(self) -> Iterator[Outcome]:
        """The records that were not dropped, each with the reason for which it is refused."""
        for index, record in enumerate(self.records):
            if not self._lost or partition_of(record) not in self._lost:
                yield record, self.refused.get(index)

    def letters(self) -> list[RefusedRecord]:
        """The records to dead-letter."""
        return [RefusedRecord(self.records[index], error) for index, error in sorted(self.refused.items())]

    def mark_written(self, left: Sequence[RefusedRecord]) -> None:
        """All dead letters but these have been written."""
        waiting = {id(each.record) for each in left}
        self.refused = {i: error for i, error in self.refused.items() if id(self.records[i]) in waiting}

    def _has(self, index: int) -> bool:
        return partition_of(self.records[index]) not in self._lost


def _decode_record(record: ConsumerRecord) -> Event:
    if isinstance(record, UnreadableRecords):
        raise InvalidMessage("UNREADABLE", f"offsets {record.first} to {record.offset}: {record.why}")
    return decode_event(record.topic, record.key, record.value, record.headers)
