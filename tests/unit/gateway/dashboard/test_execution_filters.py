"""The filters of the list of executions in the address of its page."""

from services.gateway.dashboard.execution_filters import read_filters, to_parameters


def test_days_are_whole_and_what_is_no_day_is_left_to_the_operation() -> None:
    days = {"created_after": "2026-11-01", "created_before": "2026-11-30", "branch": "2026-11-01"}
    assert to_parameters(days) == {
        "created_after": "2026-11-01T00:00:00Z",
        "created_before": "2026-12-01T00:00:00Z",
        "branch": "2026-11-01",
    }
    others = {"created_after": "2026-02-30", "created_before": "abc"}
    assert to_parameters(others) == others
    assert to_parameters({"created_before": "9999-12-31"}) == {"created_before": "9999-12-31T00:00:00Z"}
    assert to_parameters({"created_before": "2026-11-01T10:00:00Z"}) == {"created_before": "2026-11-01T10:00:00Z"}


def test_empty_fields_of_the_form_are_no_filters() -> None:
    assert read_filters({"name": "  ", "branch": " main ", "page": "2", "sort": ""}) == {"branch": "main"}
