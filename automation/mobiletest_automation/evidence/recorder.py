"""Records an attempt: its steps in order, their artifacts, and the transcripts of models."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from time import monotonic

from mobiletest_automation.devices.port import PageSource, Recording
from mobiletest_automation.flows.positions import UNKNOWN_SOURCE, FlowSource
from mobiletest_automation.flows.step_places import NO_PLACES, StepPlace
from mobiletest_automation.flows.steps import Step
from mobiletest_automation.flows.texts import cut, shorten
from mobiletest_automation.model.failures import Category, Failure
from mobiletest_automation.model.results import Artifact, Resolution, ScreenArea, StepResult, StepScreen, StepStatus
from mobiletest_automation.model_ports import ModelSession
from mobiletest_automation.outcome import ResolutionCost, StepFailed, StepOutcome
from mobiletest_automation.ports import EvidenceStore, OnProgress
from mobiletest_automation.screen.elements import Element
from mobiletest_automation.secret_texts import SecretTexts
from mobiletest_automation.sentences.intents import Action

# How many steps of an attempt are recorded; of long repetitions only some rounds are.
STEPS_LIMIT = 2_000

# How many characters the texts of an attempt's steps have together; further ones are shortened to SHORT_TEXT.
TEXTS_LIMIT = 512 * 1024
SHORT_TEXT = 100

# How much an attempt may store.
ARTIFACTS_LIMIT = 500
ARTIFACT_BYTES_LIMIT = 256 * 1024 * 1024

# How long a step is under way before that is reported: most have ended by then, which is reported at once.
UNDER_WAY_SECONDS = 0.25

PNG = "image/png"
TEXT = "text/plain; charset=utf-8"
JSON_LINES = "application/x-ndjson"
_EXTENSIONS = {"application/xml": "xml", "text/xml": "xml", "text/html": "html", "application/json": "json"}


def kind_of(name: str, content_type: str) -> str:
    """The kind of an artifact of which only the rest is known."""
    if content_type == PNG:
        return "screenshot"
    if content_type == JSON_LINES:
        return "transcript"
    if content_type.startswith(("text/", "application/")):
        return "log" if name.endswith("-log.txt") else "tree"
    return "recording"


class StepRecorder:
    """Steps begin in order, and each ends once; `steps` and `artifacts` can be read at any time."""

    def __init__(
        self,
        *,
        attempt: int,
        evidence: EvidenceStore,
        now: Callable[[], datetime],
        progress: OnProgress | None,
        secrets: SecretTexts | None = None,
        source: FlowSource = UNKNOWN_SOURCE,
        places: Mapping[str, StepPlace] = NO_PLACES,
    ) -> None:
        """`secrets` are masked in everything that is recorded; `source` says where the steps are written, and `places`
        which ones they are, by their paths.
        """
        self.secrets = SecretTexts() if secrets is None else secrets
        self.source = source
        self._places = places
        self._rounds: tuple[int, ...] = ()
        self._paths: dict[int, str] = {}
        self._characters = 0
        self._masked_texts = 0
        self._attempt = attempt
        self._evidence = evidence
        self._now = now
        self._progress = progress
        self._timer: asyncio.TimerHandle | None = None
        self._reporting: asyncio.Task[None] | None = None
        self._began: dict[int, float] = {}
        self._remarks: dict[int, list[str]] = {}
        self._cache_failures: set[int] = set()
        self.steps: list[StepResult] = []
        self.artifacts: list[Artifact] = []
        self.open: list[int] = []
        self.human_helped = False

    @property
    def cache_failed(self) -> bool:
        """Whether a step failed by a cached action, and that failure was not tolerated."""
        return any(self.steps[index].status is StepStatus.FAILED for index in self._cache_failures)

    def _mask_again(self) -> None:
        """Mask what was found to be secret only after it was recorded."""
        if self._masked_texts == len(self.secrets):
            return
        self._masked_texts, mask = len(self.secrets), self.secrets.mask
        for index, step in enumerate(self.steps):
            masked = replace(step, text=mask(step.text), message=mask(step.message), element=mask(step.element))
            if masked != step:
                self.steps[index] = masked

    def _fit(self, text: str) -> str:
        """The text without what is secret, whole as long as there is room for it: the attempt is one document."""
        masked = self.secrets.mask(text)
        if self._characters + len(masked) > TEXTS_LIMIT:
            masked = shorten(masked, SHORT_TEXT)
        self._characters += len(masked)
        return masked

    def forget_steps(self, first: int) -> None:
        """Forget the steps from this index on, all of which have ended: a later round is recorded in their place."""
        self._characters -= sum(len(step.text) + len(step.message) + len(step.element) for step in self.steps[first:])
        del self.steps[first:]
        self._cache_failures = {index for index in self._cache_failures if index < first}

    @contextmanager
    def in_round(self, number: int) -> Iterator[None]:
        """The steps inside are those of a round of a loop, or of a try, counted from 1."""
        outer = self._rounds
        self._rounds = (*outer, number)
        try:
            yield
        finally:
            self._rounds = outer

    def begin(self, step: Step, depth: int) -> int:
        """The index of the step, which is running until it ends."""
        index, place = len(self.steps), self._places.get(step.path)
        self.steps.append(
            StepResult(
                index=index,
                kind=step.name,
                text=self._fit(step.title),
                status=StepStatus.RUNNING,
                started_at=self._now(),
                depth=depth,
                position=self.source.steps.get(step.path),
                place=replace(place, rounds=self._rounds) if place is not None and self._rounds else place,
            )
        )
        self._paths[index] = step.path
        self._began[index] = monotonic()
        self.open.append(index)
        self._report_later()
        return index

    async def close(self) -> None:
        """Report nothing more."""
        if self._timer is not None:
            self._timer.cancel()
        if self._reporting is not None:
            self._reporting.cancel()
            await asyncio.wait({self._reporting})

    def _report_later(self) -> None:
        """Report what has changed since the last report, unless another step begins or ends before."""
        if self._timer is not None:
            self._timer.cancel()
        if self._progress is not None:
            self._timer = asyncio.get_running_loop().call_later(UNDER_WAY_SECONDS, self._report_soon)

    def _report_soon(self) -> None:
        if self._reporting is None or self._reporting.done():
            self._reporting = asyncio.create_task(self._report_under_way())

    async def _report_under_way(self) -> None:
        self._mask_again()
        with suppress(OSError):  # the worker is gone, which the attempt notices itself
            await self._report()

    def failure(self, index: int, failed: StepFailed) -> Failure:
        """Why the attempt fails, unless something tolerates that this step did."""
        position, run_from = self.source.locate(self._paths[index], failed.path)
        kind = "" if failed.of_app else self.steps[index].kind
        return Failure(failed.category, failed.message, failed.reason, index, kind, position, run_from)

    def add_cost(self, index: int, cost: ResolutionCost) -> None:
        """What finding the step's action has cost; the costs of a step that is tried again are added up."""
        if cost.cache_failed:
            self._cache_failures.add(index)
        step = self.steps[index]
        self.steps[index] = replace(
            step,
            cache=cost.cache,
            resolution=cost.resolution,
            model_calls=step.model_calls + cost.model_calls,
            model_tokens=step.model_tokens + cost.model_tokens,
        )

    def remark(self, text: str) -> None:
        """Add a remark to the step under way."""
        if self.open:
            self.add_remark(self.open[-1], text)

    def record_help(self, index: int, *, instead: bool) -> None:
        """A person's answer let the step continue; `instead`: by an action that is none of the test's steps."""
        self.human_helped = True
        if instead:
            self.steps[index] = replace(self.steps[index], place=None)

    async def pass_step(self, index: int, outcome: StepOutcome) -> None:
        await self._end(
            index,
            status=StepStatus.PASSED,
            message=outcome.message,
            action="" if outcome.action == Action.NONE else str(outcome.action),
            element=_describe(outcome.element),
            resolution=outcome.resolution,
        )

    async def pass_container(self, index: int, message: str) -> None:
        """A step that holds other steps passes: it has no action of its own."""
        await self._end(index, status=StepStatus.PASSED, message=message)

    async def skip_step(self, index: int, message: str) -> None:
        await self._end(index, status=StepStatus.SKIPPED, message=message, resolution=None)

    async def fail_step(
        self,
        index: int,
        failed: StepFailed,
        *,
        resolution: Resolution | None = None,
        screenshot: str,
        tree: str,
        element_area: ScreenArea | None = None,
    ) -> None:
        await self._end(
            index,
            status=StepStatus.FAILED,
            category=failed.category,
            message=failed.message,
            element=_describe(failed.element),
            resolution=resolution or self.steps[index].resolution,
            screenshot=screenshot,
            tree=tree,
            element_area=element_area,
        )

    async def fail_container(self, index: int, failure: Failure) -> None:
        """A step ends as a step inside it did, and shows the evidence of that one."""
        inner = self.steps[failure.step_index] if failure.step_index is not None else self.steps[index]
        failed = StepFailed(failure.category, failure.message)
        area = inner.element_area
        await self.fail_step(index, failed, screenshot=inner.screenshot, tree=inner.tree, element_area=area)

    async def interrupt(self, failed: StepFailed, *, screenshot: str, tree: str) -> None:
        """End the steps that are still open, because the attempt ends."""
        for index in list(self.open):
            await self.fail_step(index, failed, screenshot=screenshot, tree=tree)

    def tolerate_failures(self, first: int, categories: Collection[Category]) -> None:
        """Failures of these categories from this index on become warnings: of an optional step, or tried again."""
        for index in range(first, len(self.steps)):
            if self.steps[index].status is StepStatus.FAILED and self.steps[index].category in categories:
                self.steps[index] = replace(self.steps[index], status=StepStatus.WARNED)

    def add_remark(self, index: int, *remarks: str) -> None:
        """Text for the end of the step's message."""
        if remarks:
            self._remarks.setdefault(index, []).extend(remarks)

    async def store_screenshot(self, index: int | None, content: bytes, name: str | None = None) -> str:
        """The name of the artifact, or "" if it could not be stored: a verdict does not depend on it."""
        base = f"{_step_prefix(index)}-{_safe_filename(self.secrets.mask(name or ''))}".rstrip("-")
        return await self.store(f"{base}.png", "screenshot", content, PNG)

    async def store_pictures(self, index: int, pictures: Mapping[str, bytes]) -> None:
        """Store pictures by their names, and name them at the end of the step's message."""
        for name, content in pictures.items():
            stored = await self.store_screenshot(index, content, name)
            self.add_remark(index, f"see {stored}" if stored else f"the picture {name} could not be stored")

    async def store_recording(self, index: int | None, name: str, recording: Recording) -> str:
        """The name of the artifact, or ""."""
        ending = recording.content_type.rpartition("/")[2]
        base = f"{_step_prefix(index)}-{_safe_filename(self.secrets.mask(name))}".rstrip("-")
        return await self.store(f"{base}.{ending}", "recording", recording.content, recording.content_type)

    async def store_page_source(self, index: int | None, source: PageSource) -> str:
        """The UI tree of a screen, as the driver gave it; the name of the artifact, or ""."""
        ending = _EXTENSIONS.get(source.content_type.partition(";")[0].strip().lower(), "txt")
        content_type = TEXT if ending == "txt" else _with_charset(source.content_type)
        content = self.secrets.mask(source.content).encode(errors="replace")
        return await self.store(f"{_step_prefix(index)}-tree.{ending}", "tree", content, content_type)

    async def store_log(self, text: str) -> str:
        """The device's log of the attempt; the name of the artifact, or ""."""
        return await self.store("log.txt", "log", self.secrets.mask(text).encode(errors="replace"), TEXT)

    async def store(self, name: str, kind: str, content: bytes, content_type: str) -> str:
        """Store an artifact under a name that is unique within the attempt; its name within the run, or ""."""
        name = f"attempt-{self._attempt}-{name}"
        others = [artifact for artifact in self.artifacts if artifact.name != name]
        size = len(content)
        if len(others) >= ARTIFACTS_LIMIT or sum(a.size_bytes for a in others) + size > ARTIFACT_BYTES_LIMIT:
            return ""
        try:
            size = await self._evidence.keep(name, content, content_type)
        except Exception:
            return ""
        self.artifacts[:] = [*others, Artifact(name=name, kind=kind, content_type=content_type, size_bytes=size)]
        return name

    async def attach_captures(self, index: int, outcome: StepOutcome) -> None:
        """Store the picture that the step took, if it took one, and the recording that it has stopped."""
        if outcome.recording is not None:
            stored = await self.store_recording(index, outcome.recording_name, outcome.recording)
            self.add_remark(index, f"see {stored}" if stored else "the recording could not be stored")
        if outcome.screenshot is None:
            return
        name = await self.store_screenshot(index, outcome.screenshot, outcome.screenshot_name)
        if not name:
            self.add_remark(index, "the screenshot could not be stored")
        self.steps[index] = replace(self.steps[index], screenshot=name)

    def set_screen(self, index: int, screen: StepScreen) -> None:
        """The screen that a step found, which may become known after the step's end: then the next report has it."""
        if index >= len(self.steps):
            return  # forgotten
        mask, element = self.secrets.mask, screen.element
        if element is not None:
            element = replace(
                element,
                id=mask(element.id),
                label=mask(element.label),
                text=mask(element.text),
                hint=mask(element.hint),
                ancestors=tuple(map(mask, element.ancestors)),
            )
        self.steps[index] = replace(self.steps[index], screen=replace(screen, element=element, lost=mask(screen.lost)))
        self._report_later()

    def settle_screens(self, stored: Collection[str], lost: Mapping[str, str]) -> None:
        """Name only the screens that are stored, and say of the others why they are `lost`, by their hashes."""
        for index, step in enumerate(self.steps):
            if step.screen is not None:
                hashes = (step.screen.tree, step.screen.picture)
                tree, picture = (hash_ if hash_ in stored else "" for hash_ in hashes)
                why = "; ".join(dict.fromkeys(filter(None, (step.screen.lost, *map(lost.get, hashes)))))
                screen = replace(step.screen, tree=tree, picture=picture, lost=why)
                self.steps[index] = replace(step, screen=screen)

    async def _report(self) -> None:
        if self._progress is not None:
            await self._progress(tuple(self.steps), tuple(self.artifacts))

    async def _end(self, index: int, **fields: object) -> None:
        if index in self._remarks:
            remarks = f"({'; '.join(self._remarks.pop(index))})"
            fields["message"] = f"{fields.get('message') or ''} {remarks}".strip()
        self._mask_again()
        for name in ("message", "element"):
            fields[name] = self._fit(str(fields.get(name) or ""))
        took = round(monotonic() - self._began.pop(index), 3)
        self.steps[index] = replace(self.steps[index], duration_seconds=took, **fields)  # type: ignore[arg-type]
        self.open.remove(index)
        if self._timer is not None:
            self._timer.cancel()
        await self._report()


