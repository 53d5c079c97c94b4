from contextlib import suppress
from datetime import UTC, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.chassis.events import Event, InvalidMessage, decode_event, encode_headers
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
def test_an_event_survives_encoding(event: Event) -> None:
    assert decode_event(event.topic, event.key.encode(), event.payload, encode_headers(event)) == event


def test_events_are_cloudevents_in_binary_mode() -> None:
    headers = dict(encode_headers(an_event(id_="e-1")))
    assert headers["ce_specversion"] == b"1.0"
    assert headers["ce_id"] == b"e-1"
    assert headers["ce_type"] == b"mobiletest.catalog.v1.App"
    assert headers["ce_source"] == b"tests"
    assert headers["ce_time"] == b"2026-01-01T00:00:00Z"
    assert headers["content-type"] == b"application/protobuf"
    assert "traceparent" not in headers


@pytest.mark.parametrize("value", [b"1", b"\xff\xfe", None])
def test_unknown_headers_are_ignored(value: bytes | None) -> None:
    event = an_event()
    assert decode_event("t", b"k", event.payload, [*encode_headers(event), ("x-more", value)]) == event


def test_a_header_without_a_value_is_missing() -> None:
    with pytest.raises(InvalidMessage, match="ce_id is missing"):
        decode_event(
            "t",
            b"k",
            b"x",
            [*(header for header in encode_headers(an_event()) if header[0] != "ce_id"), ("ce_id", None)],
        )


@given(
    st.none() | st.binary(max_size=30),
    st.none() | st.binary(max_size=30),
    st.dictionaries(st.sampled_from(sorted(dict(encode_headers(an_event())))), st.none() | st.binary(max_size=30)),
)
def test_any_record_is_an_event_or_invalid(
    key: bytes | None, value: bytes | None, headers: dict[str, bytes | None]
) -> None:
    named = {**dict(encode_headers(an_event())), **headers}
    with suppress(InvalidMessage):
        assert decode_event("t", key, value, list(named.items())).time.utcoffset() == timedelta(0)


def test_times_are_in_utc() -> None:
    headers = {**dict(encode_headers(an_event())), "ce_time": b"2026-01-01T02:00:00+02:00"}
    assert decode_event("t", b"k", b"x", list(headers.items())).time.isoformat() == "2026-01-01T00:00:00+00:00"


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
        ({"ce_id": b""}, "INVALID_HEADER"),
        ({"ce_type": b""}, "INVALID_HEADER"),
        ({"ce_sequence": b"-1"}, "INVALID_HEADER"),
        ({"ce_sequence": b"9" * 30}, "INVALID_HEADER"),
        ({"ce_sequence": b"9" * 5000}, "INVALID_HEADER"),
        ({"ce_time": b"0001-01-01T00:00:00+01:00"}, "INVALID_HEADER"),
        ({"ce_time": b"9999-12-31T23:59:59-01:00"}, "INVALID_HEADER"),
    ],
)
def test_an_invalid_record_has_a_reason(change: dict[str, bytes | None], reason: str) -> None:
    headers = {**dict(encode_headers(an_event())), **change}
    with pytest.raises(InvalidMessage) as error:
        decode_event("t", b"k", b"x", [(name, value) for name, value in headers.items() if value is not None])
    assert error.value.reason == reason


def test_a_record_without_a_value_is_invalid() -> None:
    with pytest.raises(InvalidMessage) as error:
        decode_event("t", b"k", None, encode_headers(an_event()))
    assert error.value.reason == "NO_VALUE"
