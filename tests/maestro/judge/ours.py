"""Runs flows here: read as a folder that is imported, and run by the attempt runner on a recording device."""

import asyncio
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from mobiletest_automation.attempt import AttemptRunner
from mobiletest_automation.attempt_request import AttemptRequest
from mobiletest_automation.devices.port import AppUnderTest
from mobiletest_automation.flows.loader import load_flow
from mobiletest_automation.flows.steps import Flow
from mobiletest_automation.flows.templates import is_template
from mobiletest_automation.flows.workspace_files import is_text
from mobiletest_automation.flows.workspace_media import WorkspaceMedia
from mobiletest_automation.model.failures import Category
from mobiletest_automation.model.results import AttemptResult
from mobiletest_automation.model.run_config import FallbackTrigger, RunConfig
from tests.fakes.devices import FakeDevices, FakeEvidence
from tests.maestro.judge.device import RecordingDevice
from tests.maestro.judge.flows import ANY_APP, JudgedFlow, Outcome, Verdict

REAL_SECONDS = 30


async def run(flow: JudgedFlow) -> Outcome:
    """The outcome of the flow as a test that the folder's import has made of it."""
    texts, others = _folder(flow.folder)
    loaded = load_flow(flow.text, texts, root=flow.path, path=flow.path, media=WorkspaceMedia(others))
    if loaded.flow is None:
        return Outcome("refused", (), "; ".join(map(str, loaded.problems)))
    app_id = _app_id(loaded.flow)
    device = RecordingDevice(flow, app_id)
    request = AttemptRequest(
        run_id=flow.id,
        flow_name=Path(flow.path).stem,
        attempt=1,
        platform="android",
        steps=loaded.steps,
        build=AppUnderTest(package_name=app_id if app_id != ANY_APP else None),
        config=RunConfig(fallback_trigger=FallbackTrigger.NEVER),
        env=flow.env,
        run_seconds=REAL_SECONDS,
    )
    runner = AttemptRunner(FakeDevices(device))
    try:
        result = await asyncio.wait_for(
            runner.run(request, evidence=FakeEvidence(), files=_Files(others)), 2 * REAL_SECONDS
        )
    except TimeoutError:
        return Outcome("unfinished", tuple(device.actions))
    return Outcome(_verdict(result), tuple(device.actions), result.failure.message if result.failure else "")


def _app_id(flow: Flow) -> str:
    """The id of the app under test, as the header names it; ANY_APP if none is named, or by variables."""
    named = next(iter(sorted(flow.app_ids)), "")
    return named if named and not is_template(named) else ANY_APP


def _verdict(result: AttemptResult) -> Verdict:
    if result.failure is None:
        return "passed"
    return "refused" if result.failure.category is Category.CONFIG_INVALID else "failed"


@cache
def _folder(folder: Path) -> tuple[Mapping[str, str], Mapping[str, bytes]]:
    """The texts and the other files of a folder, by their paths."""
    texts, others = dict[str, str](), dict[str, bytes]()
    for file in sorted(folder.rglob("*")):
        path = file.relative_to(folder).as_posix()
        if is_text(path):
            texts[path] = file.read_text()
        elif file.is_file():
            others[path] = file.read_bytes()
    return texts, others


class _Files:
    """The files of the folder that are no texts."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._files = files

    def __contains__(self, path: object) -> bool:
        return path in self._files

    async def read(self, path: str) -> bytes:
        return self._files[path]
