"""The routes of the dashboard: pages need no access rule, because they show what the REST interface answers."""

from aiohttp import web

from services.chassis.grpc_channel import Channel
from services.gateway.auth.authenticator import Authenticator
from services.gateway.auth.rate_limits import RateLimiter
from services.gateway.dashboard import (
    apps,
    branches,
    coverage,
    csv_lists,
    executions,
    failures,
    matrix,
    runs,
    settings,
    slow_and_flaky,
    tests,
    versions,
    workflows,
)
from services.gateway.dashboard.assets import PREFIX, Assets
from services.gateway.dashboard.pages import SIGN_IN, page, redirection, render
from services.gateway.dashboard.sessions import SessionHandlers, show_sign_in
from services.gateway.http.application import Route
from services.gateway.http.authentication import AccessRule
from services.gateway.http.request_body import BodyMemory

# Of bodies that pages send themselves; what they send to the REST interface counts there.
ORGANISATION_BYTES, PROCESS_BYTES = 8 * 1024 * 1024, 32 * 1024 * 1024


def dashboard_routes(
    catalog: Channel, authenticator: Authenticator, limiter: RateLimiter, assets: Assets
) -> list[Route]:
    """Pages, sessions and assets."""
    bodies = BodyMemory(ORGANISATION_BYTES, PROCESS_BYTES)
    sessions = SessionHandlers(catalog, authenticator, limiter, bodies)
    return [
        *_app_pages(),
        *_execution_pages(),
        *_test_pages(),
        *_settings_pages(),
        Route("POST", "/tests/{test_id}/difference", versions.DifferenceHandler(bodies).handle, AccessRule("read")),
        Route("GET", "/docs", _show_reference),
        Route("GET", SIGN_IN, show_sign_in),
        Route("POST", SIGN_IN, sessions.begin_by_form),
        Route("POST", "/session", sessions.begin),
        Route("GET", "/session", sessions.show),
        Route("DELETE", "/session", sessions.end),
        Route("GET", f"{PREFIX}/{{version}}/{{name}}", assets.serve),
        Route("GET", f"{PREFIX}/{{version}}/{{folder}}/{{name}}", assets.serve),
    ]


def _app_pages() -> list[Route]:
    return [
        Route("GET", "/", page("apps.html", apps.list_apps)),
        Route("GET", "/apps/{app_id}", page("app.html", apps.show_app)),
        Route("GET", "/apps/{app_id}/matrix", page("matrix.html", matrix.show_matrix, csv_lists.list_matrix)),
        Route("GET", "/apps/{app_id}/coverage", page("coverage.html", coverage.show_coverage, csv_lists.list_coverage)),
        Route(
            "GET", "/apps/{app_id}/builds/{build_id}", page("build.html", apps.show_build, csv_lists.list_build_runs)
        ),
        Route(
            "GET",
            "/apps/{app_id}/durations",
            page("durations.html", slow_and_flaky.list_durations, slow_and_flaky.durations_csv),
        ),
        Route("GET", "/apps/{app_id}/branches", page("branches.html", branches.list_branches)),
        Route("GET", "/apps/{app_id}/branches/{name}", page("branch.html", branches.show_branch)),
        Route("GET", "/apps/{app_id}/pull-requests/{number}", page("branch.html", branches.show_pull_request)),
        Route("GET", "/apps/{app_id}/builds/{build_id}/screens", page("build_screens.html", apps.show_screen_changes)),
    ]


def _execution_pages() -> list[Route]:
    """Executions, their runs, failures and the queue."""
    return [
        Route("GET", "/executions", page("executions.html", executions.list_executions, csv_lists.list_executions)),
        Route("GET", "/executions/{execution_id}", page("execution.html", executions.show_execution)),
        Route("GET", "/executions/{execution_id}/tests/{test_id}", redirection(executions.find_run)),
        Route("GET", "/executions/{execution_id}/runs/{run_id}", page("run.html", runs.show_run)),
        Route("GET", "/failures", page("failures.html", failures.list_failures, csv_lists.list_failures)),
        Route("GET", "/apps/{app_id}/failures/{fingerprint}", page("failure.html", failures.show_failure)),
        Route("GET", "/queue", page("queue.html", executions.show_queue)),
    ]


def _test_pages() -> list[Route]:
    """Tests and workflows."""
    return [
        Route("GET", "/tests", page("tests.html", tests.list_tests, csv_lists.list_tests)),
        Route("GET", "/tests/flaky", page("flaky.html", slow_and_flaky.list_flaky, slow_and_flaky.flaky_csv)),
        Route("GET", "/tests/new", page("new_test.html", tests.new_test)),
        Route("GET", "/tests/{test_id}", page("test.html", tests.show_steps)),
        Route("GET", "/tests/{test_id}/versions", page("versions.html", versions.show_versions)),
        Route("GET", "/tests/{test_id}/history", page("history.html", tests.show_history, csv_lists.list_test_runs)),
        Route("GET", "/tests/{test_id}/run", page("run_test.html", tests.show_starts)),
        Route("GET", "/tests/{test_id}/try", page("try.html", tests.show_last_screen)),
        Route("GET", "/workflows", page("workflows.html", workflows.list_workflows, csv_lists.list_workflows)),
        Route("GET", "/workflows/new", page("workflow_form.html", workflows.new_workflow)),
        Route("GET", "/workflows/{workflow_id}", page("workflow.html", workflows.show_workflow)),
        Route("GET", "/workflows/{workflow_id}/edit", page("workflow_form.html", workflows.edit_workflow)),
    ]


def _settings_pages() -> list[Route]:
    return [
        Route("GET", "/settings", page("api_keys.html", settings.list_keys)),
        Route("GET", "/settings/limits", page("limits.html", settings.list_limits)),
        Route("GET", "/settings/quarantine", page("quarantine.html", settings.list_quarantined)),
        Route("GET", "/settings/secrets", page("secrets.html", settings.list_secrets)),
    ]


async def _show_reference(request: web.Request) -> web.StreamResponse:
    """The page of the API documentation, which everyone may read: Swagger UI, with the key of the session."""
    return render(request, "reference.html", {})
