"""Decoding of requests: every part of a request, every error, and no exception but the decoder's own."""

import string
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mobiletest.catalog.v1 import apps_pb2

from services.chassis.proto_values import struct_to_json
from services.chassis.validation import find_violations
from services.gateway.contract.fields import request_fields
from services.gateway.contract.operations import all_operations
from services.gateway.decoding.requests import RequestDecoder, Source
from services.gateway.decoding.validation_errors import InvalidRequest, MalformedBody
from tests.examples import examples

OPERATIONS = {operation.name: operation for operation in all_operations()}
DECODERS = {name: RequestDecoder.of(operation) for name, operation in OPERATIONS.items()}
ID = "7d444840-9dc0-41d1-b245-5ffdce74fad2"


def decode(name: str, *, body: object = None, query: str = "", strict: bool = False, **parts: Any) -> Any:
    text = body if isinstance(body, bytes) or body is None else orjson.dumps(body)
    path = dict.fromkeys(OPERATIONS[name].path_fields, ID) | parts.get("path", {})
    return DECODERS[name].decode(Source(path, query, parts.get("headers", {}), text), strict=strict)


def errors_of(name: str, **source: Any) -> list[tuple[tuple[str | int, ...], str, str]]:
    with pytest.raises(InvalidRequest) as caught:
        decode(name, **source)
    return [(error.loc, error.type, error.msg) for error in caught.value.field_errors]


def test_query_fills_the_message_and_takes_enums_in_any_case() -> None:
    message = decode("ListApps", query="page=2&page_size=500&platform=ANDROID&search=a%20%C3%A4+b").message
    assert (message.page, message.page_size, message.platform, message.search) == (2, 500, 2, "a ä b")


def test_last_value_of_a_repeated_parameter_counts() -> None:
    assert decode("ListApps", query="page=2&page=3&&page_size=1").message.page == 3


@pytest.mark.parametrize("text", ["", "1.5", "%201", "1%20", "one", "0x1", "1e3", "١", "1_0", "--1", "true", "null"])
def test_integer_in_a_query_has_only_digits(text: str) -> None:
    assert errors_of("ListApps", query=f"page={text}") == [
        (("query", "page"), "int_parsing", "Input should be a valid integer, unable to parse string as an integer")
    ]


def test_leading_zeros_do_not_change_an_integer() -> None:
    assert decode("ListApps", query=f"page={'0' * 30}5").message.page == 5


def test_parameter_is_not_mistaken_for_one_whose_name_ends_alike() -> None:
    decoder = RequestDecoder(apps_pb2.GetAppRequest, [], takes_body=False)
    with pytest.raises(InvalidRequest) as caught:
        decoder.decode(Source(query="my_app_id=x"))
    assert [(error.loc, error.type) for error in caught.value.field_errors] == [(("query", "app_id"), "missing")]


@pytest.mark.parametrize(
    ("query", "type_", "msg"),
    [
        ("page=0", "greater_than_equal", "Input should be greater than or equal to 1"),
        ("page_size=501", "less_than_equal", "Input should be less than or equal to 500"),
        ("page_size=0", "greater_than_equal", "Input should be greater than or equal to 1"),
        (f"page_size={10**9}", "less_than_equal", "Input should be less than or equal to 500"),
        (f"page_size={'9' * 4000}", "less_than_equal", "Input should be less than or equal to 500"),
        (f"page=-{'9' * 4000}", "greater_than_equal", "Input should be greater than or equal to 1"),
        (f"page={'9' * 5000}", "int_parsing_size", "Unable to parse input string as an integer, exceeded maximum size"),
        (f"page={2**31}", "less_than_equal", "Input should be less than or equal to 2147483647"),
        ("platform=web", "enum", "Input should be 'iOS' or 'Android'"),
        ("platform=", "enum", "Input should be 'iOS' or 'Android'"),
    ],
)
def test_values_out_of_bounds_in_a_query_are_errors(query: str, type_: str, msg: str) -> None:
    assert errors_of("ListApps", query=query) == [(("query", query.split("=")[0]), type_, msg)]


@pytest.mark.parametrize(
    ("name", "field", "low", "high"),
    [
        ("ListApps", "page_size", 1, 500),
        ("ListBuildRuns", "page_size", 1, 100),
        ("GetAppWorkspace", "trend_days", 7, 60),
        ("GetTestMatrix", "page_size", 2, 50),
    ],
)
def test_bounds_are_inclusive(name: str, field: str, low: int, high: int) -> None:
    for good in (low, high):
        assert getattr(decode(name, query=f"{field}={good}").message, field) == good
    for bad, type_ in ((low - 1, "greater_than_equal"), (high + 1, "less_than_equal")):
        assert errors_of(name, query=f"{field}={bad}")[0][:2] == (("query", field), type_)


