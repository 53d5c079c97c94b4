"""Waits until a consumer group has committed everything that was published to it.

The offsets that the broker acknowledged are compared with those that the group committed. The ends of the topics cannot
be used: other tests publish to shared topics, and Tansu's end offsets are wrong by the length of the last batch.
"""

from collections.abc import Iterable, Sequence

from aiokafka import TopicPartition

from services.chassis.events import Event
from services.chassis.producer import PublishResult, Record
from services.chassis.topics import committed_offsets
from tests.eventually import eventually


class PublishedOffsets:
    """The end offsets of published events, by partition."""

    def __init__(self) -> None:
        self.ends: dict[TopicPartition, int] = {}

    def note(self, events: Sequence[Event | Record], results: Iterable[PublishResult | Exception]) -> None:
        """Remember the acknowledgements; an event without one is an error."""
        for event, result in zip(events, results, strict=True):
            assert not isinstance(result, Exception), result
            place = TopicPartition(event.topic, result.partition)
            self.ends[place] = max(self.ends.get(place, 0), result.offset + 1)

    async def behind(self, bootstrap: str, group: str) -> dict[TopicPartition, int]:
        """How many records of each partition the group has not committed; empty when it has dealt with all."""
        committed = await committed_offsets(bootstrap, group, self.ends)
        left = {place: end - committed[place] for place, end in self.ends.items()}
        return {place: count for place, count in left.items() if count > 0}

    async def applied(self, bootstrap: str, group: str) -> None:
        """Wait until the group has committed all of it."""

        async def caught_up() -> bool:
            left = await self.behind(bootstrap, group)
            assert not left, f"{group} has not committed {left}"
            return True

        await eventually(caught_up, every=0.05)
