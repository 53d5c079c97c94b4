"""The story of the examples: a team tests its shop, a build breaks the checkout, and the gate says so."""

from pathlib import Path
from typing import Any

from tests.e2e.world import ENDED
from tests.eventually import eventually
from tests.fakes.workspaces import zip_files
from tests.reference.recorder import File, Recorder, Sent

SHOP = Path(__file__).parents[2] / "examples" / "shop-android"
LOG_IN = [
    "Launch the app",
    'Type "ada@example.com" into Email',
    'Type "lovelace" into Password',
    'Tap "Log in"',
    {"assertVisible": "Blue mug"},
]
CHECK_OUT = [
    *LOG_IN,
    'Tap "Blue mug"',
    'Tap "Add to cart"',
    'Tap "Go to cart"',
    'Tap "Checkout"',
    'Type "12 St James\'s Square, London" into Address',
    'Tap "Place order"',
    'I see a text containing "Order placed"',
]
COMMITS = {"1.0.0": "4f2c1d9a7be0356c8d1f2a9047e6b3c5d8f10a2e", "1.1.0": "b81e7702c4f9ad136e58b0d9c2a4f7135e6d8b90"}


class Story:
    """What exists so far. Each part continues where the one before has ended."""

    def __init__(self, recorder: Recorder, step_milliseconds: int) -> None:
        """Each step takes so much real time, so that durations are more than nothing."""
        self.recorder = recorder
        self._pace = f"\npace: {{step: {step_milliseconds}ms}}\n".encode()
        self.app: Any = None
        self.builds: dict[str, Any] = {}
        self.log_in: Any = None
        self.check_out: Any = None
        self.workflow: Any = None

    async def register(self) -> None:
        """An app, its first build, its tests and a workflow."""
        record, call = self.recorder.record, self.recorder.call
        app = {"name": "Shop", "platform": "Android", "description": "The shop of the example"}
        self.app = await record("CreateApp", sent=Sent(json=app))
        await record("UpdateApp", self.app["id"], sent=Sent(json={"description": "Sells mugs and plates"}))
        await self._upload("1.0.0")
        tests = {"name": "Check out", "description": "From the cart to an order", "tags": ["smoke"], "steps": CHECK_OUT}
        self.check_out = await record("CreateTest", sent=Sent(json=tests))
        self.log_in = await call("CreateTest", sent=Sent(json={"name": "Log in", "steps": LOG_IN[:-1]}))
        change = {"tags": ["smoke", "account"], "steps": LOG_IN}
        await record("UpdateTest", self.log_in["id"], sent=Sent(json=change))
        await record("AttachTest", self.app["id"], self.log_in["id"], sent=Sent(json={"pinned_version": "1.0.0"}))
        for test in (self.log_in, self.check_out):
            await call("AttachTest", self.app["id"], test["id"], sent=Sent(json={}))
        await self._plan()

    async def _plan(self) -> None:
        record = self.recorder.record
        workflow = {"name": "Smoke", "test_ids": [self.log_in["id"], self.check_out["id"]]}
        self.workflow = await record("CreateWorkflow", sent=Sent(json=workflow))
        change = {"run_config": {"execution_mode": {"retries": 0}, "fallback_trigger": "never"}}
        await record("UpdateWorkflow", self.workflow["id"], sent=Sent(json=change))
        await record("GetWorkflow", self.workflow["id"])
        await record("ListWorkflowTests", self.workflow["id"])
        await record("ListWorkflows", search="smoke")
        await record("ListAttachments", self.app["id"])
        await record("GetTest", self.log_in["id"])
        await record("ListTests", tag="smoke")
        await record("ListTestVersions", self.log_in["id"], include_steps="true")

    async def _upload(self, version: str) -> None:
        file = File(f"shop-{version}.yaml", (SHOP / f"{version}.yaml").read_bytes() + self._pace)
        form: dict[str, str | File] = {"version": version, "metadata": '{"branch": "main"}', "file": file}
        self.builds[version] = await self.recorder.record("CreateBuild", self.app["id"], sent=Sent(form=form))

    async def execute(self) -> Any:
        """The workflow on two builds: the second one has lost its orders. The failed execution."""
        record = self.recorder.record
        await self._run("1.0.0")
        await self._upload("1.1.0")
        execution = await self._run("1.1.0")
        await record("GetExecution", execution["id"])
        await record("ListExecutions", branch="main", page_size=1)
        await record("ListRuns", execution["id"])
        await record("WatchExecution", execution["id"])
        await record("GetJUnit", execution["id"])
        runs = (await self.recorder.call("ListRuns", execution["id"]))["items"]
        failed = next(run for run in runs if not run["success"])
        run = await record("GetRun", execution["id"], failed["id"])
        screen = next(each for each in run["attempts"][0]["artifacts"] if each["kind"] == "screenshot")
        await record("DownloadArtifact", execution["id"], run["id"], screen["name"])
        await record("GetRunReport", execution["id"], run["id"])
        await record("GetLastPass", execution["id"], run["id"], step_index=0)
        screens = [step["screen"] for step in run["attempts"][0]["steps"] if "screen" in step]
        await record("DownloadScreen", next(screen["picture"] for screen in screens if screen["picture"]))
        step = {"step": {"tapOn": "Checkout"}, "step_path": "steps[8]"}
        await record("RecheckStep", failed["test_id"], sent=Sent(json=step))
        await record("DownloadVideo", execution["id"], run["id"])
        await self._comment(execution["id"], run["id"])
        return execution

    async def _comment(self, *run: str) -> None:
        """Somebody writes about a run."""
        record = self.recorder.record
        first = await record("CreateRunComment", *run, sent=Sent(json={"text": "The bank was slow: see SHOP-42"}))
        changed = {"text": "The bank was slow, and is faster since noon: see SHOP-42"}
        await record("UpdateRunComment", *run, first["id"], sent=Sent(json=changed))
        await record("ListRunComments", *run)
        await record("DeleteRunComment", *run, first["id"])

    async def _run(self, version: str) -> Any:
        headers = {"X-CI-System": "github", "X-CI-Branch": "main", "X-CI-Commit-SHA": COMMITS[version]}
        sent = Sent(json={"workflow_id": self.workflow["id"]}, headers=headers)
        started = await self.recorder.record("StartWorkflow", sent=sent)
        return await self.ended(started["id"])

    async def report(self, execution: Any) -> None:
        """What reporting says, once it has all runs."""
        record, newest = self.recorder.record, self.builds["1.1.0"]

        async def is_complete() -> bool:
            pages = [await self.recorder.call("ListBuildRuns", build["id"]) for build in self.builds.values()]
            return all(page["total"] == 2 and all(run["status"] in ENDED for run in page["items"]) for page in pages)

        await eventually(is_complete)
        await record("ListBuildRuns", newest["id"])
        await record("ListTestRuns", self.check_out["id"], page_size=2)
        await record("GetTestMatrix", self.app["id"])
        await record("GetAppWorkspace", self.app["id"], trend_days=7)
        await record("GetAppCoverage", self.app["id"])
        await record("ListAppHealth", search="shop")
        await record("ListAppBranches", self.app["id"])
        await record("GetTestReport", self.app["id"], self.check_out["id"])
        await record("ListTestDurations", self.app["id"], page_size=1)
        await record("ListFlakyTests", app_id=self.app["id"])
        await record("CompareBuilds", newest["id"], base=self.builds["1.0.0"]["id"])
        await record("ListScreens", self.app["id"], build=newest["id"], page_size=1)
        await record("CompareScreens", newest["id"], base=self.builds["1.0.0"]["id"])
        await record("GetGate", execution["id"], base_branch="main")
        await record("GetBuildGate", newest["id"], base_branch="main")
        await self._triage()
        await record("GetApp", self.app["id"])
        await record("ListApps", search="shop")
        await record("ListBuilds", self.app["id"])
        await record("GetBuild", newest["id"])
        await record("DownloadBuild", newest["id"])
        await record("UpdateBuild", newest["id"], sent=Sent(json={"metadata": {"branch": "main", "broken": True}}))
        quarantine = {"reason": "The team knows: SHOP-42"}
        await record("QuarantineTest", self.check_out["id"], sent=Sent(json=quarantine))
        await record("UnquarantineTest", self.check_out["id"])
        sent = Sent(json={"failed_only": True})
        await self.ended((await record("RerunExecution", execution["id"], sent=sent))["id"])

    async def _triage(self) -> None:
        """Somebody looks at a failure, and writes what is known about it."""
        record = self.recorder.record
        [failure] = (await record("ListFailures", search="order placed"))["items"]
        place = (self.app["id"], failure["fingerprint"])
        written = {"state": "known", "note": "The bank is slow", "ticket_url": "https://tickets.example/SHOP-42"}
        await record("UpdateFailureTriage", *place, sent=Sent(json={**written, "owner": "Ana"}))
        await record("GetFailureTriage", *place)
        await record("GetFailure", *place)

    async def ended(self, execution_id: str) -> Any:
        """Wait until an execution has ended; the execution."""

        async def probe() -> Any:
            execution = await self.recorder.call("GetExecution", execution_id, wait=10)
            return execution if execution["status"] in ENDED else None

        return await eventually(probe)


async def delete_all(story: Story) -> None:
    """The end of what `register` has made."""
    record, call = story.recorder.record, story.recorder.call
    await record("DeleteWorkflow", story.workflow["id"])
    await record("DetachTest", story.app["id"], story.log_in["id"])
    await record("DeleteTest", story.log_in["id"])
    await record("DeleteBuild", story.builds["1.1.0"]["id"])
    await record("DeleteApp", story.app["id"])
    await call("DeleteTest", story.check_out["id"])


async def import_folder(recorder: Recorder, app: Any) -> None:
    """A folder of Maestro flows, one of which is not valid."""
    flow = "appId: com.example.shop\n---\n- launchApp\n- tapOn: Log in\n"
    archive = zip_files({"log-in.yaml": flow, "search.yaml": "- launchApp\n- tapOnn: Search\n"})
    sent = Sent(file=File("maestro.zip", archive))
    await recorder.record("ImportTests", sent=sent, workspace="shop", app_id=app["id"])
