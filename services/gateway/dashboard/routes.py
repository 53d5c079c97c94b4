"""The routes of the dashboard: pages need no access rule, because they show what the REST interface answers."""

from services.chassis.grpc_channel import Channel
from services.gateway.dashboard import apps, executions, sign_in
from services.gateway.dashboard.assets import PREFIX, Assets
from services.gateway.dashboard.pages import SIGN_IN, page
from services.gateway.dashboard.reference.page import PATH as REFERENCE
from services.gateway.dashboard.reference.page import ReferencePage
from services.gateway.dashboard.sessions import SessionHandlers
from services.gateway.http.application import Route


def dashboard_routes(catalog: Channel, assets: Assets, reference: ReferencePage) -> list[Route]:
    """Pages, sessions and assets."""
    sessions = SessionHandlers(catalog)
    return [
        Route("GET", "/", page("apps.html", apps.list_apps)),
        Route("GET", "/apps/{app_id}", page("app.html", apps.show_app)),
        Route("GET", "/executions", page("executions.html", executions.list_executions)),
        Route("GET", "/executions/{execution_id}", page("execution.html", executions.show_execution)),
        Route("GET", "/executions/{execution_id}/runs/{run_id}", page("run.html", executions.show_run)),
        Route("GET", REFERENCE, reference.show),
        Route("GET", SIGN_IN, sign_in.show),
        Route("POST", "/session", sessions.begin),
        Route("DELETE", "/session", sessions.end),
        Route("GET", f"{PREFIX}/{{version}}/{{name}}", assets.serve),
    ]
