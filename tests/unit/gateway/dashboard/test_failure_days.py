"""The days of a failure's trend."""

from services.gateway.dashboard.failures import TREND_DAYS, fill_days


def test_days_without_failures_are_zero_and_no_day_is_lost() -> None:
    shown = fill_days([{"date": "2026-02-27", "count": 2}, {"date": "2026-03-01", "count": 1}])
    assert [(day["date"], day["count"]) for day in shown] == [("2026-02-27", 2), ("2026-02-28", 0), ("2026-03-01", 1)]
    assert fill_days([]) == ()
    assert len(fill_days([{"date": "2020-01-01", "count": 1}, {"date": "2026-03-01", "count": 1}])) == TREND_DAYS
