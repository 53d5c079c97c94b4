"""The other parts of the story: keys and secrets, baselines, a question to a person, an execution that is cancelled."""

from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

from tests.e2e.test_healing import STEPS
from tests.e2e.test_healing import app_model as renamed_app_model
from tests.e2e.test_human_in_the_loop import ASKING, SECOND, TWO_BUTTONS
from tests.e2e.world import paced_app_model
from tests.eventually import eventually
from tests.reference.recorder import File, Recorder, Sent
from tests.reference.story import Story

SCREEN = '<hierarchy><android.widget.Button text="Log in" bounds="[60,540][1020,660]" clickable="true"/></hierarchy>'


async def ask_service(recorder: Recorder) -> None:
    """What needs nothing that exists."""
    for name in ("Healthz", "Readyz", "GetLimits", "GetCurrentApiKey", "OpenApi", "Descriptors"):
        await recorder.record(name)
    await recorder.record("ResolveStep", sent=Sent(json={"step": 'Tap "Log in"', "source": SCREEN}))


async def manage_keys(recorder: Recorder) -> None:
    """A key for CI, and a password for tests."""
    in_a_year = (datetime.now(UTC) + timedelta(days=365)).isoformat(timespec="seconds").replace("+00:00", "Z")
    key = {"name": "CI of the shop", "scopes": ["read", "write", "execute"], "expires_at": in_a_year}
    made = await recorder.record("CreateApiKey", sent=Sent(json=key))
    await recorder.record("ListApiKeys")
    await recorder.record("DeleteApiKey", made["id"])
    secret = Sent(json={"value": "correct horse battery staple"})
    await recorder.record("PutSecret", "staging-password", sent=secret)
    await recorder.record("ListSecrets")
    await recorder.record("DeleteSecret", "staging-password")


async def accept_baseline(story: Story) -> None:
    """A test that compares its screen with a picture that nobody has accepted yet."""
    recorder = story.recorder
    test = await _attached(story, story.app, "The first screen", ["Launch the app", {"assertScreenshot": "first"}])
    sent = Sent(json={"test_id": test["id"], "run_config": {"execution_mode": {"retries": 0}}})
    execution = await story.ended((await recorder.record("StartTest", sent=sent))["id"])
    (run,) = (await recorder.call("ListRuns", execution["id"]))["items"]
    names = [each["name"] for each in run["attempts"][0]["artifacts"]]
    picture = next(name for name in names if name.endswith("-actual.png"))
    await recorder.record("AcceptBaseline", execution["id"], run["id"], picture, sent=Sent(json={}))
    (baseline,) = (await recorder.record("ListBaselines", test["id"]))["items"]
    await recorder.record("DownloadBaseline", test["id"], baseline["key"])
    await recorder.record("DeleteBaseline", test["id"], baseline["key"])


async def answer_question(story: Story) -> None:
    """A run that cannot know which of two buttons is meant."""
    recorder = story.recorder
    app = await _app(story, "Counter", TWO_BUTTONS)
    test = await _attached(story, app, "Add", ["Tap Add", 'I see "Count 2"'])
    sent = Sent(json={"tests": [{"test_id": test["id"]}], "name": "Counter", "run_config": ASKING})
    execution = await recorder.record("StartTests", sent=sent)

    async def asking() -> Any:
        (run,) = (await recorder.call("ListRuns", execution["id"]))["items"]
        return run if run["question"] else None

    run = await eventually(asking)
    await recorder.record("ListQuestions")
    answer = {"question_id": run["question"]["id"], "answer": SECOND}
    await recorder.record("AnswerRun", execution["id"], run["id"], sent=Sent(json=answer))
    await story.ended(execution["id"])


async def heal_step(story: Story) -> None:
    """A test whose button has another text in the next build."""
    recorder = story.recorder
    app = await _app(story, "Payments", renamed_app_model("Pay"))
    test = await _attached(story, app, "Pay", STEPS)
    sent = Sent(json={"test_id": test["id"], "run_config": {"execution_mode": {"retries": 0}}})
    await story.ended((await recorder.call("StartTest", sent=sent))["id"])
    renamed = File("payments-2.yaml", renamed_app_model("Buy now"))
    await recorder.call("CreateBuild", app["id"], sent=Sent(form={"version": "2.0.0", "file": renamed}))
    execution = await story.ended((await recorder.call("StartTest", sent=sent))["id"])
    (run,) = (await recorder.call("ListRuns", execution["id"]))["items"]
    await recorder.record("VerifyHealing", execution["id"], run["id"], sent=Sent(json={}))

    async def is_verified() -> bool:
        return bool((await recorder.call("GetHealing", execution["id"], run["id"]))["state"] == "verified")

    await eventually(is_verified)
    await recorder.record("GetHealing", execution["id"], run["id"])


async def cancel_execution(story: Story) -> None:
    """One that would take minutes, and another one that waits for it: the organisation has one run at a time."""
    recorder = story.recorder
    app = await _app(story, "Slow", paced_app_model(seconds=30))
    test = await _attached(story, app, "Wait", ["Launch the app", *['I see "Log in"'] * 10])
    execution = await recorder.call("StartTest", sent=Sent(json={"test_id": test["id"]}))

    async def is_running() -> bool:
        return bool((await recorder.call("GetExecution", execution["id"]))["status"] == "running")

    await eventually(is_running)
    waiting = await recorder.call("StartTest", sent=Sent(json={"test_id": story.log_in["id"]}))
    await recorder.record("ListQueuedRuns")
    await eventually(lambda: _is_shown_busy(recorder))
    await recorder.record("ListWorkers")
    await recorder.record("CancelExecution", execution["id"], sent=Sent(json={}))
    await story.ended(waiting["id"])


async def upload_in_parts(story: Story) -> None:
    """A file that is sent in parts, and one that is given up."""
    recorder = story.recorder
    app = await recorder.call("CreateApp", sent=Sent(json={"name": "Notes", "platform": "Android"}))
    digest = sha256(TWO_BUTTONS).hexdigest()
    file = {"sha256": digest, "size_bytes": len(TWO_BUTTONS)}
    upload = await recorder.record("StartUpload", app["id"], sent=Sent(json=file))
    part = Sent(file=File("part-1", TWO_BUTTONS), headers={"Content-Type": "application/octet-stream"})
    await recorder.record("PutUploadPart", upload["id"], "1", sent=part, sha256=digest)
    await recorder.record("GetUpload", upload["id"])
    build = {"version": "1.0.0", "file_name": "notes.yaml"}
    await recorder.record("CompleteUpload", upload["id"], sent=Sent(json=build))
    other = await recorder.call("StartUpload", app["id"], sent=Sent(json=file))
    await recorder.record("DeleteUpload", other["id"])


async def _is_shown_busy(recorder: Recorder) -> bool:
    """Whether the list of the workers, which is some seconds old, has a run."""
    return any(worker["running"] for worker in (await recorder.call("ListWorkers"))["items"])


async def _app(story: Story, name: str, model: bytes) -> Any:
    app = await story.recorder.call("CreateApp", sent=Sent(json={"name": name, "platform": "Android"}))
    form: dict[str, str | File] = {"version": "1.0.0", "file": File("model.yaml", model)}
    await story.recorder.call("CreateBuild", app["id"], sent=Sent(form=form))
    return app


async def _attached(story: Story, app: Any, name: str, steps: list[Any]) -> Any:
    test = await story.recorder.call("CreateTest", sent=Sent(json={"name": name, "steps": steps}))
    await story.recorder.call("AttachTest", app["id"], test["id"], sent=Sent(json={}))
    return test
