"""What a page says of filters in its address that cannot be read."""

import pytest
from aiohttp.test_utils import make_mocked_request

from services.gateway.dashboard.error_pages import explain
from services.gateway.http.json_responses import HttpError


@pytest.mark.parametrize(
    ("name", "kind", "message", "sentence"),
    [
        ("pr_number", "int_parsing", "Input should be a valid integer", '"Pull request" must be a whole number.'),
        ("created_before", "datetime_parsing", "Input", '"To (UTC)" must be a day such as 2026-01-31.'),
        ("sort", "enum", "Input should be 'newest' or 'oldest'", "\"Sort\" must be 'newest' or 'oldest'."),
        ("app_id", "uuid_parsing", "Input should be a valid UUID", '"App" must be an id.'),
    ],
)
def test_a_filter_is_named_as_in_its_form_and_the_others_are_kept(
    name: str, kind: str, message: str, sentence: str
) -> None:
    request = make_mocked_request("GET", f"/executions?branch=a%26b&{name}=%3Cx%3E")
    page = explain(
        request, HttpError(422, [{"loc": ["query", name], "msg": message, "type": kind}], "VALIDATION_FAILED")
    )
    assert page.message == sentence
    assert page.links == [("?branch=a%26b", "Keep the other filters"), ("/executions", "Show the page without filters")]
