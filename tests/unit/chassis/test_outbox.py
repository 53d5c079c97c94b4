"""Events that consumers or Kafka would refuse are never made."""

from typing import Any

import pytest
from google.protobuf.message import Message
from mobiletest.catalog.v1 import events_pb2 as catalog
from mobiletest.executor.v1 import events_pb2 as executor

from services.chassis.errors import InvalidArgument
from services.chassis.ids import is_id
from services.chassis.outbox import MAX_PAYLOAD_BYTES, Outbox
from services.chassis.validation import find_violations
from tests.fakes.no_database import no_database

MESSAGES: list[type[Message]] = [
    executor.RunRequested,
    executor.RunChanged,
    executor.ExecutionChanged,
    catalog.AppChanged,
    catalog.BuildChanged,
    catalog.TestChanged,
    catalog.AttachmentChanged,
    catalog.ApiKeyChanged,
]


@pytest.fixture
def outbox() -> Outbox:
    return Outbox(no_database(), "tests")


def an_app(**fields: Any) -> catalog.AppChanged:
    return catalog.AppChanged(**{"org_id": "org-1", "app_id": "app-1", "revision": 1, **fields})


def test_an_event_with_an_invalid_id_is_refused(outbox: Outbox) -> None:
    with pytest.raises(InvalidArgument, match="cannot be published as AppChanged: org_id: ") as error:
        outbox.event("t", "k", an_app(org_id="team/mobile"))
    assert [violation.field for violation in error.value.violations] == ["org_id"]


def test_an_event_that_kafka_would_refuse_is_refused(outbox: Outbox) -> None:
    with pytest.raises(InvalidArgument, match="too large") as error:
        outbox.event("t", "k", an_app(name="x" * MAX_PAYLOAD_BYTES))
    assert error.value.reason == "EVENT_TOO_LARGE"


@pytest.mark.parametrize("message", MESSAGES)
@pytest.mark.parametrize("text", ["", "a", "a\n", "team/mobile", "x" * 100, "x" * 101, "é", "A_b-9", " a", "-"])
def test_the_rule_of_ids_in_events_is_that_of_consumers(message: type[Message], text: str) -> None:
    ids = [field.name for field in message.DESCRIPTOR.fields if field.name.endswith("_id")]
    refused = {violation.field for violation in find_violations(message(**dict.fromkeys(ids, text)))}
    assert ids
    assert {name for name in ids if name in refused} == (set() if is_id(text) else set(ids))
