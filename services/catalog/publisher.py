"""Publishes the catalog's changes as Kafka events through the outbox."""

from collections.abc import Sequence
from functools import singledispatch

from google.protobuf.message import Message
from mobiletest.catalog.v1 import events_pb2

from services.catalog.grpc.conversions import platform_number, quarantine_message
from services.catalog.model.apps import App
from services.catalog.model.attachments import Attachment
from services.catalog.model.builds import Build
from services.catalog.model.keys import ApiKey
from services.catalog.model.tests import Test
from services.catalog.ports import Fact
from services.chassis.events import Event
from services.chassis.mongo import Session
from services.chassis.outbox import Outbox
from services.chassis.proto_values import to_timestamp

SOURCE = "mobiletest.catalog"
CATALOG_EVENTS = "mobiletest.catalog.v1.catalog-events"
KEY_EVENTS = "mobiletest.catalog.v1.key-events"
TOPICS = {CATALOG_EVENTS: 6, KEY_EVENTS: 1}


class Publisher:
    """Writes events in the transaction of the change; the relay publishes them after the commit."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox

    async def add(self, session: Session, facts: Sequence[Fact]) -> list[Event]:
        """The events of the facts, now rows of the outbox in the session's transaction."""
        events = [self._event(fact) for fact in facts]
        await self._outbox.add(session, events)
        return events

    def committed(self, events: Sequence[Event]) -> None:
        """The transaction is committed."""
        self._outbox.publish_soon(events)

    def _event(self, fact: Fact) -> Event:
        topic = KEY_EVENTS if isinstance(fact, ApiKey) else CATALOG_EVENTS
        return self._outbox.event(topic, _partition_key(fact), event_message(fact), sequence=fact.revision)


def _partition_key(fact: Fact) -> str:
    """The Kafka key: events of an app, its builds and its attachments keep their order."""
    return fact.app_id if isinstance(fact, Build | Attachment) else fact.id


@singledispatch
def event_message(fact: Fact) -> Message:
    """The event message for a changed entity."""
    raise TypeError(f"no event message for {type(fact).__name__}")


@event_message.register
def _(app: App) -> Message:
    return events_pb2.AppChanged(
        org_id=app.org_id,
        app_id=app.id,
        revision=app.revision,
        deleted=app.deleted_at is not None,
        name=app.name,
        platform=platform_number(app.platform),
        current_version=app.current_version,
        created_at=to_timestamp(app.created_at),
    )


@event_message.register
def _(build: Build) -> Message:
    return events_pb2.BuildChanged(
        org_id=build.org_id,
        app_id=build.app_id,
        build_id=build.id,
        revision=build.revision,
        deleted=build.deleted_at is not None,
        version=build.version,
        uploaded_at=to_timestamp(build.uploaded_at),
    )


@event_message.register
def _(test: Test) -> Message:
    return events_pb2.TestChanged(
        org_id=test.org_id,
        test_id=test.id,
        revision=test.revision,
        deleted=test.deleted_at is not None,
        name=test.name,
        platform=platform_number(test.platform),
        tags=test.tags,
        version_number=test.version_number,
        created_at=to_timestamp(test.created_at),
        quarantine=quarantine_message(test.quarantine),
    )


@event_message.register
def _(attachment: Attachment) -> Message:
    return events_pb2.AttachmentChanged(
        org_id=attachment.org_id,
        app_id=attachment.app_id,
        test_id=attachment.test_id,
        revision=attachment.revision,
        attached=attachment.attached,
        pinned_version=attachment.pinned_version,
        test_name=attachment.test_name,
    )


@event_message.register
def _(key: ApiKey) -> Message:
    return events_pb2.ApiKeyChanged(
        org_id=key.org_id, api_key_id=key.id, revision=key.revision, deleted=key.deleted_at is not None
    )
