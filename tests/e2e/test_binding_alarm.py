"""A pass in which a step acts on another element than before says so, everywhere."""

from typing import Any

from tests.e2e.client import Api, created
from tests.e2e.world import World


def app_model(*ids: str) -> bytes:
    buttons = "".join(f"\n      - {{type: button, text: Pay, id: {each}}}" for each in ids)
    return (
        f"app_model: 1\napp: {{id: com.example.pay}}\nstart: home\nscreens:\n  home:\n    elements:{buttons}\n".encode()
    )


async def test_a_pass_whose_step_bound_another_element_says_so(api: Api, world: World) -> None:
    app, test = await world.app(), await world.test(["launchApp", {"tapOn": "Pay"}])
    await world.attach(app, test)
    workflow = await world.workflow(test)

    async def run(version: str, *ids: str) -> Any:
        created(await api.upload(app["id"], app_model(*ids), version=version))
        return await world.run(workflow)

    for number in range(3):
        execution = await run(f"1.{number}", "pay")
        assert "bindings_changed" not in (await world.only_run(execution))["report_metadata"]
    execution = await run("2.0", "pay_later", "pay")
    whole = await world.only_run(execution)
    assert whole["success"] is True
    [change] = whole["report_metadata"]["bindings_changed"]
    assert change["step_index"] == 1
    assert 'button "Pay" (id pay_later); in its last 3 passes it bound button "Pay" (id pay)' in change["message"]
    gate = created(await api.get(f"/executions/{execution['id']}/gate"))
    assert gate["result"] == "pass"
    assert "In 1 run that passed, steps have bound other elements" in gate["summary"]
    junit = (await api.get(f"/executions/{execution['id']}/junit.xml")).text
    assert 'name="bindings_changed"' in junit
