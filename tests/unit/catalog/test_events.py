"""What the event of a changed test says."""

from mobiletest.catalog.v1 import events_pb2

from services.catalog.events import event_message
from services.catalog.model.tests import Quarantine
from services.chassis.proto_values import to_timestamp
from tests.fakes.catalog_samples import a_test, at


def test_a_quarantine_is_announced_with_when_the_test_was_created() -> None:
    quarantine = Quarantine("Flaky", until=at(9), by="CI", since=at(1))
    message = event_message(a_test(minutes=2, quarantine=quarantine))
    assert isinstance(message, events_pb2.TestChanged)
    assert message.created_at == to_timestamp(at(2))
    assert (message.quarantine.reason, message.quarantine.by) == ("Flaky", "CI")
    assert (message.quarantine.since, message.quarantine.until) == (to_timestamp(at(1)), to_timestamp(at(9)))
    assert not event_message(a_test()).HasField("quarantine")
