"""Keeps what was said to models and by them as evidence of the step that it was said for."""

from collections import defaultdict

from services.executor.automation.evidence.recorder import PNG, StepRecorder
from services.executor.automation.ports import ModelSession

JSON_LINES = "application/x-ndjson"


class TranscriptRecorder:
    """One attempt's. What is said inside a step of a step belongs to the inner one."""

    def __init__(self, journal: StepRecorder, advisor: ModelSession | None) -> None:
        self._journal = journal
        self._advisor = advisor
        self._lines: defaultdict[int, bytes] = defaultdict(bytes)
        self._pictures: defaultdict[int, list[tuple[str, bytes]]] = defaultdict(list)

    def note(self, index: int) -> None:
        """What was said since this was done last was said for this step."""
        if self._advisor is not None:
            transcript = self._advisor.transcript()
            self._lines[index] += transcript.lines
            self._pictures[index] += transcript.pictures

    async def keep(self, index: int) -> None:
        """The step ends; nothing is kept when nothing was said."""
        self.note(index)
        for name, content in self._pictures.pop(index, ()):
            await self._journal.keep(f"step-{index:03d}-{name}", "screenshot", content, PNG)
        if lines := self._lines[index]:
            await self._journal.keep(f"step-{index:03d}-model.jsonl", "transcript", lines, JSON_LINES)
