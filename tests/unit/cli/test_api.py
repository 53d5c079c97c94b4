"""The client of the REST interface, with a server that answers as it likes."""

import httpx
import pytest

from mobiletest_cli.api import Api
from mobiletest_cli.configuration import Server


@pytest.mark.parametrize(
    ("public_url", "page"),
    [
        ("https://mobiletest.example.com/", "https://mobiletest.example.com/executions/7"),
        ("", "http://10.0.0.7:8080/tests/executions/7"),
        ("javascript:alert(1)", "http://10.0.0.7:8080/tests/executions/7"),
        ("https://a.example/ --help", "http://10.0.0.7:8080/tests/executions/7"),
    ],
)
def test_pages_are_below_the_public_address_if_the_server_names_one(public_url: str, page: str) -> None:
    answer = httpx.Response(200, json={}, headers={"X-Public-Url": public_url})
    server = Server("http://10.0.0.7:8080/tests", "mt_key")
    api = Api(server, patience=0, transport=httpx.MockTransport(lambda _: answer))
    api.get("executions/7")
    assert api.page_url("executions/7") == page
