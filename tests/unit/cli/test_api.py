"""The client of the REST interface, with a server that answers as it likes."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from mobiletest_cli.api import Api
from mobiletest_cli.configuration import Server
from mobiletest_cli.errors import AUTHENTICATION, RATE_LIMITED, CliError


@pytest.mark.parametrize(
    ("public_url", "page"),
    [
        ("https://mobiletest.example.com/", "https://mobiletest.example.com/executions/7"),
        ("", "http://10.0.0.7:8080/tests/executions/7"),
        ("javascript:alert(1)", "http://10.0.0.7:8080/tests/executions/7"),
        ("https://a.example/ --help", "http://10.0.0.7:8080/tests/executions/7"),
        ("https://a.example/>)![x](https://b.example/", "http://10.0.0.7:8080/tests/executions/7"),
    ],
)
def test_pages_are_below_the_public_address_if_the_server_names_one(public_url: str, page: str) -> None:
    answer = httpx.Response(200, json={}, headers={"X-Public-Url": public_url})
    server = Server("http://10.0.0.7:8080/tests", "mt_key")
    api = Api(server, patience=0, transport=httpx.MockTransport(lambda _: answer))
    api.get("executions/7")
    assert api.page_url("executions/7") == page


def listing(answer: Callable[[int], Any]) -> tuple[Api, list[int]]:
    """A client of a server that answers each page so, and the pages that were asked for."""
    asked: list[int] = []

    def respond(request: httpx.Request) -> httpx.Response:
        asked.append(int(request.url.params["page"]))
        return httpx.Response(200, json=answer(asked[-1]))

    return Api(Server("http://10.0.0.7", "mt_key"), patience=0, transport=httpx.MockTransport(respond)), asked


def test_pages_end_at_the_last_one_or_at_the_limit() -> None:
    api, asked = listing(lambda page: {"items": [page, page], "has_next": page < 3})
    assert list(api.pages("apps")) == [1, 1, 2, 2, 3, 3]
    assert list(api.pages("apps", limit=3)) == [1, 1, 2]
    assert asked == [1, 2, 3, 1, 2]


def test_pages_end_at_an_empty_one_whatever_the_server_says() -> None:
    api, asked = listing(lambda page: {"items": [page] if page == 1 else [], "has_next": True})
    assert list(api.pages("apps")) == [1]
    assert asked == [1, 2]


def test_an_endless_list_is_refused() -> None:
    api, asked = listing(lambda page: {"items": [page], "has_next": True})
    with pytest.raises(CliError, match="does not answer like a mobiletest server"):
        list(api.pages("apps"))
    assert len(asked) == 1000


@pytest.mark.parametrize(
    ("code", "exit_code", "hint"),
    [
        ("SCOPE_MISSING", AUTHENTICATION, "mobiletest whoami shows the scopes of the key"),
        ("SCOPE_EXCEEDED", AUTHENTICATION, "mobiletest whoami shows the scopes of the key"),
        ("LIMIT_REACHED", RATE_LIMITED, None),
    ],
)
def test_a_missing_scope_is_distinguished_from_a_limit(code: str, exit_code: int, hint: str | None) -> None:
    answer = httpx.Response(403, json={"detail": "no", "code": code})
    api = Api(Server("http://10.0.0.7", "mt_key"), patience=0, transport=httpx.MockTransport(lambda _: answer))
    with pytest.raises(CliError) as refused:
        api.get("apps")
    assert (refused.value.exit_code, refused.value.hint) == (exit_code, hint)
