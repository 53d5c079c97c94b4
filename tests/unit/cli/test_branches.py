"""Which build says what is broken on a branch, and with which it is compared."""

from typing import Any

import httpx
import pytest

from mobiletest_cli.api import Api
from mobiletest_cli.branches import Change, compared_builds, newest_tested_build, sharing_branches
from mobiletest_cli.configuration import Server
from mobiletest_cli.errors import CliError
from tests.unit.cli.report_samples import run_id

APP = run_id("app")


def build(number: int) -> dict[str, Any]:
    repository = "https://git.example/b" if number == 8 else "https://git.example/a/"
    fields = {"build_id": str(number), "version": str(number), "uploaded_at": f"2026-11-0{number}T00:00:00Z"}
    return {**fields, "repository": repository}


def branch(name: str, *builds: int, kind: str = "branch", head: str | None = None) -> dict[str, Any]:
    return {"name": name, "kind": kind, "head_branch": head, "builds": [build(number) for number in builds]}


def server(*branches: dict[str, Any], untested: str = "") -> Api:
    """A server that knows these branches, and of the newest builds 9 to 1 those that have no verdict."""

    def answer(request: httpx.Request) -> httpx.Response:
        wanted = request.url.params
        if request.url.path.endswith("/executions"):
            return httpx.Response(200, json={"items": [{"ci": {"repository": "https://git.example/a.git"}}]})
        if request.url.path.endswith("/workspace"):
            health = [{"build_id": str(n), "completed_runs": int(str(n) not in untested)} for n in range(9, 0, -1)]
            return httpx.Response(200, json={"build_health": health})
        named = [each for each in branches if wanted.get("name") in (None, each["name"])]
        return httpx.Response(200, json={"items": [e for e in named if wanted.get("kind") in (None, e["kind"])]})

    return Api(Server("http://10.0.0.7", "mt_key"), patience=0, transport=httpx.MockTransport(answer))


CASES: list[tuple[list[dict[str, Any]], str, tuple[str, str | None]]] = [
    ([branch("x", 5, 3), branch("main", 6, 4, 1)], "", ("5", "4")),  # the base before it, not after it
    ([branch("x", 5, 3), branch("main", 6, 4, 1)], "5", ("3", "1")),  # only builds that have a verdict
    ([branch("x", 5), branch("main", 5, 2)], "", ("5", "2")),  # no build is its own base
    ([branch("x", 2), branch("main", 7)], "", ("2", "7")),  # a later base, if there is no earlier one
    ([branch("x", 5)], "", ("5", None)),
]


@pytest.mark.parametrize(("branches", "untested", "expected"), CASES)
def test_a_branch_is_compared_with_its_base(
    branches: list[dict[str, Any]], untested: str, expected: tuple[str, str | None]
) -> None:
    assert compared_builds(server(*branches, untested=untested), APP, Change("x"), None) == expected


def test_the_base_branch_has_no_other_base() -> None:
    assert compared_builds(server(branch("main", 6, 4)), APP, Change("main"), None) == ("6", None)


def test_a_branch_without_a_build_is_an_error() -> None:
    with pytest.raises(CliError, match="no build of this app was tested on the pull request 7"):
        compared_builds(server(branch("7", 1)), APP, Change("7", is_pull_request=True), None)


def test_pull_requests_of_several_repositories_have_no_verdict_together() -> None:
    wanted = Change("7", is_pull_request=True)
    assert compared_builds(server(branch("7", 5, kind="pull_request")), APP, wanted, None) == ("5", None)
    with pytest.raises(CliError, match="pull requests of several repositories have the number 7"):
        compared_builds(server(branch("7", 8, 5, kind="pull_request")), APP, wanted, None)


def test_an_app_has_its_newest_build_with_a_verdict() -> None:
    assert newest_tested_build(server(untested="98"), APP) == "7"
    with pytest.raises(CliError, match="none of the newest builds"):
        newest_tested_build(server(untested="987654321"), APP)


def test_other_branches_of_a_build_are_named() -> None:
    """The pull request of the branch is the same change."""
    own = branch("7", 5, kind="pull_request", head="x")
    api = server(branch("x", 5), own, branch("main", 5, 4), branch("8", 5, kind="pull_request", head="y"))
    assert sharing_branches(api, APP, Change("x"), "5") == ['branch "main"', "pull request 8"]
    assert sharing_branches(api, APP, Change("7", is_pull_request=True), "5") == ['branch "main"', "pull request 8"]
