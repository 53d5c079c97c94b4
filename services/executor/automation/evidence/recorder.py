"""Keeps the record of an attempt: its steps, in order, and what was kept of them."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from time import monotonic

from services.executor.automation.devices.port import PageSource
from services.executor.automation.outcome import RECOVERABLE, ResolutionCost, StepOutcome
from services.executor.automation.ports import EvidenceStore, OnProgress
from services.executor.automation.screen.elements import Element
from services.executor.automation.sentences.intents import Action
from services.executor.model.attempts import Artifact, Resolution, StepResult, StepStatus
from services.executor.model.failures import Category, Failure
from services.flows import steps as flows

STEPS_LIMIT = 2_000
"""How many steps an attempt may carry out, repetitions included."""

ARTIFACTS_LIMIT = 500
ARTIFACT_BYTES_LIMIT = 256 * 1024 * 1024
"""How much an attempt may keep."""

PNG = "image/png"
TEXT = "text/plain; charset=utf-8"
_EXTENSIONS = {"application/xml": "xml", "text/xml": "xml", "text/html": "html", "application/json": "json"}


class StepRecorder:
    """Steps are begun in order, and each is ended once; `steps` may be looked at between."""

    def __init__(
        self, *, attempt: int, evidence: EvidenceStore, now: Callable[[], datetime], progress: OnProgress | None
    ) -> None:
        self._attempt = attempt
        self._evidence = evidence
        self._now = now
        self._progress = progress
        self._began: dict[int, float] = {}
        self._remarks: dict[int, list[str]] = {}
        self.steps: list[StepResult] = []
        self.artifacts: list[Artifact] = []
        self.open: list[int] = []
        self.human_helped = False
        self._worn: set[int] = set()

    @property
    def cache_failed(self) -> bool:
        """Whether a remembered action failed a step, and nothing has passed over that."""
        return any(self.steps[index].status is StepStatus.FAILED for index in self._worn)

    def begin(self, step: flows.Step, depth: int) -> int:
        """Its index. Until it ends it stands there as one that was not finished."""
        index = len(self.steps)
        self.steps.append(
            StepResult(
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

    def account(self, index: int, took: ResolutionCost) -> None:
        """What finding a step's action has taken; of a step that is tried more than once all together."""
        if took.cache_failed:
            self._worn.add(index)
        step = self.steps[index]
        self.steps[index] = replace(
            step,
            cache=took.cache,
            model_calls=step.model_calls + took.model_calls,
            model_tokens=step.model_tokens + took.model_tokens,
        )

    async def passed(self, index: int, deed: StepOutcome | None = None, message: str = "") -> None:
        await self._end(
            index,
            status=StepStatus.PASSED,
            message=deed.message if deed is not None else message,
            action=_action_name(deed.action) if deed is not None else "",
            element=_describe(deed.element) if deed is not None else "",
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
        tree: str = "",
    ) -> None:
        await self._end(
            index,
            status=StepStatus.FAILED,
            category=category,
            message=message,
            element=_describe(element),
            resolution=resolution,
            screenshot=screenshot,
            tree=tree,
        )

    async def failed_within(self, index: int, failure: Failure) -> None:
        """A step ends as one inside it did, and shows what was seen of that."""
        inner = self.steps[failure.step_index] if failure.step_index is not None else self.steps[index]
        await self.failed(index, failure.category, failure.message, screenshot=inner.screenshot, tree=inner.tree)

    def forgive(self, first: int) -> None:
        """Failures from this index on are passed over: the step was optional, or has been tried again."""
        for index in range(first, len(self.steps)):
            if self.steps[index].status is StepStatus.FAILED and self.steps[index].category in RECOVERABLE:
                self.steps[index] = replace(self.steps[index], status=StepStatus.WARNED)

    async def picture(self, index: int | None, content: bytes, name: str | None = None) -> str:
        """Keep a screenshot; its name, or "" when it could not be kept: a verdict does not depend on it."""
        suffix = f"-{_safe_filename(name)}" if name and _safe_filename(name) else ""
        return await self._keep(f"{_step_prefix(index)}{suffix}.png", "screenshot", content, PNG)

    async def tree(self, index: int | None, source: PageSource) -> str:
        """Keep the UI tree of a screen, as the driver says it; its name, or ""."""
        ending = _EXTENSIONS.get(source.content_type.partition(";")[0].strip().lower(), "txt")
        content_type = TEXT if ending == "txt" else _with_charset(source.content_type)
        content = source.content.encode(errors="replace")
        return await self._keep(f"{_step_prefix(index)}-tree.{ending}", "tree", content, content_type)

    async def log(self, text: str) -> str:
        """Keep the device's log of the attempt; its name, or ""."""
        return await self._keep("log.txt", "log", text.encode(errors="replace"), TEXT)

    async def keep(self, stem: str, kind: str, content: bytes, content_type: str) -> str:
        """Keep something else, such as a model's transcript; `stem` is its name within the attempt."""
        return await self._keep(stem, kind, content, content_type)

    async def _keep(self, stem: str, kind: str, content: bytes, content_type: str) -> str:
        name = f"attempt-{self._attempt}-{stem}"
        others = [artifact for artifact in self.artifacts if artifact.name != name]
        size = len(content)
        if len(others) >= ARTIFACTS_LIMIT or sum(a.size_bytes for a in others) + size > ARTIFACT_BYTES_LIMIT:
            return ""
        try:
            await self._evidence.keep(name, content, content_type)
        except Exception:
            return ""
        self.artifacts[:] = [*others, Artifact(name=name, kind=kind, content_type=content_type, size_bytes=size)]
        return name

    def remark(self, index: int, *words: str) -> None:
        """Something to be said at the end of the step's message."""
        if words:
            self._remarks.setdefault(index, []).extend(words)

    def note_picture(self, index: int, name: str) -> None:
        if not name:
            self.remark(index, "the screenshot could not be kept")
        self.steps[index] = replace(self.steps[index], screenshot=name)

    async def interrupted(self, category: Category, message: str, *, screenshot: str = "", tree: str = "") -> None:
        """End what is still open: the attempt ends here."""
        for index in list(self.open):
            await self.failed(index, category, message, screenshot=screenshot, tree=tree)

    async def _end(self, index: int, **fields: object) -> None:
        if index in self._remarks:
            remarks = f"({'; '.join(self._remarks.pop(index))})"
            fields["message"] = f"{fields.get('message') or ''} {remarks}".strip()
        took = round(monotonic() - self._began.pop(index), 3)
        self.steps[index] = replace(self.steps[index], duration_seconds=took, **fields)  # type: ignore[arg-type]
        self.open.remove(index)
        if self._progress is not None:
            await self._progress(tuple(self.steps), tuple(self.artifacts))


def _with_charset(content_type: str) -> str:
    """What is stored is UTF-8, whatever the page says of itself."""
    return content_type if "charset" in content_type or "/xml" in content_type else f"{content_type}; charset=utf-8"


def _step_prefix(index: int | None) -> str:
    """The step's part of a name; what belongs to no step is of the end."""
    return "end" if index is None else f"step-{index:03d}"


def _action_name(action: str) -> str:
    return "" if action == Action.NONE else str(action)


def _describe(element: Element | None) -> str:
    return element.describe() if element is not None else ""


def _safe_filename(name: str | None) -> str:
    """What of a name may stand in a file name."""
    return "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "-" for c in name or "")[:60].strip("-")
