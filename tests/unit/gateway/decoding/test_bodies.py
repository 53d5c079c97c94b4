"""Decoding of bodies: every kind of value, missing and unknown fields, malformed JSON."""

from typing import Any

import orjson
import pytest

from services.chassis.validation import find_violations
from services.gateway.decoding.validation_errors import MalformedBody
from tests.unit.gateway.decoding.requests import ID, decode, errors_of


def test_all_missing_fields_are_reported_at_once() -> None:
    assert errors_of("CreateApp", body=b"") == [
        (("body", "name"), "missing", "Field required"),
        (("body", "platform"), "missing", "Field required"),
    ]


@pytest.mark.parametrize("body", [[], "x", 1, None, True])
def test_body_must_be_an_object(body: object) -> None:
    loc, type_, _ = errors_of("CreateApp", body=orjson.dumps(body))[0]
    assert (loc, type_) == (("body",), "dict_type")


@pytest.mark.parametrize(
    ("name", "type_"),
    [
        ("", "string_too_short"),
        ("   ", "string_too_short"),
        ("x" * 201, "string_too_long"),
        ("x" * 1001, "string_too_long"),
    ],
)
def test_name_outside_1_to_200_characters_is_an_error(name: str, type_: str) -> None:
    violations = errors_of("CreateApp", body={"name": name, "platform": "iOS"})
    assert {(loc, kind) for loc, kind, _ in violations} == {(("body", "name"), type_)}


@pytest.mark.parametrize("name", ["x", "x" * 200, "  x  ", "ä" * 200, "\U0001f600" * 200])
def test_name_of_1_to_200_characters_is_trimmed(name: str) -> None:
    assert decode("CreateApp", body={"name": name, "platform": "Android"}).message.name == name.strip()


@pytest.mark.parametrize("platform", ["ios", "IOS", "web", "", "PLATFORM_IOS", 1, None, ["iOS"], {}])
def test_enum_in_a_body_must_match_its_case(platform: object) -> None:
    violations = errors_of("CreateApp", body={"name": "x", "platform": platform})
    assert violations == [(("body", "platform"), "enum", "Input should be 'iOS' or 'Android'")]


@pytest.mark.parametrize(
    ("value", "type_"),
    [(True, "int_type"), (1.5, "int_type"), ("1", "int_type"), ([], "int_type"), (6, "less_than_equal"),
     (-1, "greater_than_equal"), (2**31, "less_than_equal"), (1e300, "less_than_equal"), (10**30, "less_than_equal"),
     (-(10**30), "greater_than_equal")],
)  # fmt: skip
def test_integer_in_a_body_must_be_a_json_integer_within_bounds(value: object, type_: str) -> None:
    body = {"workflow_id": ID, "run_config": {"execution_mode": {"retries": value}}}
    text = (
        orjson.dumps(body) if not isinstance(value, int) or abs(value) < 2**63 else str(body).replace("'", '"').encode()
    )
    assert [(loc, kind) for loc, kind, _ in errors_of("StartWorkflow", body=text)] == [
        (("body", "run_config", "execution_mode", "retries"), type_)
    ]


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"priority": -11}, "priority"),
        ({"priority": 11}, "priority"),
        ({"run_config": {"execution_mode": {"reflection_retries": 6}}}, "run_config.execution_mode.reflection_retries"),
        ({"run_config": {"execution_mode": {"grounder_type": "magic"}}}, "run_config.execution_mode.grounder_type"),
        ({"run_config": {"cache_retry_mode": "always"}}, "run_config.cache_retry_mode"),
        ({"run_config": {"fallback_trigger": "sometimes"}}, "run_config.fallback_trigger"),
        ({"run_config": {"llm_config": {"primary_model": 5}}}, "run_config.llm_config.primary_model"),
        ({"run_config": {"disable_grid": 1}}, "run_config.disable_grid"),
        ({"run_config": {"run_id": 7}}, "run_config.run_id"),
        ({"workflow_id": {"$gt": ""}}, "workflow_id"),
    ],
)
def test_a_start_has_bounds(body: dict[str, Any], path: str) -> None:
    assert [loc for loc, *_ in errors_of("StartWorkflow", body={"workflow_id": ID, **body})] == [
        ("body", *path.split("."))
    ]


@pytest.mark.parametrize("text", [b"4", b"4.0", b"4e0", b"40e-1"])
def test_whole_number_is_an_integer_however_it_is_written(text: bytes) -> None:
    message: Any = decode("CreateWorkflow", body=b'{"name": "x", "max_parallel": ' + text + b"}").message
    assert message.max_parallel == 4


CONTROLS = ["\x00", "\x07", "\x1b", "\x7f", "\x85"]

LINE_BREAKS = ["\t", "\n", "\r"]