def test_bytes_that_are_not_utf8_are_an_error() -> None:
    assert errors_of("ListApps", query="search=%ff")[0][:2] == (("query", "search"), "string_unicode")
    headers = {"X-CI-Branch": "\udcff"}
    body = {"workflow_id": ID}
    assert errors_of("StartWorkflow", body=body, headers=headers)[0][:2] == (
        ("header", "x-ci-branch"),
        "string_unicode",
    )


def test_id_in_the_path_is_a_uuid_in_lower_case() -> None:
    assert decode("GetApp", path={"app_id": ID.upper()}).message.app_id == ID
    (error,) = errors_of("GetApp", path={"app_id": "x"})
    assert error[:2] == (("path", "app_id"), "uuid_parsing")
    assert error[2].startswith("Input should be a valid UUID, ")


@pytest.mark.parametrize("written", [ID.replace("-", ""), f"urn:uuid:{ID}", f"{{{ID}}}"])
def test_uuid_is_sent_on_in_its_usual_form(written: str) -> None:
    assert decode("GetApp", path={"app_id": written}).message.app_id == ID


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
    found = errors_of("CreateApp", body={"name": name, "platform": "iOS"})
    assert {(loc, kind) for loc, kind, _ in found} == {(("body", "name"), type_)}


@pytest.mark.parametrize("name", ["x", "x" * 200, "  x  ", "ä" * 200, "\U0001f600" * 200])
def test_name_of_1_to_200_characters_is_trimmed(name: str) -> None:
    assert decode("CreateApp", body={"name": name, "platform": "Android"}).message.name == name.strip()


@pytest.mark.parametrize("platform", ["ios", "IOS", "web", "", "PLATFORM_IOS", 1, None, ["iOS"], {}])
def test_enum_in_a_body_must_match_its_case(platform: object) -> None:
    found = errors_of("CreateApp", body={"name": "x", "platform": platform})
    assert found == [(("body", "platform"), "enum", "Input should be 'iOS' or 'Android'")]


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
    assert errors_of("UpdateBuild", body={"metadata": None})[0][:2] == (("body", "metadata"), "dict_type")
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


def test_headers_fill_fields_and_empty_headers_are_absent() -> None:
    headers = {"X-CI-PR-Number": "12", "x-ci-branch": "main", "X-CI-Run-ID": "", "X-CI-Odd": "1", "Accept": "*/*"}
    decoded = decode("StartWorkflow", body={"workflow_id": ID}, headers=headers)
    assert (decoded.message.ci.pr_number, decoded.message.ci.branch) == (12, "main")
    assert not decoded.message.ci.HasField("run_id")
    assert decoded.ignored == ("x-ci-odd",)


def test_message_without_headers_has_no_attribution() -> None:
    assert not decode("StartWorkflow", body={"workflow_id": ID}).message.HasField("ci")


def test_fields_filled_by_headers_are_unknown_in_the_body() -> None:
    body = {"workflow_id": ID, "ci": {"branch": "x"}, "service_client": "y"}
    decoded = decode("StartWorkflow", body=body)
    assert decoded.ignored == ("ci", "service_client")
    assert not decoded.message.HasField("service_client")


def test_unknown_fields_are_ignored_and_named_by_path() -> None:
    body = {"workflow_id": ID, "retries": 1, "run_config": {"llm_config": {"modle": "x"}}}
    decoded = decode("StartWorkflow", body=body, query="dry=1")
    assert decoded.ignored == ("dry", "run_config.llm_config.modle", "retries")


def test_strict_handling_suggests_the_nearest_field_beside_other_errors() -> None:
    body = {"workflow_id": "x", "overide_build_config": True}
    invalid, unknown = errors_of("StartWorkflow", body=body, strict=True)
    assert invalid[:2] == (("body", "workflow_id"), "uuid_parsing")
    assert unknown == (
        ("body", "overide_build_config"),
        "extra_forbidden",
        "Extra inputs are not permitted; did you mean 'override_build_config'?",
    )


