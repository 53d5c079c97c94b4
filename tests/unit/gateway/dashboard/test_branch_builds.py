"""Which builds the page of a branch compares, and which other branches tested them."""

from typing import Any

from services.gateway.dashboard.branches import base_build_of, newest_tested, sharing_build


def branch(kind: str, name: str, *builds: str, head: str | None = None) -> Any:
    tested = [{"build_id": each, "uploaded_at": f"2026-05-0{each}T00:00:00Z"} for each in builds]
    return {"kind": kind, "name": name, "head_branch": head, "builds": tested}


def test_other_branches_with_runs_on_the_build_are_named_but_not_its_own_pull_request() -> None:
    pay, main, fix = (branch("branch", name, "3", "2") for name in ("pay", "main", "fix"))
    own, other, nameless = (
        branch("pull_request", number, "3", head=head) for number, head in (("7", "pay"), ("8", "x"), ("9", None))
    )
    old = branch("branch", "old", "1")
    known = [pay, own, main, other, nameless, old, fix]
    build = pay["builds"][0]
    assert sharing_build(known, pay, build) == [main, other, nameless, fix]
    pull_request = branch("pull_request", "7", "3", head="pay")
    assert sharing_build([pay, own, main], pull_request, build) == [main]
    elsewhere = branch("pull_request", "7", "3", head="of another repository")
    assert sharing_build([elsewhere, main], pull_request, build) == [main]


def test_the_base_is_the_newest_build_before_it_that_may_have_a_verdict() -> None:
    build, workspace = {"build_id": "5", "uploaded_at": "2026-05-05T00:00:00Z"}, {"build_health": []}
    main = branch("branch", "main", "6", "5", "4", "3")
    assert base_build_of([main], build, workspace) == "4"
    untested = {"build_health": [{"build_id": "4", "completed_runs": 0}, {"build_id": "3", "completed_runs": 1}]}
    assert base_build_of([main], build, untested) == "3"
    assert base_build_of([branch("branch", "main", "6")], build, workspace) == "6"
    assert base_build_of([branch("branch", "main", "5")], build, workspace) is None
    assert base_build_of([], build, workspace) is None


def test_an_older_build_is_shown_where_none_of_the_newest_has_a_verdict() -> None:
    branches = [branch("branch", "main", "5", "3", "2"), branch("branch", "pay", "4")]
    untested = {"build_id": "5", "completed_runs": 0}
    tested = newest_tested({"build_health": [untested]}, branches)
    assert tested is not None
    assert tested["build_id"] == "4"
    passed = {"build_id": "1", "completed_runs": 1}
    assert newest_tested({"build_health": [untested, passed]}, branches) == passed
    assert newest_tested({"build_health": [untested]}, []) is None
