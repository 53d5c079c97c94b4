"""Putting records away that cannot be used: into the dead letters of their topic, many at once."""

from collections import Counter
from collections.abc import Sequence

from aiokafka.errors import MessageSizeTooLargeError

from services.chassis import logs, metrics
from services.chassis.clock import Clock
from services.chassis.dead_letters.letters import Refused, cut_short, letter_of
from services.chassis.kafka import Producer, PublishResult, Record

SHOWN = 10
"""So many of a batch are logged one by one; the others are counted, for the letters themselves say all."""

log = logs.get(__name__)

_dead_lettered = metrics.counter("mobiletest_dlq_messages_total", "Messages put away", ["topic", "reason"])


class DeadLetters:
    """Writes dead letters. What cannot be written now is told, so that nothing is committed that is not put away."""

    def __init__(self, producer: Producer, clock: Clock, group: str) -> None:
        """`group` is the consumer that cannot use them."""
        self._producer = producer
        self._group = group
        self._clock = clock

    async def put_away(self, refused: Sequence[Refused]) -> list[Refused]:
        """Publish the records as they are, with the reasons; gives those that the broker did not take."""
        results = await self._published([letter_of(each, self._clock.now(), self._group) for each in refused])
        failures = [result for result in results if isinstance(result, Exception)]
        if failures:
            log.warning("dead_letters_not_written", count=len(failures), error=repr(failures[0]))
        _tell([each for each, result in zip(refused, results, strict=True) if not isinstance(result, Exception)])
        return [each for each, result in zip(refused, results, strict=True) if isinstance(result, Exception)]

    async def _published(self, letters: Sequence[Record]) -> list[PublishResult | Exception]:
        """A letter that is too large with its reason goes without its value: nothing may hold up the partition."""
        results = await self._producer.publish_records(letters)
        large = [at for at, result in enumerate(results) if isinstance(result, MessageSizeTooLargeError)]
        if large:
            short = await self._producer.publish_records([cut_short(letters[at]) for at in large])
            for at, result in zip(large, short, strict=True):
                results[at] = result
        return results


def _tell(refused: Sequence[Refused]) -> None:
    for each in refused:
        _dead_lettered.labels(each.record.topic, each.error.reason).inc()
    for each in refused[:SHOWN]:
        place = {"topic": each.record.topic, "partition": each.record.partition, "offset": each.record.offset}
        log.error("message_dead_lettered", reason=each.error.reason, detail=str(each.error)[:1000], **place)
    if len(refused) > SHOWN:
        counts = Counter(f"{each.record.topic} {each.error.reason}" for each in refused[SHOWN:])
        log.error("more_messages_dead_lettered", counts=dict(counts))
