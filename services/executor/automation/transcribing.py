"""Keeps what was said to models and by them as evidence of the step that it was said for."""

from services.executor.automation.journal import PNG, Journal
from services.executor.automation.ports import Advisor

JSON_LINES = "application/x-ndjson"


async def keep_transcript(journal: Journal, index: int, advisor: Advisor | None) -> None:
    """What was said since this was done last; nothing when nothing was."""
    if advisor is None:
        return
    transcript = advisor.transcript()
    for name, content in transcript.pictures:
        await journal.keep(f"step-{index:03d}-{name}", "screenshot", content, PNG)
    if transcript.lines:
        await journal.keep(f"step-{index:03d}-model.jsonl", "transcript", transcript.lines, JSON_LINES)
