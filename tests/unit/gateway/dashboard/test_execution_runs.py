"""How the page of an execution shows the groups of its runs."""

from typing import Any

from services.gateway.dashboard.execution_runs import SHOWN, reasons_elsewhere, shown_groups

BAD_LINE = {"file": "flows/pay.yaml", "line": 12, "column": 3}


def run(id: str, message: str = "", place: Any = None) -> Any:
    return {"id": id, "failure": {"message": message, "reason": "<n> lines", "position": place}}


def page(*runs: Any, standing: str = "no_verdict", total: int = 0) -> Any:
    group = {"standing": standing, "category": "script_error", "reason": "<n> lines", "total": total or len(runs)}
    return {"items": list(runs), "groups": [{**group, "on_page": len(runs)}]}


def test_a_reason_has_a_real_message_its_place_and_few_open_runs() -> None:
    (group,) = shown_groups(page(*(run(f"{n}", f"line {n}: no value", BAD_LINE) for n in range(100)), total=120), {})
    assert (group.total, group.message, group.place, group.category) == (
        120,
        "line 0: no value",
        BAD_LINE,
        "script error",
    )
    assert (len(group.shown), len(group.others)) == (SHOWN, 100 - SHOWN)


def test_places_that_differ_are_not_that_of_the_group() -> None:
    runs = [run("1", place=BAD_LINE), run("2", place={**BAD_LINE, "line": 13})]
    assert [group.place for group in shown_groups(page(*runs), {})] == [None]


def test_blocking_runs_come_first() -> None:
    known = {"blocks": False, "failure_fingerprint": "f", "app_id": "a"}
    reasons = {"8": {"blocks": True}, "3": known}
    (group,) = shown_groups(page(*(run(f"{n}") for n in range(10)), standing="failed"), reasons)
    assert ([each["id"] for each in group.runs][:2], group.blocking) == (["8", "0"], 1)
    assert group.known_as == known


def test_runs_that_passed_are_all_shown_and_groups_have_their_own() -> None:
    first, second = page(run("1"), run("2")), page(*(run(f"p{n}") for n in range(9)), standing="passed")
    groups = shown_groups({"items": first["items"] + second["items"], "groups": first["groups"] + second["groups"]}, {})
    assert [[each["id"] for each in group.runs][:1] for group in groups] == [["1"], ["p0"]]
    assert (len(groups[1].shown), groups[1].message) == (9, "")


def test_a_group_speaks_for_its_runs_on_other_pages() -> None:
    """What blocks is counted over all pages, and one cause is said once, however many runs have it."""
    alike = {"blocks": True, "app_id": "a", "failure_fingerprint": "f"}
    other = {**alike, "failure_fingerprint": "g"}
    reasons = {"1": alike, "2": alike, "elsewhere": {**alike, "run_id": "elsewhere"}, "another": other}
    groups = shown_groups(page(run("1"), run("2"), total=3), reasons)
    assert ([group.blocking for group in groups], reasons_elsewhere(groups, reasons)) == ([3], [other])


def test_a_group_speaks_for_no_run_of_another_group_with_its_fingerprint() -> None:
    """Groups tell "order 7 failed" from "order 8 failed", fingerprints do not."""
    alike = {"blocks": True, "app_id": "a", "failure_fingerprint": "f"}
    reasons = {"1": alike, "2": alike, "8": {**alike, "run_id": "8"}, "9": {**alike, "run_id": "9"}}
    for total in (2, 3):
        groups = shown_groups(page(run("1"), run("2"), total=total), reasons)
        assert [group.blocking for group in groups] == [2]
        assert reasons_elsewhere(groups, reasons) == [reasons["8"], reasons["9"]]
