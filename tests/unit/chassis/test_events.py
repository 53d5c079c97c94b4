from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.chassis.events import Event, InvalidMessage, decode, encode
from tests.unit.chassis.samples import an_event

words = st.text(min_size=1, max_size=20)
events = st.builds(
    Event,
    topic=words,
    key=words,
    type=words,
    source=words,
    id=words,
    time=st.datetimes(timezones=st.just(UTC)),
    payload=st.binary(max_size=50),
    traceparent=st.none() | words,
    subject=st.none() | words,
    sequence=st.integers(0, 2**53),
)


@given(events)
def test_an_event_survives_the_way_over_kafka(event: Event) -> None:
    assert decode(event.topic, event.key.encode(), event.payload, encode(event)) == event


def test_the_form_is_cloudevents_in_binary_mode() -> None:
    headers = dict(encode(an_event(id_="e-1")))
    assert headers["ce_specversion"] == b"1.0"
    assert headers["ce_id"] == b"e-1"
    assert headers["ce_type"] == b"mobiletest.catalog.v1.App"
    assert headers["ce_source"] == b"tests"
    assert headers["ce_time"] == b"2026-01-01T00:00:00Z"
    assert headers["content-type"] == b"application/protobuf"
    assert "traceparent" not in headers


def test_headers_of_others_are_ignored() -> None:
    event = an_event()
    assert decode("t", b"k", event.payload, [*encode(event), ("x-more", b"1")]) == event


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"ce_id": None}, "MISSING_HEADER"),
        ({"ce_type": None}, "MISSING_HEADER"),
        ({"ce_time": b"yesterday"}, "INVALID_HEADER"),
        ({"ce_time": b"2026-01-01T00:00:00"}, "INVALID_HEADER"),
        ({"ce_sequence": b"first"}, "INVALID_HEADER"),
        ({"ce_source": b"\xff\xfe"}, "INVALID_UTF8"),
        ({"ce_specversion": b"0.3"}, "UNKNOWN_SPECVERSION"),
    ],
)
def test_what_is_no_event_says_why(change: dict[str, bytes | None], reason: str) -> None:
    headers = {**dict(encode(an_event())), **change}
    with pytest.raises(InvalidMessage) as error:
        decode("t", b"k", b"x", [(name, value) for name, value in headers.items() if value is not None])
    assert error.value.reason == reason


def test_a_record_without_a_value_is_no_event() -> None:
    with pytest.raises(InvalidMessage) as error:
        decode("t", b"k", None, encode(an_event()))
    assert error.value.reason == "NO_VALUE"


def test_times_are_aware() -> None:
    event = an_event()
    assert decode("t", b"k", b"x", encode(event)).time.tzinfo is not None
    assert decode("t", b"k", b"x", encode(event)).time == datetime(2026, 1, 1, tzinfo=UTC)
