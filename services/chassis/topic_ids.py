"""The ids of topics (KIP-516): a topic that was deleted and created again, or lost, is another one of the same name.

Offsets belong to a topic, not to its name. So a consumer commits the id with each offset, and an offset with another id
than that of the topic now says nothing. Brokers before Kafka 3.1 do not tell ids, and Tansu does not keep what is
committed with an offset; both are trusted then.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from aiokafka import TopicPartition
from aiokafka.errors import IncompatibleBrokerVersion
from aiokafka.protocol.abstract import AbstractType
from aiokafka.protocol.api import Request, RequestStruct, Response
from aiokafka.protocol.types import Boolean, CompactArray, CompactString, Int16, Int32, Schema, TaggedFields
from aiokafka.structs import OffsetAndMetadata

# The id of each topic that exists and whose broker tells it.
TopicIds = Mapping[str, str]

_METADATA = 3
# The first one that asks by name and id; aiokafka's own requests end with version 5.
_VERSION = 12
_NONE = UUID(int=0)
_PREFIX = "topic-id:"


class _Uuid(AbstractType):  # type: ignore[misc]
    @classmethod
    def encode(cls, value: UUID) -> bytes:
        return value.bytes

    @classmethod
    def decode(cls, data: Any) -> UUID:
        return UUID(bytes=data.read(16))


def _array(*fields: tuple[str, Any]) -> Any:
    return CompactArray(*fields, ("tags", TaggedFields))


class _MetadataResponse(Response):  # type: ignore[misc]
    API_KEY = _METADATA
    API_VERSION = _VERSION
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        ("brokers", _array(("id", Int32), ("host", CompactString()), ("port", Int32), ("rack", CompactString()))),
        ("cluster_id", CompactString()),
        ("controller_id", Int32),
        (
            "topics",
            _array(
                ("error_code", Int16),
                ("name", CompactString()),
                ("topic_id", _Uuid),
                ("is_internal", Boolean),
                (
                    "partitions",
                    _array(
                        ("error_code", Int16),
                        ("partition", Int32),
                        ("leader", Int32),
                        ("leader_epoch", Int32),
                        ("replicas", CompactArray(Int32)),
                        ("isr", CompactArray(Int32)),
                        ("offline_replicas", CompactArray(Int32)),
                    ),
                ),
                ("authorized_operations", Int32),
            ),
        ),
        ("tags", TaggedFields),
    )


class _MetadataRequestStruct(RequestStruct):  # type: ignore[misc]
    API_KEY = _METADATA
    API_VERSION = _VERSION
    FLEXIBLE_VERSION = True
    RESPONSE_TYPE = _MetadataResponse
    SCHEMA = Schema(
        ("topics", _array(("topic_id", _Uuid), ("name", CompactString()))),
        ("allow_auto_topic_creation", Boolean),
        ("include_topic_authorized_operations", Boolean),
        ("tags", TaggedFields),
    )


class _TopicIdsRequest(Request[_MetadataRequestStruct]):  # type: ignore[misc]
    API_KEY = _METADATA

    def __init__(self, topics: Collection[str]) -> None:
        self._topics = topics

    def build(self, request_struct_class: type[_MetadataRequestStruct]) -> _MetadataRequestStruct:
        return request_struct_class([(_NONE, name, {}) for name in sorted(self._topics)], False, False, {})


@dataclass(frozen=True, slots=True)
class TopicDescription:
    """A topic that exists; `id` is None if the broker does not tell it."""

    id: str | None
    partitions: int


async def describe_topics(client: Any, topics: Collection[str]) -> dict[str, TopicDescription]:
    """The topics that exist, by name; none from a broker that does not tell ids.

    `client` is aiokafka's own client, which a consumer or an administrator has.

    Raises:
        KafkaError: without a broker.
    """
    try:
        response = await client.send(client.get_random_node(), _TopicIdsRequest(topics))
    except (NotImplementedError, IncompatibleBrokerVersion):  # aiokafka found no common version
        return {}
    return {
        name: TopicDescription(str(id_) if id_ != _NONE else None, len(partitions))
        for error, name, id_, _, partitions, *_ in response.topics
        if not error
    }


async def read_topic_ids(client: Any, topics: Collection[str]) -> TopicIds:
    """The ids of the topics that exist; see `describe_topics`."""
    return ids_of(await describe_topics(client, topics))


def ids_of(described: Mapping[str, TopicDescription]) -> TopicIds:
    """Those that are known."""
    return {name: topic.id for name, topic in described.items() if topic.id is not None}


def in_topic(topic_id: str | None, offset: int) -> OffsetAndMetadata:
    """The offset to commit in the topic with this id."""
    return OffsetAndMetadata(offset, _PREFIX + topic_id if topic_id else "")


class ReadTopics:
    """The topics that a consumer reads, over all of its memberships: what it commits belongs to them."""

    def __init__(self) -> None:
        self._ids: dict[TopicPartition, str] = {}

    def offset(self, partition: TopicPartition, offset: int) -> OffsetAndMetadata:
        """The offset to commit."""
        return in_topic(self._ids.get(partition), offset)

    def begin(self, partitions: Iterable[TopicPartition], now: TopicIds) -> None:
        """From now on these partitions of the topics with these ids are read."""
        self._ids.update({partition: now[partition.topic] for partition in partitions if partition.topic in now})

    def lost(
        self,
        partitions: Iterable[TopicPartition],
        committed: Mapping[TopicPartition, OffsetAndMetadata],
        now: TopicIds,
    ) -> set[TopicPartition]:
        """Those of the partitions whose offsets, `committed` ones above all, belong to a topic that was lost."""
        lost = set()
        for partition in partitions:
            id_ = _committed_id(committed.get(partition)) or self._ids.get(partition)
            if _is_lost(id_, now.get(partition.topic)):
                lost.add(partition)
        return lost


def current_offsets(committed: Mapping[TopicPartition, OffsetAndMetadata], now: TopicIds) -> dict[TopicPartition, int]:
    """The committed offsets, without those of topics that were lost."""
    return {
        partition: each.offset
        for partition, each in committed.items()
        if not _is_lost(_committed_id(each), now.get(partition.topic))
    }


def _is_lost(id_: str | None, now: str | None) -> bool:
    """What is not known is trusted."""
    return id_ is not None and now is not None and id_ != now


def _committed_id(committed: OffsetAndMetadata | None) -> str | None:
    text: str = (committed.metadata if committed else "") or ""
    return text.removeprefix(_PREFIX) if text.startswith(_PREFIX) else None
