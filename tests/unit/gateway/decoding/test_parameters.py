"""Decoding of queries, paths and headers."""

import pytest
from mobiletest.catalog.v1 import apps_pb2

from services.gateway.decoding.requests import RequestDecoder, Source
from services.gateway.decoding.validation_errors import InvalidRequest
from tests.unit.gateway.decoding.requests import ID, decode, errors_of


def test_query_fills_the_message_and_takes_enums_in_any_case() -> None:
    message = decode("ListApps", query="page=2&page_size=500&platform=ANDROID&search=a%20%C3%A4+b").message
    assert (message.page, message.page_size, message.platform, message.search) == (2, 500, 2, "a ä b")


def test_lookalike_letters_do_not_match_an_enum() -> None:
    assert errors_of("ListApps", query="platform=io%C5%BF")
    assert errors_of("ListApps", query="platform=%EF%BD%89OS")


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
