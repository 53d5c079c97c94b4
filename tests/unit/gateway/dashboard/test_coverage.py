"""What the page of the coverage makes of a test's last run on its target."""

import pytest

from services.gateway.dashboard.coverage import STATES, TESTS, is_missing, paginate, state_of
from services.gateway.dashboard.error_pages import PageUnknown
from services.gateway.http.json_responses import HttpError


@pytest.mark.parametrize(
    ("last_status", "observed", "state", "missing"),
    [
        ("not_run", None, "never run", True),
        ("not_run", "1", "stale", True),
        ("no_verdict", None, "no verdict", True),
        ("no_verdict", "1", "no verdict", True),
        ("no_verdict", "2", "no verdict", False),
        ("cancelled", "1", "cancelled", True),
        ("failed", "2", "failed", False),
        ("passed", "2", "passed", False),
    ],
)
def test_a_run_without_a_verdict_is_neither_failed_nor_passed(
    last_status: str, observed: str | None, state: str, missing: bool
) -> None:
    item = {
        "last_status": last_status,
        "ran": observed is not None,
        "last_observed_build_id": observed,
        "last_observed_build_version": observed,
        "target_build_version": "2",
    }
    assert (state_of(item), is_missing(state_of(item), item)) == (state, missing)
    assert state in STATES


@pytest.mark.parametrize(("page", "number"), [("", 1), ("1", 1), ("2", 2), ("3", 3)])
def test_a_page_has_what_one_screen_shows(page: str, number: int) -> None:
    shown = paginate(range(2 * TESTS + 1), page)
    assert (shown["page"], shown["total_pages"]) == (number, 3)
    assert list(shown["items"]) == list(range((number - 1) * TESTS, min(number * TESTS, 2 * TESTS + 1)))
    assert (shown["has_previous"], shown["has_next"]) == (number > 1, number < 3)


@pytest.mark.parametrize("page", ["4", "2147483647"])
def test_a_page_after_the_last_one_is_unknown(page: str) -> None:
    with pytest.raises(PageUnknown) as error:
        paginate(range(2 * TESTS + 1), page)
    assert error.value.last == 3


@pytest.mark.parametrize("page", ["0", "-1", "²", "two", "2147483648", "9" * 5000])
def test_what_is_no_number_of_a_page_is_refused(page: str) -> None:
    with pytest.raises(HttpError) as error:
        paginate(range(2 * TESTS + 1), page)
    assert (error.value.status, error.value.code) == (422, "VALIDATION_FAILED")


def test_an_empty_list_has_one_page() -> None:
    assert paginate([], "") == {
        "items": [],
        "page": 1,
        "total_pages": 1,
        "has_previous": False,
        "has_next": False,
    }


def test_a_test_that_ran_without_a_verdict_elsewhere_is_not_never_run() -> None:
    item = {"last_status": "not_run", "last_observed_build_id": None, "ran": True}
    assert state_of(item) == "stale"