@pytest.mark.parametrize("character", [*CONTROLS, *LINE_BREAKS])
@pytest.mark.parametrize(
    ("operation", "body"),
    [
        ("CreateApp", {"name": "a{}b", "platform": "iOS"}),
        ("UpdateApp", {"name": "a{}b"}),
        ("UpdateApp", {"current_version": "a{}b"}),
        ("UpdateBuild", {"version": "a{}b"}),
        ("UpdateBuild", {"package_name": "a{}b"}),
        ("CreateTest", {"name": "a{}b"}),
        ("CreateTest", {"tags": ["a{}b"]}),
        ("CreateWorkflow", {"name": "a{}b"}),
        ("UpdateWorkflow", {"tags": ["a{}b"]}),
        ("CreateApiKey", {"name": "a{}b"}),
    ],
)
def test_names_have_no_control_characters(operation: str, body: dict[str, Any], character: str) -> None:
    text = orjson.dumps(body).replace(b"{}", orjson.dumps(character)[1:-1])
    [(_, kind, message)] = errors_of(operation, body=text)
    assert (kind, message) == ("string_single_line", "String should not contain control characters")


@pytest.mark.parametrize(
    ("operation", "body"),
    [
        ("CreateApp", {"name": "a", "platform": "iOS", "description": "a{}b"}),
        ("UpdateApp", {"system_prompt": "a{}b"}),
        ("UpdateTest", {"description": "a{}b"}),
        ("UpdateWorkflow", {"description": "a{}b"}),
        ("QuarantineTest", {"reason": "a{}b"}),
    ],
)
def test_descriptions_have_no_control_characters_but_tabs_and_line_breaks(operation: str, body: dict[str, Any]) -> None:
    for character in CONTROLS:
        text = orjson.dumps(body).replace(b"{}", orjson.dumps(character)[1:-1])
        assert [kind for _, kind, _ in errors_of(operation, body=text)] == ["string_multi_line"]
    for character in LINE_BREAKS:
        text = orjson.dumps(body).replace(b"{}", orjson.dumps(character)[1:-1])
        assert find_violations(decode(operation, body=text).message) == []


@pytest.mark.parametrize("value", ["true", 1, 0, None, []])
def test_boolean_in_a_body_must_be_a_json_boolean(value: object) -> None:
    body = {"workflow_id": ID, "override_build_config": value}
    assert errors_of("StartWorkflow", body=body)[0][:2] == (("body", "override_build_config"), "bool_type")


def test_null_leaves_a_nullable_field_unset() -> None:
    body = {"workflow_id": ID, "run_config": None, "build_config": {"ios_build": None}}
    message = decode("StartWorkflow", body=body).message
    assert not message.HasField("run_config")
    assert message.HasField("build_config")
    assert not message.build_config.HasField("ios_build")


def test_null_is_an_error_for_fields_that_are_not_nullable() -> None:
    for value in (None, "text", 5, ["a"]):
        assert errors_of("UpdateBuild", body={"metadata": value})[0][:2] == (("body", "metadata"), "dict_type")
    assert errors_of("UpdateWorkflow", body={"name": None})[0][:2] == (("body", "name"), "string_type")
    assert errors_of("CreateTest", body={"name": None, "steps": ["x"]})[0][:2] == (("body", "name"), "string_type")
    assert errors_of("UpdateTest", body={"tags": None})[0][:2] == (("body", "tags"), "list_type")


def test_update_mask_names_the_fields_in_the_body() -> None:
    message = decode("UpdateApp", body={"name": None, "static_url": "", "nme": 1, "app_id": "x"}).message
    assert list(message.update_mask.paths) == ["name", "static_url"]
    assert message.app_id == ID
    assert not message.HasField("name")
    assert message.static_url == ""


def test_nested_errors_have_nested_locations() -> None:
    body: dict[str, object] = {"name": "x", "steps": ["Tap", {"a": 1}], "tags": ["ok", 1]}
    assert errors_of("CreateTest", body=body) == [
        (("body", "tags", 1), "string_type", "Input should be a valid string")
    ]
    body = {"workflow_id": ID, "build_config": {"android_build": {}}}
    assert errors_of("StartWorkflow", body=body) == [
        (("body", "build_config", "android_build", "app_id"), "missing", "Field required")
    ]
    assert errors_of("CreateWorkflow", body={"name": "x", "test_ids": [ID, "y"]})[0][:2] == (
        ("body", "test_ids", 1),
        "uuid_parsing",
    )


def test_lists_that_are_too_long_or_not_unique_are_errors() -> None:
    assert errors_of("CreateTest", body={"name": "x", "steps": ["x"] * 1001})[0][:2] == (("body", "steps"), "too_long")
    assert errors_of("CreateWorkflow", body={"name": "x", "test_ids": [ID, ID]})[0][:2] == (
        ("body", "test_ids"),
        "unique_items",
    )


