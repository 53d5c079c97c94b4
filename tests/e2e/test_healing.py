"""A step whose element has changed: what is proposed for it, the run that checks that, and what nobody counts."""

from typing import Any

from tests.e2e.client import Api, created
from tests.e2e.world import World
from tests.eventually import eventually

STEPS: list[Any] = ["launchApp", {"tapOn": "Pay"}, {"assertVisible": "Thank you"}]


def app_model(pay: str, *, thanks: bool = True) -> bytes:
    """An app with a button `pay`; with `thanks` a tap on it leads to the screen that says so."""
    return f"""app_model: 1
app: {{id: com.example.pay}}
start: home
screens:
  home:
    title: Checkout
    elements:
      - {{type: button, text: {pay}, id: main, tap: {"thanks" if thanks else "home"}}}
      - {{type: button, text: Help, id: help}}
      - {{type: button, text: Cancel, id: cancel}}
  thanks:
    elements:
      - {{type: text, text: Thank you}}
""".encode()


class Scene:
    def __init__(self, api: Api, world: World) -> None:
        self.api, self.world = api, world

    async def begin(self) -> None:
        self.app, self.test = await self.world.app(), await self.world.test(STEPS)
        await self.world.attach(self.app, self.test)
        self.workflow = await self.world.workflow(self.test)
        await self.run("1.0", app_model("Pay"))

    async def run(self, version: str, model: bytes) -> Any:
        """The only run of an execution on a new build."""
        self.build = created(await self.api.upload(self.app["id"], model, version=version))
        self.execution = await self.world.run(self.workflow)
        return await self.world.only_run(self.execution)

    @staticmethod
    def path(run: Any) -> str:
        return f"/executions/{run['execution_id']}/runs/{run['id']}/healing"

    async def checked(self, run: Any) -> Any:
        """What is known of the proposal when the run that checks it has ended."""
        asked = await self.api.post(self.path(run), {})
        assert asked.status == 202

        async def probe() -> Any:
            healing = created(await self.api.get(self.path(run)))
            return healing if healing["state"] != "verifying" else None

        return await eventually(probe)


async def begun(api: Api, world: World) -> Scene:
    scene = Scene(api, world)
    await scene.begin()
    return scene


async def test_a_proposal_is_checked_by_a_run_that_nobody_counts(api: Api, world: World) -> None:
    scene = await begun(api, world)
    failed = await scene.run("2.0", app_model("Buy now"))
    assert failed["success"] is False
    healing = created(await api.get(scene.path(failed)))
    assert (healing["state"], healing["test_version_number"]) == ("unverified", 1)
    proposal = healing["proposal"]
    assert (proposal["path"], proposal["old_step"], proposal["step"]) == (
        "steps[1]",
        {"tapOn": "Pay"},
        {"tapOn": "Buy now"},
    )
    assert (proposal["old_line"], proposal["line"]) == ("- tapOn: Pay", "- tapOn: Buy now")
    assert (proposal["past_screens"], proposal["held_screens"]) == (1, 0)

    verified = await scene.checked(failed)
    assert (verified["state"], verified["reason"], verified["proposal"]) == ("verified", "", proposal)
    check = created(await api.get(f"/executions/{verified['check_execution_id']}/runs/{verified['check_run_id']}"))
    assert (check["success"], check["verifies"], check["build_id"]) == (True, failed["id"], failed["build_id"])
    assert (await api.post(scene.path(failed), {})).body["check_run_id"] == check["id"]

    await world.reported(scene.build, 1)
    history = created(await api.get(f"/tests/{scene.test['id']}/runs"))
    assert check["id"] not in [item["run_id"] for item in history["items"]]
    assert created(await api.get(f"/apps/builds/{scene.build['id']}/gate"))["result"] == "block"
    refused = await api.get(f"/executions/{check['execution_id']}/gate")
    assert (refused.status, refused.body["code"]) == (409, "NO_RESULT")
    again = await api.post(f"/executions/{check['execution_id']}/rerun", {"run_ids": [check["id"]]})
    assert (again.status, again.body["code"]) == (409, "CHECKS_A_PROPOSAL")  # a rerun would count as a pass of the test
    assert created(await api.get(f"/tests/{scene.test['id']}"))["version_number"] == 1


async def test_a_proposal_whose_run_fails_is_refuted(api: Api, world: World) -> None:
    scene = await begun(api, world)
    failed = await scene.run("2.0", app_model("Buy now", thanks=False))
    refuted = await scene.checked(failed)
    assert refuted["state"] == "refuted"
    assert "Thank you" in refuted["reason"]


async def test_nothing_is_proposed_for_other_failures(api: Api, world: World) -> None:
    scene = await begun(api, world)
    passed = await scene.run("1.1", app_model("Pay") + b"\n")
    assert created(await api.get(scene.path(passed)))["state"] == "none"
    other = await scene.run("2.0", app_model("Pay", thanks=False))
    answer = created(await api.get(scene.path(other)))
    assert (answer["state"], "proposal" in answer) == ("none", False)
    refused = await api.post(scene.path(other), {})
    assert (refused.status, refused.body["code"]) == (409, "NOTHING_PROPOSED")
