"""Keeps the record of an attempt: its steps, in order, and what was kept of them."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from time import monotonic

from services.executor.automation.deeds import Deed
from services.executor.automation.elements import Element
from services.executor.automation.failing import FORGIVABLE
from services.executor.automation.ports import Evidence, Progress
from services.executor.automation.sentences.intents import Action
from services.executor.model.attempts import Artifact, Resolution, Step, StepStatus
from services.executor.model.failures import Category
from services.flows import commands as flows

STEPS_LIMIT = 2_000
"""How many steps an attempt may carry out, repetitions included."""

PNG = "image/png"


class Journal:
    """Steps are begun in order, and each is ended once; `steps` may be looked at between."""

    def __init__(
        self, *, attempt: int, evidence: Evidence, now: Callable[[], datetime], progress: Progress | None
    ) -> None:
        self._attempt = attempt
        self._evidence = evidence
        self._now = now
        self._progress = progress
        self._began: dict[int, float] = {}
        self.steps: list[Step] = []
        self.artifacts: list[Artifact] = []
        self.open: list[int] = []

    def begin(self, step: flows.Step, depth: int) -> int:
        """Its index. Until it ends it stands there as one that was not finished."""
        index = len(self.steps)
        self.steps.append(
            Step(
                index=index,
                kind=step.name,
                text=step.title,
                status=StepStatus.WARNED,
                started_at=self._now(),
                message="not finished",
                depth=depth,
            )
        )
        self._began[index] = monotonic()
        self.open.append(index)
        return index

    async def passed(self, index: int, deed: Deed | None = None, message: str = "") -> None:
        await self._end(
            index,
            status=StepStatus.PASSED,
            message=deed.message if deed is not None else message,
            action=_named(deed.action) if deed is not None else "",
            element=_described(deed.element) if deed is not None else "",
            resolution=deed.resolution if deed is not None else None,
        )

    async def skipped(self, index: int, message: str) -> None:
        await self._end(index, status=StepStatus.SKIPPED, message=message)

    async def failed(
        self,
        index: int,
        category: Category,
        message: str,
        *,
        element: Element | None = None,
        resolution: Resolution | None = None,
        screenshot: str = "",
    ) -> None:
        await self._end(
            index,
            status=StepStatus.FAILED,
            category=category,
            message=message,
            element=_described(element),
            resolution=resolution,
            screenshot=screenshot,
        )

    def forgive(self, first: int) -> None:
        """Failures from this index on are passed over: the step was optional, or has been tried again."""
        for index in range(first, len(self.steps)):
            if self.steps[index].status is StepStatus.FAILED and self.steps[index].category in FORGIVABLE:
                self.steps[index] = replace(self.steps[index], status=StepStatus.WARNED)

    async def picture(self, index: int, content: bytes, name: str | None = None) -> str:
        """Keep a screenshot; its name, or "" when it could not be kept: a verdict does not depend on it."""
        stem = f"step-{index:03d}" + (f"-{_plain(name)}" if name and _plain(name) else "")
        full_name = f"attempt-{self._attempt}-{stem}.png"
        try:
            await self._evidence.keep(full_name, content, PNG)
        except Exception:
            return ""
        self.artifacts.append(Artifact(name=full_name, kind="screenshot", content_type=PNG, size_bytes=len(content)))
        return full_name

    def note_picture(self, index: int, name: str) -> None:
        self.steps[index] = replace(self.steps[index], screenshot=name)

    async def interrupted(self, category: Category, message: str) -> None:
        """End what is still open: the attempt ends here."""
        for index in list(self.open):
            await self.failed(index, category, message)

    async def _end(self, index: int, **fields: object) -> None:
        took = round(monotonic() - self._began.pop(index), 3)
        self.steps[index] = replace(self.steps[index], duration_seconds=took, **fields)  # type: ignore[arg-type]
        self.open.remove(index)
        if self._progress is not None:
            await self._progress(tuple(self.steps))


def _named(action: Action) -> str:
    return "" if action is Action.NONE else str(action)


def _described(element: Element | None) -> str:
    return element.describe() if element is not None else ""


def _plain(name: str | None) -> str:
    """What of a name may stand in a file name."""
    return "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "-" for c in name or "")[:60].strip("-")
