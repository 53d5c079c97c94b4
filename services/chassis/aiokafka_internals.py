"""What is used of aiokafka's private parts, in no other module (ruff SLF001); a test compares it with its code."""

from collections.abc import Collection, Mapping

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.client import AIOKafkaClient
from aiokafka.structs import OffsetAndMetadata


def connections(owner: AIOKafkaConsumer | AIOKafkaAdminClient) -> AIOKafkaClient:
    """The connections of a client, for requests that it does not make itself."""
    return owner._client


def set_fetch_wait(consumer: AIOKafkaConsumer, milliseconds: int) -> None:
    """How long the next fetches wait for records; aiokafka itself has one wait for all."""
    consumer._fetcher._fetch_max_wait_ms = milliseconds


async def fetch_committed(
    consumer: AIOKafkaConsumer, partitions: Collection[TopicPartition]
) -> Mapping[TopicPartition, OffsetAndMetadata]:
    """What the group has committed, with the metadata, which `AIOKafkaConsumer.committed` leaves out.

    Raises:
        KafkaError: the broker refuses or cannot be reached.
    """
    committed: Mapping[TopicPartition, OffsetAndMetadata]
    committed = await consumer._coordinator.fetch_committed_offsets(list(partitions))
    return committed


class GenerationCommits:
    """Commits in the generation in which a consumer has its partitions now.

    `AIOKafkaConsumer.commit` repeats a failed commit in whatever generation it finds. Between a member's exclusion and
    its rejoin that is none, and the broker takes such a commit for an empty group; after the rejoin it is the next one.
    Either would skip events when the broker has lost its topics.
    """

    def __init__(self, consumer: AIOKafkaConsumer) -> None:
        self._coordinator = consumer._coordinator
        self._assignment = consumer._subscription.subscription.assignment

    async def has_ended(self) -> bool:
        """Whether the generation is over, as soon as the group's coordinator is known."""
        await self._coordinator.ensure_coordinator_known()
        return bool(self._coordinator.generation < 0)

    async def commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Commit once; the request is made before anything is waited for.

        Raises:
            KafkaError: the broker refuses or cannot be reached.
        """
        await self._coordinator._do_commit_offsets(self._assignment, offsets)
