"""Records that were fetched together: which of them are events still to be handled, and why others are none."""

from collections.abc import Callable, Sequence

from aiokafka import ConsumerRecord, TopicPartition

from services.chassis.dead_letters.letters import RefusedRecord
from services.chassis.events import Event, InvalidMessage, decode_event
from services.chassis.unreadable_records import UnreadableRecords


class RecordBatch:
    """`events` by the index of their records, in order; `refused` likewise, with the reasons."""

    def __init__(self, records: Sequence[ConsumerRecord]) -> None:
        """Decode them. What is no event is refused from the start."""
        self.records = records
        self.events: dict[int, Event] = {}
        self.refused: dict[int, InvalidMessage] = {}
        self._lost: set[TopicPartition] = set()
        for index, record in enumerate(records):
            try:
                self.events[index] = _decode_record(record)
            except InvalidMessage as error:
                self.refused[index] = error

    def refuse(self, errors: Sequence[InvalidMessage]) -> None:
        """Take what the handler refuses out of `events`, its duplicates too. ValueError when it was not given that."""
        if not errors:
            return
        places: dict[Event, list[int]] = {}
        for index, event in self.events.items():
            places.setdefault(event, []).append(index)
        found: dict[int, InvalidMessage] = {}
        for error in errors:
            if error.event is None or error.event not in places:
                raise ValueError(f"the handler refused an event that it was not given: {error.event!r:.300}")
            found.update(dict.fromkeys(places[error.event], error))
        self.refused |= found
        self.events = {index: event for index, event in self.events.items() if index not in self.refused}

    def refuse_one(self, index: int, error: InvalidMessage) -> None:
        """Take the event with this index out of `events`."""
        del self.events[index]
        self.refused[index] = error

    def keep(self, owned: Callable[[ConsumerRecord], bool]) -> None:
        """Forget what is not `owned` any more: another member has it, handles it and puts it away.

        For good, for what comes back by the next rebalance comes from the broker once more.
        """
        self._lost |= {partition_of(record) for record in self.records if not owned(record)}
        if self._lost:
            self.events = {index: event for index, event in self.events.items() if self._has(index)}
            self.refused = {index: error for index, error in self.refused.items() if self._has(index)}

    def kept(self) -> list[ConsumerRecord]:
        """The records that are still ours to deal with and to commit."""
        return [record for record in self.records if partition_of(record) not in self._lost]

    def letters(self) -> list[RefusedRecord]:
        """What is to be put away."""
        return [RefusedRecord(self.records[index], error) for index, error in sorted(self.refused.items())]

    def written(self, left: Sequence[RefusedRecord]) -> None:
        """All but these were put away."""
        waiting = {id(each.record) for each in left}
        self.refused = {i: error for i, error in self.refused.items() if id(self.records[i]) in waiting}

    def _has(self, index: int) -> bool:
        return partition_of(self.records[index]) not in self._lost


def partition_of(record: ConsumerRecord) -> TopicPartition:
    """Where the record lies."""
    return TopicPartition(record.topic, record.partition)


def _decode_record(record: ConsumerRecord) -> Event:
    if isinstance(record, UnreadableRecords):
        raise InvalidMessage("UNREADABLE", f"offsets {record.first} to {record.offset}: {record.why}")
    return decode_event(record.topic, record.key, record.value, record.headers)