@pytest.mark.parametrize(
    "text", ["2026-01-31T12:00:00Z", "2026-01-31T13:00:00.123456+01:00", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"]
)
def test_timestamps_with_an_offset_are_valid(text: str) -> None:
    assert decode("CreateApiKey", body={"name": "x", "expires_at": text}).message.HasField("expires_at")


@pytest.mark.parametrize(
    ("value", "type_"),
    [("soon", "datetime_parsing"), (1, "string_type"), ("2026-01-31T12:00:00", "timezone_aware"),
     ("2026-01-31", "timezone_aware"), ("0001-01-01T00:00:00+02:00", "datetime_parsing"),
     ("9999-12-31T23:59:59-02:00", "datetime_parsing"), ("2026-02-30T00:00:00Z", "datetime_parsing")],
)  # fmt: skip
def test_invalid_timestamps_are_errors(value: object, type_: str) -> None:
    assert errors_of("CreateApiKey", body={"name": "x", "expires_at": value})[0][:2] == (("body", "expires_at"), type_)


def test_unknown_fields_are_ignored_and_named_by_path() -> None:
    body = {"workflow_id": ID, "retries": 1, "run_config": {"llm_config": {"modle": "x"}}}
    decoded = decode("StartWorkflow", body=body, query="dry=1")
    assert decoded.ignored == ("dry", "run_config.llm_config.modle", "retries")


@pytest.mark.parametrize(
    ("operation", "body", "place"),
    [
        ("StartTest", {"test_id": ID, "app_id": ID}, ("app_id",)),
        ("StartTest", {"test_id": ID, "platform": "iOS"}, ("platform",)),
        ("StartTest", {"test_id": ID, "run_config": {"deviceName": "Pixel 8"}}, ("run_config", "deviceName")),
        ("StartWorkflow", {"workflow_id": ID, "testids": [ID]}, ("testids",)),
        ("StartWorkflow", {"workflow_id": ID, "commit-sha": "0123abc"}, ("commit-sha",)),
        ("StartWorkflow", {"workflow_id": ID, "shrad": {"index": 1, "count": 2}}, ("shrad",)),
        (
            "StartWorkflow",
            {"workflow_id": ID, "build_config": {"ios_build": {"app_id": ID, "build_number": "7"}}},
            ("build_config", "ios_build", "build_number"),
        ),
        ("RerunExecution", {"only_failed": True}, ("only_failed",)),
        ("CreateWorkflow", {"name": "Nightly", "branch": "main"}, ("branch",)),
        ("AttachTest", {"version": "1.0.0"}, ("version",)),
    ],
)
def test_unknown_fields_that_would_choose_what_runs_are_errors(
    operation: str, body: dict[str, object], place: tuple[str, ...]
) -> None:
    [(loc, type_, message)] = errors_of(operation, body=body)
    assert (loc, type_) == (("body", *place), "extra_forbidden")
    assert "would choose what runs, so it is not ignored; known here: " in message


def test_unknown_fields_that_cannot_choose_what_runs_are_still_ignored() -> None:
    """What clients send; and what they have read and send back."""
    body = {"workflow_id": ID, "retries": 2, "location_config": {"country": "DE"}, "test_timeout": 9, "labels": ["a"]}
    assert decode("StartWorkflow", body=body).ignored == ("retries", "location_config", "test_timeout", "labels")
    attachment = {"pinned_version": "1", "test_name": "Log in", "target_build_version": "1"}
    assert decode("AttachTest", body=attachment).ignored == ("test_name", "target_build_version")
    assert decode("CreateApp", body={"name": "Shop", "platform": "iOS", "version": "1"}).ignored == ("version",)


def test_strict_handling_suggests_the_nearest_field_beside_other_errors() -> None:
    body = {"workflow_id": "x", "overide_build_config": True}
    invalid, unknown = errors_of("StartWorkflow", body=body, strict=True)
    assert invalid[:2] == (("body", "workflow_id"), "uuid_parsing")
    assert unknown == (
        ("body", "overide_build_config"),
        "extra_forbidden",
        "Extra inputs are not permitted; did you mean 'override_build_config'?",
    )


@pytest.mark.parametrize(
    "text",
    [b"{", b'{"name": "\\ud800"}', b"[" * 100_000, b"\xff", b"nul", b'{"a": NaN}', b'{"a": Infinity}', b'{"a":1}x'],
)
def test_malformed_json_is_reported_with_its_position(text: bytes) -> None:
    with pytest.raises(MalformedBody, match=r"line \d+ column \d+"):
        decode("CreateApp", body=text)


def test_position_of_a_json_error_is_that_of_the_text() -> None:
    with pytest.raises(MalformedBody, match=r"line 2 column 14$"):
        decode("CreateApp", body=b'{"name": "x",\n "platform": }')


def test_number_of_errors_is_bounded() -> None:
    assert len(errors_of("CreateWorkflow", body={"name": "x", "test_ids": [1] * 1000})) == 100
    assert errors_of("CreateWorkflow", body={"name": "x", "test_ids": [1] * 5000})


def test_number_of_ignored_names_is_bounded() -> None:
    unknown = {f"field_{number}": 1 for number in range(200)}
    assert len(decode("StartWorkflow", body={"workflow_id": ID, **unknown}).ignored) == 100


@pytest.mark.parametrize("strict", [False, True])
def test_more_unknown_fields_than_are_listed_are_rejected_at_once(strict: bool) -> None:
    unknown = {f"a{number}": 0 for number in range(5001)}
    assert errors_of("StartWorkflow", body={"workflow_id": ID, **unknown}, strict=strict) == [
        (("body",), "too_long", "Input should have at most 5000 unknown or invalid fields")
    ]