def test_free_form_objects_hold_any_json() -> None:
    metadata = {"a": [1, 2.5, "x", None, True, {"b": {}}], "$where": 1, "a.b": "c", "": ""}
    message = decode("UpdateBuild", body={"metadata": metadata}).message
    assert dict(message.metadata)["$where"] == 1


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        (b"1e999", "finite_number"),
        (b"1" + b"0" * 400, "integer_too_large"),
        (b"9007199254740992", "integer_too_large"),
        (b"-9007199254740993", "integer_too_large"),
        (b'{"a\\u0000": 1}', "string_pattern_mismatch"),
    ],
)
def test_free_form_objects_hold_only_what_can_be_stored(text: bytes, type_: str) -> None:
    body = b'{"metadata": {"a": [' + text + b"]}}"
    assert [error[:2] for error in errors_of("UpdateBuild", body=body)] == [(("body", "metadata"), type_)]


@pytest.mark.parametrize("value", [0, 5, -5, 2**53 - 1, 1 - 2**53, 0.5, 1e300])
def test_numbers_in_free_form_objects_come_back_as_they_were(value: float) -> None:
    message: Any = decode("UpdateBuild", body={"metadata": {"n": value}}).message
    found = struct_to_json(message.metadata)["n"]
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(("wrap", "depth"), [(lambda x: {"a": x}, 40), (lambda x: [x], 60)])
def test_free_form_objects_that_are_too_deep_are_errors(wrap: Any, depth: int) -> None:
    value: object = 1
    for _ in range(depth):
        value = wrap(value)
    assert errors_of("UpdateBuild", body={"metadata": {"x": value}})[0][1] == "too_deep"


@pytest.mark.parametrize(
    "metadata",
    [
        "[" + "1," * 524_000 + "1]",
        "{" + ",".join(f'"k{n}":1' for n in range(30_000)) + "}",
        "[" + "[]," * 30_000 + "1]",
    ],
    ids=["numbers", "fields", "lists"],
)
def test_a_body_with_too_many_values_is_an_error(metadata: str) -> None:
    body = f'{{"metadata": {{"a": {metadata}}}}}'.encode()
    assert [error[:2] for error in errors_of("UpdateBuild", body=body)] == [(("body",), "too_long")]


def test_commas_in_a_text_are_no_values() -> None:
    message: Any = decode("UpdateBuild", body={"metadata": {"a": "[," * 100_000}}).message
    assert struct_to_json(message.metadata) == {"a": "[," * 100_000}


def test_a_body_may_have_as_many_values_as_a_test() -> None:
    message: Any = decode("UpdateBuild", body={"metadata": {"a": [1] * 20_000}}).message
    assert struct_to_json(message.metadata) == {"a": [1] * 20_000}


def test_deepest_valid_object_can_be_serialized_and_parsed() -> None:
    value: object = 1
    for _ in range(25):
        value = {"a": value}
    message = decode("UpdateBuild", body={"metadata": value}).message
    assert type(message).FromString(message.SerializeToString()) == message


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


any_text = st.text(st.characters(codec="utf-8"))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | any_text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(any_text, inner, max_size=4),
    max_leaves=12,
)


def field_names(name: str) -> list[str]:
    return [field.name for field in request_fields(OPERATIONS[name].input)]


@pytest.mark.parametrize("name", sorted(OPERATIONS))
@settings(deadline=None, max_examples=examples(30))
@given(data=st.data())
def test_any_request_gives_a_valid_message_or_an_error_of_the_decoder(name: str, data: st.DataObject) -> None:
    names = st.sampled_from([*field_names(name), ""]) | st.text(max_size=5)
    body = data.draw(st.dictionaries(names, json_values, max_size=5) | json_values)
    query = data.draw(st.text(string.printable, max_size=30) | names.map(lambda n: f"{n}=1&{n}=x"))
    headers = data.draw(st.dictionaries(st.sampled_from(["X-CI-PR-Number", "X-CI-Branch", "Last-Event-ID"]), st.text()))
    path = {field: data.draw(st.text(min_size=1)) for field in OPERATIONS[name].path_fields}
    text = orjson.dumps(body, default=str, option=orjson.OPT_NON_STR_KEYS) if fits(body) else repr(body).encode()
    try:
        decoded = DECODERS[name].decode(Source(path, query, headers, text), strict=data.draw(st.booleans()))
    except (InvalidRequest, MalformedBody):
        return
    assert find_violations(decoded.message) == []


def fits(value: object) -> bool:
    try:
        orjson.dumps(value)
    except TypeError:
        return False
    return True


@settings(deadline=None)
@given(st.binary(max_size=40))
def test_any_bytes_give_an_error_of_the_decoder(body: bytes) -> None:
    with pytest.raises((InvalidRequest, MalformedBody)):
        decode("CreateApp", body=body)
