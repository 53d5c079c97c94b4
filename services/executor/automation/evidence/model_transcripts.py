"""Stores the conversations with models as evidence of the steps that they were about."""

from collections import defaultdict

from services.executor.automation.evidence.recorder import PNG, StepRecorder
from services.executor.automation.ports import ModelSession

JSON_LINES = "application/x-ndjson"


class TranscriptRecorder:
    """Of one attempt. What is said in a step inside another step belongs to the inner one."""

    def __init__(self, recorder: StepRecorder, session: ModelSession | None) -> None:
        self._recorder = recorder
        self._session = session
        self._lines: defaultdict[int, bytes] = defaultdict(bytes)
        self._pictures: defaultdict[int, list[tuple[str, bytes]]] = defaultdict(list)

    def collect(self, index: int) -> None:
        """What was said since the last call belongs to this step."""
        if self._session is not None:
            transcript = self._session.take_transcript()
            self._lines[index] += transcript.lines
            self._pictures[index] += transcript.pictures

    async def store(self, index: int) -> None:
        """Store what was said in this step, if anything was."""
        self.collect(index)
        for name, content in self._pictures.pop(index, ()):
            await self._recorder.store(f"step-{index:03d}-{name}", "screenshot", content, PNG)
        if lines := self._lines[index]:
            await self._recorder.store(f"step-{index:03d}-model.jsonl", "transcript", lines, JSON_LINES)
