"""Records that were fetched together: which of them are events still to be handled, and why others are none."""

from collections.abc import Callable, Sequence

from aiokafka import ConsumerRecord

from services.chassis.dead_letters.letters import Refused
from services.chassis.events import Event, InvalidMessage, decode
from services.chassis.unreadable import Unreadable


class Batch:
    """`events` by the index of their records, in order; `refused` likewise, with the reasons."""

    def __init__(self, records: Sequence[ConsumerRecord]) -> None:
        """Decode them. What is no event is refused from the start."""
        self.records = records
        self.events: dict[int, Event] = {}
        self.refused: dict[int, InvalidMessage] = {}
        for index, record in enumerate(records):
            try:
                self.events[index] = _event_in(record)
            except InvalidMessage as error:
                self.refused[index] = error

    def refuse(self, errors: Sequence[InvalidMessage]) -> None:
        """Take what the handler refuses out of `events`, its duplicates too. ValueError when it was not given that."""
        if not errors:
            return
        places: dict[Event, list[int]] = {}
        for index, event in self.events.items():
            places.setdefault(event, []).append(index)
        for error in errors:
            if error.event is None or error.event not in places:
                raise ValueError(f"the handler refused an event that it was not given: {error.event!r:.300}")
            self.refused.update(dict.fromkeys(places[error.event], error))
        self.events = {index: event for index, event in self.events.items() if index not in self.refused}

    def refuse_one(self, index: int, error: InvalidMessage) -> None:
        """Take the event with this index out of `events`."""
        del self.events[index]
        self.refused[index] = error

    def keep(self, owned: Callable[[ConsumerRecord], bool]) -> None:
        """Forget what is not `owned` any more: another member has it, handles it and puts it away."""
        self.events = {index: event for index, event in self.events.items() if owned(self.records[index])}
        self.refused = {index: error for index, error in self.refused.items() if owned(self.records[index])}

    def letters(self) -> list[Refused]:
        """What is to be put away."""
        return [Refused(self.records[index], error) for index, error in sorted(self.refused.items())]


def _event_in(record: ConsumerRecord) -> Event:
    if isinstance(record, Unreadable):
        raise InvalidMessage("UNREADABLE", f"offsets {record.first} to {record.offset}: {record.why}")
    return decode(record.topic, record.key, record.value, record.headers)
