"""A key sees nothing that the service would refuse: every page is looked at with keys of fewer scopes."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import grpc
import pytest
from playwright.async_api import expect

from services.gateway.contract.operations import Operation, all_operations
from services.gateway.dashboard.assets import Assets
from services.gateway.dashboard.routes import dashboard_routes
from services.gateway.http.application import Route
from tests.dashboard.conftest import Visitor
from tests.e2e.client import Api, created, fresh
from tests.e2e.test_gate import Ci
from tests.e2e.world import World
from tests.eventually import eventually

# Routes without a page for people who have signed in.
NO_PAGES = ("/docs", "/sign-in", "/session", "/executions/{execution_id}/tests/{test_id}")
# What the elements of the page would send or open, as [kind, method, address]. A button that is none of these kinds is
# "unknown": say here what it sends.
OFFERED = """() => {
  const kinds = {
    url: (data) => [data.method ?? "POST", data.url],
    json: (data) => [data.method ?? "POST", data.json],
    edits: (data) => ["PATCH", data.edits],
    deletes: (data) => ["DELETE", data.deletes],
    upload: (data) => ["POST", data.upload],
    secret: () => ["PUT", "/api/v1/secrets/NAME"],
    setsSecret: () => ["PUT", "/api/v1/secrets/NAME"],
    createsKey: () => ["POST", "/api/v1/settings/api-keys"],
    restore: (data) => ["PATCH", `/api/v1/tests/${data.test}`],
    steps: (data) => ["PATCH", `/api/v1/tests/${data.test}`],
    workflowForm: ({workflowForm: id}) => id ? ["PATCH", `/api/v1/workflows/${id}`] : ["POST", "/api/v1/workflows"],
    bulk: ({bulk: kind}) => ({
      quarantine: ["PUT", "/api/v1/tests/ID/quarantine"],
      tag: ["PATCH", "/api/v1/tests/ID"],
      run: ["POST", "/api/v1/executions"],
    })[kind],
    starts: () => ["POST", "/api/v1/execution/api/execute_workflow_id_async"],
  };
  const harmless = ["closes", "signOut", "copy", "copyFrom", "reload", "uploadCancel", "find"];
  const offered = [];
  const unknown = (element) => offered.push(["unknown", element.localName, element.outerHTML]);
  for (const element of document.querySelectorAll("form, button, [data-url]")) {
    const {dataset: data, form} = element;
    if (element.matches("main [hidden] *, dialog#delete *")) continue;
    const sent = Object.keys(kinds).filter((kind) => kind in data);
    for (const kind of sent) offered.push([kind, ...kinds[kind](data)]);
    if (sent.length || harmless.some((each) => each in data)) continue;
    if (data.opens) offered.push(["opens", "", document.getElementById(data.opens) ? "there" : "missing"]);
    else if (element.matches("form[data-editor]:has(textarea[readonly])")) continue;
    else if (element.matches("form[data-editor][data-test]")) offered.push(["editor", "PATCH", "/api/v1/tests/ID"]);
    else if (element.matches("form[data-editor]")) offered.push(["editor", "POST", "/api/v1/tests"]);
    else if (element.matches("form[method=post]") && !element.querySelector("#step")) unknown(element);
    else if (element.matches("button") && !form) unknown(element);
  }
  for (const link of document.querySelectorAll("main a[href]")) {
    const address = link.getAttribute("href");
    if (address.startsWith("/tests/new")) offered.push(["link", "POST", "/api/v1/tests"]);
    if (/^\\/tests\\/[^/]+\\/run$/.test(address)) offered.push(["link", "POST", "/api/v1/executions"]);
    if (address.startsWith("/workflows/new")) offered.push(["link", "POST", "/api/v1/workflows"]);
    if (/^\\/workflows\\/[^/]+\\/edit$/.test(address)) offered.push(["link", "PATCH", "/api/v1/workflows/ID"]);
    if (address.endsWith("#upload")) offered.push(["link", "POST", "/api/v1/apps/ID/builds"]);
  }
  return offered;
}"""


def page_routes() -> list[str]:
    """The templates of the addresses of all pages."""
    routes = dashboard_routes(grpc.aio.insecure_channel("unused"), Any, Any, Assets())  # type: ignore[arg-type]
    return sorted(route.path for route in routes if _is_page(route))


def _is_page(route: Route) -> bool:
    return route.method == "GET" and route.path not in NO_PAGES and not route.path.startswith("/static/")


def operation_of(method: str, address: str) -> Operation:
    """The operation that answers a request."""
    for operation in sorted(all_operations(), key=lambda each: each.template.count("{")):
        pattern = re.sub(r"\{\w+\}", "[^/]+", operation.template)
        if operation.verb == method and re.fullmatch(pattern, address.partition("?")[0]):
            return operation
    raise AssertionError(f"{method} {address} is no operation")


async def is_shown(visitor: Visitor, page: str) -> bool:
    """Open a page; false while reporting does not know yet what it is about."""
    response = await visitor.page.goto(f"{visitor.url}{page}")
    assert response
    assert response.status in (200, 404), page
    return response.status == 200


async def offered_on(visitor: Visitor, pages: Iterable[str]) -> dict[str, tuple[str, str]]:
    """The operations that pages offer, by name: the scope that each needs, and a page where it is offered."""
    offered: dict[str, tuple[str, str]] = {}
    for page in pages:
        await eventually(lambda page=page: is_shown(visitor, page))
        for kind, method, address in await visitor.page.evaluate(OFFERED):
            assert kind != "unknown", f"{page}: {method} {address}"
            assert kind != "opens" or address == "there", f"{page}: a button opens a dialog that is not there"
            if kind != "opens":
                operation = operation_of(method, address)
                offered.setdefault(operation.name, (operation.rpc.required_scope, page))
    return offered


async def pages_with_everything(ci: Ci, world: World) -> list[str]:
    """The addresses of all pages, of an app with builds, a run that failed, a quarantine, a secret."""
    build, execution = await ci.run("1.0.0", "main", pay=False)
    newest, _ = await ci.run("1.1.0", "main", pay=False)
    created(await world.api.patch(f"/apps/{ci.app['id']}", {"current_version": "1.0.0"}))
    created(await world.api.put(f"/tests/{ci.pay['id']}/quarantine", {"reason": "Waits for SHOP-1"}))
    await world.api.put("/secrets/PASSWORD", {"value": "long enough"})
    await world.test(app=ci.app)
    pull = {"X-CI-System": "ci", "X-CI-Branch": "fix", "X-CI-PR-Number": "7", "X-CI-Commit-SHA": "c0ffee"}
    await world.ended((await world.start(await world.workflow(ci.pay), headers=pull))["id"])
    runs = created(await world.api.get(f"/executions/{execution['id']}/runs"))["items"]
    matrix = created(await world.api.get(f"/apps/{ci.app['id']}/test_matrix"))
    details = [each for row in matrix["tests"] for cell in row["cells"] for each in cell["failure_details"]]
    failed = next(run["id"] for run in runs if run["success"] is False)
    created(await world.api.post(f"/executions/{execution['id']}/runs/{failed}/comments", {"text": "See SHOP-1"}))
    ids: Mapping[str, str] = {
        "app_id": ci.app["id"],
        "build_id": build["id"],
        "execution_id": execution["id"],
        "fingerprint": details[0]["fingerprint"],
        "name": "main",
        "run_id": failed,
        "test_id": ci.pay["id"],
        "number": "7",
        "workflow_id": (await world.workflow(ci.pay))["id"],
    }
    app = f"/apps/{ci.app['id']}"
    compared = f"{app}/builds/{newest['id']}?base={build['id']}"
    return [*(route.format_map(ids) for route in page_routes()), f"{app}?attach=Test&platform=Android", compared]


EXPECTED = {
    *("CreateApp", "UpdateApp", "DeleteApp", "CreateBuild", "UpdateBuild", "DeleteBuild"),
    *("CreateTest", "UpdateTest", "DeleteTest", "AttachTest", "DetachTest", "QuarantineTest", "UnquarantineTest"),
    *("PutSecret", "DeleteSecret", "CreateApiKey", "DeleteApiKey", "StartTests", "RerunExecution"),
    *("CreateWorkflow", "UpdateWorkflow", "DeleteWorkflow", "StartWorkflow"),
    *("CreateRunComment", "UpdateRunComment", "DeleteRunComment"),
}


async def test_no_page_offers_what_the_key_may_not_do(visitor: Visitor, ci: Ci, world: World, api: Api) -> None:
    """A new button cannot be forgotten: pages are found by their routes, and scopes by the operations' protos."""
    pages = await pages_with_everything(ci, world)
    await visitor.sign_in()
    offered = await offered_on(visitor, pages)
    assert set(offered) >= EXPECTED
    for scopes in (["read"], ["read", "execute"], ["read", "write"]):
        visitor.key = created(await api.post("/settings/api-keys", {"name": fresh("few"), "scopes": scopes}))["key"]
        await visitor.page.context.clear_cookies()
        await visitor.sign_in()
        refused = {
            name: place for name, (scope, place) in (await offered_on(visitor, pages)).items() if scope not in scopes
        }
        assert refused == {}, scopes


@pytest.mark.parametrize(
    ("page", "note"),
    [
        ("/apps/{app}", "To upload a build or to choose the current one, sign in with a key that has the scope write."),
        ("/apps/{app}", "To attach, pin or detach tests, sign in with a key that has the scope write."),
        ("/tests/new", "To write one, sign in with a key that has the scope write."),
        ("/tests/{test}/run", "To run the test, sign in with a key that has the scope execute."),
    ],
)
async def test_a_missing_form_says_which_scope_it_needs(
    visitor: Visitor, world: World, api: Api, page: str, note: str
) -> None:
    app, _, test, _ = await world.passing_app()
    visitor.key = created(await api.post("/settings/api-keys", {"name": "reader", "scopes": ["read"]}))["key"]
    await visitor.sign_in()
    await visitor.open(page.format(app=app["id"], test=test["id"]))
    await expect(visitor.page.get_by_text(note)).to_be_visible()