def _with_charset(content_type: str) -> str:
    """Artifacts are stored as UTF-8, whatever charset the page declares."""
    return content_type if "charset" in content_type or "/xml" in content_type else f"{content_type}; charset=utf-8"


def _step_prefix(index: int | None) -> str:
    """The step's part of an artifact's name; what belongs to no step is of the end of the attempt."""
    return "end" if index is None else f"step-{index:03d}"


def _describe(element: Element | None) -> str:
    return element.describe() if element is not None else ""


def _safe_filename(name: str) -> str:
    """The name with other characters than letters, digits, "-" and "_" replaced."""
    return "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "-" for c in cut(name, 60)).strip("-")


class TranscriptRecorder:
    """Of one attempt. What is said in a step inside another step belongs to the inner one."""

    def __init__(self, recorder: StepRecorder, session: ModelSession | None) -> None:
        self._recorder = recorder
        self._session = session
        self._lines: defaultdict[int, bytes] = defaultdict(bytes)
        self._pictures: defaultdict[int, list[tuple[str, bytes]]] = defaultdict(list)

    def forget_steps(self, first: int) -> None:
        """Forget the steps from this index on, and what was said in them."""
        self._recorder.forget_steps(first)
        for index in [index for index in self._lines if index >= first]:
            del self._lines[index]

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
