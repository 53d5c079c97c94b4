"""Counters: amounts that are only ever incremented, so that they are written without being read.

| counter             | fields                                                        |
| ------------------- | ------------------------------------------------------------- |
| app:<app>:<YYYY-MM> | <DD>_{passed,failed,infra_failed,cancelled,executions}        |
| app:<app>:all       | ended (finished runs), attributed (those with a build), builds (not deleted), |
|                     | storms (executions), changes (the revisions of builds and attachments, added up) |
| org:tests           | deleted                                                       |
| app:<app>:builds    | <YYYY-MM-DD> (builds uploaded on that day, not deleted)       |
| build:<build>       | runs (resolved to it), passed, failed, infra_failed, cancelled, listed, <YYYY-MM-DD>  |
| test:<test>         | runs, listed, <YYYY-MM-DD>                                    |
| build:<build>:<YYYY-MM-DD>, test:<test>:<YYYY-MM-DD> | <HHMM>                       |

`listed` and the days count the runs in the list of the build or test, without expired ones (list_positions.py).
"""

from collections.abc import Iterable, Mapping
from datetime import date, timedelta
from functools import lru_cache

from services.reporting.model.tables import CounterKey, Table

# Of the tests of an organisation.
ORG_TESTS = "org:tests"

Counters = Table[CounterKey, dict[str, int]]


def app_month(app_id: str, day: date) -> str:
    """The counter of the month of this day."""
    return app_of_month(app_id, month(day))


def app_of_month(app_id: str, month: str) -> str:
    """The counter of a month, YYYY-MM."""
    return f"app:{app_id}:{month}"


@lru_cache(maxsize=1024)
def month(day: date) -> str:
    """The month of this day, YYYY-MM."""
    return f"{day:%Y-%m}"


def app_all(app_id: str) -> str:
    """The counter of an app over all time."""
    return f"app:{app_id}:all"


def app_builds(app_id: str) -> str:
    """The counter of an app's builds by day."""
    return f"app:{app_id}:builds"


def build(build_id: str) -> str:
    """The counter of a build."""
    return f"build:{build_id}"


def test(test_id: str) -> str:
    """The counter of a test."""
    return f"test:{test_id}"


@lru_cache(maxsize=1024)
def day_field(day: date, name: str) -> str:
    """The field of a month's counter for one day."""
    return f"{day.day:02}_{name}"


def add(counters: Counters, org_id: str, counter: str, amounts: Mapping[str, int]) -> None:
    """Add each amount to the field of its name."""
    key = (org_id, counter)
    fields = counters.get(key)
    if fields is None or key not in counters.changed:
        counters.put(key, fields := dict(fields or {}))
    for name, amount in amounts.items():
        fields[name] = fields.get(name, 0) + amount


def last_days(today: date, count: int) -> list[date]:
    """`count` days that end with today, oldest first."""
    return [today - timedelta(days=back) for back in range(count - 1, -1, -1)]


def months(app_id: str, days: Iterable[date]) -> list[str]:
    """The counters that hold these days of an app."""
    return sorted({app_month(app_id, day) for day in days})
