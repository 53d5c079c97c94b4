"""How a test behaves on its apps: stable, flaky, broken and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mobiletest_cli.api import Api

if TYPE_CHECKING:
    from mobiletest_cli.api_types import BuildRunItem, TestReport

_APPS = 3


def classify_test(api: Api, test_id: object, runs: Sequence[BuildRunItem]) -> list[dict[str, Any]]:
    """The classification of the test, with its reason, on each of the apps of these runs, of at most three."""
    app_ids = list(dict.fromkeys(run["app_id"] for run in runs if run.get("app_id")))[:_APPS]
    return [_classification(api, app_id, test_id) for app_id in app_ids]


def _classification(api: Api, app_id: str, test_id: object) -> dict[str, Any]:
    report: TestReport = api.get(f"apps/{app_id}/tests/{test_id}/report")
    names = ("app_id", "classification", "classification_detail", "flaky_score", "quarantine")
    return {name: report.get(name) for name in names}
