from datetime import UTC, datetime, timedelta, timezone
from enum import Enum
from types import SimpleNamespace
from typing import Any

import pytest
from google.protobuf.struct_pb2 import Struct, Value
from google.protobuf.timestamp_pb2 import Timestamp
from mobiletest.catalog.v1 import apps_pb2
from mobiletest.types.v1 import execution_pb2, platform_pb2

from services.chassis.errors import InvalidArgument
from services.chassis.proto_values import (
    enum_spellings,
    json_to_struct,
    json_to_value,
    page_fields,
    read_datetime,
    read_optional,
    struct_to_json,
    to_datetime,
    to_enum_member,
    to_enum_number,
    to_timestamp,
    value_to_json,
)

MOMENT = datetime(2026, 1, 31, 12, 0, 0, 250_000, UTC)
JSON = {"text": "x", "whole": 3, "half": 0.5, "yes": True, "nothing": None, "list": [1, {"a": []}], "object": {}}


class Platform(Enum):
    IOS = "iOS"
    ANDROID = "Android"


def test_a_moment_survives_as_a_timestamp() -> None:
    assert to_datetime(to_timestamp(MOMENT)) == MOMENT
    assert to_timestamp(None) is None


def test_the_zone_of_a_moment_does_not_matter() -> None:
    east = MOMENT.astimezone(timezone(timedelta(hours=5)))
    assert to_timestamp(east) == to_timestamp(MOMENT)


def test_a_timestamp_field_is_read_in_milliseconds() -> None:
    app = apps_pb2.App(created_at=Timestamp(seconds=1, nanos=234_567_890))
    assert read_datetime(app, "created_at") == datetime(1970, 1, 1, 0, 0, 1, 234_000, UTC)
    assert read_datetime(apps_pb2.App(), "created_at") is None


@pytest.mark.parametrize("seconds", [10**13, -(10**13)])
def test_a_timestamp_outside_of_the_calendar_is_invalid(seconds: int) -> None:
    with pytest.raises(InvalidArgument, match="created_at: must be a time between the years 1 and 9999") as raised:
        read_datetime(apps_pb2.App(created_at=Timestamp(seconds=seconds)), "created_at")
    assert raised.value.violations[0].field == "created_at"


def test_an_optional_field_is_none_unless_it_is_set() -> None:
    assert read_optional(apps_pb2.App(), "description") is None
    assert read_optional(apps_pb2.App(description=""), "description") == ""


def test_json_survives_as_a_struct() -> None:
    assert struct_to_json(json_to_struct(JSON)) == JSON
    assert value_to_json(json_to_value([JSON])) == [JSON]


def test_json_becomes_what_protobuf_itself_makes_of_it() -> None:
    expected = Struct()
    expected.update(JSON)
    assert json_to_struct(JSON) == expected


@pytest.mark.parametrize(("number", "kind"), [(3.0, int), (2.0**53, float), (1e300, float), (0.5, float)])
def test_a_whole_number_is_an_int_where_doubles_are_exact(number: float, kind: type) -> None:
    value = value_to_json(Value(number_value=number))
    assert (value, type(value)) == (number, kind)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_is_not_finite_is_invalid(number: float) -> None:
    with pytest.raises(InvalidArgument, match="NaN and infinity"):
        value_to_json(Value(number_value=number))


def test_an_unset_value_is_null() -> None:
    assert value_to_json(Value()) is None


def test_spellings_are_those_of_the_options() -> None:
    spellings = enum_spellings(execution_pb2.ExecutionStatus.DESCRIPTOR)
    assert spellings[execution_pb2.EXECUTION_STATUS_QUEUED] == "queued"
    assert execution_pb2.EXECUTION_STATUS_UNSPECIFIED not in spellings


@pytest.mark.parametrize("member", [None, *Platform])
def test_an_enum_member_survives_as_a_number(member: Platform | None) -> None:
    number = to_enum_number(platform_pb2.Platform, member)
    assert to_enum_member(Platform, platform_pb2.Platform, number) is member


@pytest.mark.parametrize(
    ("page", "total", "expected"),
    [(1, 0, (0, False, False)), (1, 20, (2, True, False)), (2, 20, (2, False, True)), (2, 21, (3, True, True))],
)
def test_a_page_says_what_is_before_and_after_it(page: int, total: int, expected: tuple[Any, ...]) -> None:
    fields = page_fields(SimpleNamespace(page=page, page_size=10), total)
    assert (fields["total_pages"], fields["has_next"], fields["has_previous"]) == expected
    assert (fields["total"], fields["page"], fields["page_size"]) == (total, page, 10)
