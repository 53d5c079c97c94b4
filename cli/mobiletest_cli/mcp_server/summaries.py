"""What agents are shown of the API's objects: few fields, so that their context suffices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mobiletest_cli import branches, failure_groups, presentation
from mobiletest_cli.api import Api

if TYPE_CHECKING:
    from mobiletest_cli.api_types import App, AppHealth, Build, Execution, FailureItem, FailureSighting, Run, Test

TEXT_LENGTH = 2000


def app_summary(app: AppHealth) -> dict[str, Any]:
    """An app: id, name, platform, its numbers, and what its newest build with a verdict says."""
    shown = _pick(app, "name", "platform", "versions_count", "attached_tests", "result", "last_run_at")
    tests = _pick(app, "newly_failing", "still_failing", "never_passed", "flaky", "passing", "not_run")
    return {"id": app["app_id"], **shown, "build": app["build"] and branches.build_words(app["build"]), **tests}


def build_summary(build: Build, app: App) -> dict[str, Any]:
    """A build: id, version, package, when it was uploaded, and whether it is the app's current one."""
    shown = _pick(build, "id", "version", "package_name", "uploaded_at")
    return {**shown, "is_current": build["id"] == presentation.current_build(app)[0]}


def test_summary(test: Test) -> dict[str, Any]:
    """A test without its steps."""
    shown = _pick(test, "id", "name", "tags", "platform", "version_number", "workspace", "source_path")
    return {**shown, "quarantined": test["quarantine"] is not None}


def execution_summary(api: Api, execution: Execution) -> dict[str, Any]:
    """An execution: how it ended, in words and numbers, and its page."""
    shown = _pick(execution, "id", "status", "success", "created_at")
    ci = {name: value for name, value in (execution["ci"] or {}).items() if value is not None}
    shown |= {"summary": presentation.headline(execution), "page": api.page_url(f"executions/{execution['id']}")}
    return {**shown, **({"ci": ci} if ci else {})}


def run_summary(api: Api, run: Run) -> dict[str, Any]:
    """A run: the test, how it ended, on what, why and where, its page, and what a simulated device ran instead of the
    app.
    """
    simulation = run.get("simulation")
    written = [presentation.place(each) for each in presentation.positions(run["failure"])]
    return {
        "run_id": run["id"],
        "test": run["test_name"],
        "test_id": run["test_id"],
        **({"flow": run["source_path"]} if run.get("source_path") else {}),
        "outcome": presentation.outcome(run),
        "build": run["resolved_build_version"],
        "device": presentation.device(run),
        "attempts": run["attempt_number"],
        "reason": presentation.reason(run),
        **({"failed_at": written[0], "run_from": written[1:]} if written else {}),
        "page": api.page_url(presentation.run_path(run)),
        **({"simulation": simulation} if simulation else {}),
    }


def failure_summary(failure: FailureItem) -> dict[str, Any]:
    """Failures of an app with the same fingerprint: the newest message, since when, where, and what people wrote."""
    shown = _pick(failure, "fingerprint", "app_id", "app_name", "category", "count")
    written = failure_groups.triage_words(failure.get("triage"))
    return {
        **shown,
        "state": failure_groups.failure_state(failure),
        "message": cut(failure["sample_message"], 300),
        "first_seen": _sighting(failure["first_seen"]),
        "last_seen": _sighting(failure["last_seen"]),
        **({"written": written} if written else {}),
    }


def _sighting(sighting: FailureSighting | None) -> dict[str, Any]:
    shown = _pick(sighting or {}, "at", "test_name", "build_version", "branch", "execution_id")
    return {name: value for name, value in shown.items() if value is not None}


def cut(text: str, length: int = TEXT_LENGTH) -> str:
    """The text, or its beginning and how much is missing."""
    return text if len(text) <= length else f"{text[:length]}... ({len(text) - length} more characters)"


def _pick(value: Any, *names: str) -> dict[str, Any]:
    return {name: value.get(name) for name in names}
