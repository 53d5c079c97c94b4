"""The catalog's changes as Kafka events, which are published through the outbox."""

from functools import singledispatch

from google.protobuf.message import Message
from mobiletest.catalog.v1 import events_pb2

from services.catalog.grpc.conversions import failure_triage_message, platform_number, quarantine_message
from services.catalog.model.apps import App
from services.catalog.model.attachments import Attachment
from services.catalog.model.builds import Build
from services.catalog.model.failures import FailureTriage
from services.catalog.model.keys import ApiKey, KeySession
from services.catalog.model.tests import Test
from services.catalog.ports import Fact
from services.chassis.events import Event
from services.chassis.outbox import Outbox
from services.chassis.proto_values import to_timestamp

SOURCE = "mobiletest.catalog"
CATALOG_EVENTS = "mobiletest.catalog.v1.catalog-events"
KEY_EVENTS = "mobiletest.catalog.v1.key-events"
TOPICS = {CATALOG_EVENTS: 6, KEY_EVENTS: 1}


def make_event(outbox: Outbox, fact: Fact) -> Event:
    """The event of a changed entity. Events of an app, its builds and its attachments keep their order."""
    topic = KEY_EVENTS if isinstance(fact, ApiKey | KeySession) else CATALOG_EVENTS
    key = fact.app_id if isinstance(fact, Build | Attachment | FailureTriage) else fact.id
    return outbox.event(topic, key, event_message(fact), sequence=fact.revision)


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
def _(triage: FailureTriage) -> Message:
    return events_pb2.FailureTriageChanged(
        org_id=triage.org_id,
        app_id=triage.app_id,
        fingerprint=triage.fingerprint,
        revision=triage.revision,
        triage=failure_triage_message(triage),
    )


@event_message.register
def _(key: ApiKey) -> Message:
    return events_pb2.ApiKeyChanged(
        org_id=key.org_id, api_key_id=key.id, revision=key.revision, deleted=key.deleted_at is not None
    )


@event_message.register
def _(session: KeySession) -> Message:
    """Only the end of a session is announced."""
    return events_pb2.SessionEnded(org_id=session.org_id, session_id=session.id)
