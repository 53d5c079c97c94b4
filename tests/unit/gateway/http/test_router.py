"""Which endpoint a path means."""

import pytest

from services.gateway.contract.operations import all_operations
from services.gateway.http.router import Match, NoMatch, Router


def router(*routes: tuple[str, str]) -> Router[str]:
    made: Router[str] = Router()
    for verb, template in routes:
        made.add(verb, template, f"{verb} {template}")
    return made


ROUTES = router(
    ("GET", "/apps"),
    ("POST", "/apps"),
    ("GET", "/apps/{app_id}"),
    ("GET", "/apps/{app_id}/builds"),
    ("GET", "/apps/builds/{version_id}"),
    ("POST", "/tests/execute"),
    ("GET", "/tests/{test_id}"),
)


@pytest.mark.parametrize(
    ("verb", "path", "endpoint", "values"),
    [
        ("GET", "/apps", "GET /apps", {}),
        ("GET", "/apps/", "GET /apps", {}),
        ("POST", "/apps/", "POST /apps", {}),
        ("GET", "/apps/a%20b", "GET /apps/{app_id}", {"app_id": "a b"}),
        ("GET", "/apps/x/", "GET /apps/{app_id}", {"app_id": "x"}),
        ("GET", "/apps/builds/7", "GET /apps/builds/{version_id}", {"version_id": "7"}),
        ("GET", "/apps/7/builds", "GET /apps/{app_id}/builds", {"app_id": "7"}),
        ("GET", "/apps/builds/builds", "GET /apps/builds/{version_id}", {"version_id": "builds"}),
        ("GET", "/apps/builds", "GET /apps/{app_id}", {"app_id": "builds"}),
        ("GET", "/tests/execute", "GET /tests/{test_id}", {"test_id": "execute"}),
        ("GET", "/apps/%2F", "GET /apps/{app_id}", {"app_id": "/"}),
    ],
)
def test_paths_that_are_there(verb: str, path: str, endpoint: str, values: dict[str, str]) -> None:
    assert ROUTES.find(verb, path) == Match(endpoint, values)


@pytest.mark.parametrize(
    "path", ["", "/", "//", "/apps//", "/apps//builds", "apps", "/nothing", "/apps/%ff", "*", "/apps/1/2/3"]
)
def test_paths_that_are_not(path: str) -> None:
    assert ROUTES.find("GET", path) == NoMatch(())


def test_a_wrong_verb_tells_the_right_ones() -> None:
    assert ROUTES.find("DELETE", "/apps") == NoMatch(("GET", "POST"))
    assert ROUTES.find("DELETE", "/tests/execute") == NoMatch(("GET", "POST"))


def test_no_route_is_there_twice() -> None:
    with pytest.raises(ValueError, match="two routes"):
        router(("GET", "/a/{x}"), ("GET", "/a/{y}"))


def test_all_operations_fit_into_one_router() -> None:
    made = router(*((operation.verb, operation.template) for operation in all_operations()))
    assert len(made.routes) == len(all_operations())


def test_a_long_path_is_walked_no_deeper_than_the_routes() -> None:
    assert ROUTES.find("GET", "/a" * 4000) == NoMatch(())
