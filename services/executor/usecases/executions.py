"""Reads, watches, cancels and answers executions."""

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from hashlib import sha256

from mobiletest.types.v1.byte_range_pb2 import ByteRange

from mobiletest_automation.model.results import Artifact, ArtifactGone
from services.chassis.byte_ranges import FilePart, find_part
from services.chassis.context import current
from services.chassis.errors import NotFound, PermissionDenied
from services.chassis.events import Event
from services.executor.model.executions import Execution
from services.executor.model.run_groups import RunGroup
from services.executor.model.runs import Run
from services.executor.ports.executions import ChangeNotifications, ExecutionFilter, ExecutionPage, Executions, Page
from services.executor.ports.runs import StoredArtifacts
from services.executor.usecases.starts import SECRETS_SCOPE

LOG_PAGE = 200
# Changes are notified; this is how long one whose notification is lost stays unnoticed.
LOOK_SECONDS = 5.0
# What reads a variable, and what stands for a text of a password field.
_VARIABLE = re.compile(r"\$\{|\[hidden \d+\]", re.ASCII)
_NO_VARIABLES = (
    f"an answer that reads variables (${{...}}) needs the scope {SECRETS_SCOPE}, because they may be secrets: "
    "add it, or write the text itself"
)


@dataclass(frozen=True, slots=True)
class ArtifactDownload:
    """An artifact, its ETag without quotes, and the chunks of the part that was asked for.

    `part` is None for a whole artifact whose size is not known: the screenshot of an open question. `object_key` is its
    key in the object store, None for an artifact that is gone.
    """

    artifact: Artifact
    etag: str
    part: FilePart | None
    object_key: str | None
    chunks: AsyncIterator[bytes]


@dataclass(frozen=True, slots=True)
class NewSteps:
    """Runs under way whose steps have changed."""

    run_ids: Sequence[str]


class ExecutionControl:
    """Existing executions of the caller's organisation."""

    def __init__(
        self,
        executions: Executions,
        changes: ChangeNotifications,
        artifacts: StoredArtifacts,
        *,
        look_seconds: float = LOOK_SECONDS,
    ) -> None:
        self._executions = executions
        self._changes = changes
        self._artifacts = artifacts
        self._look_seconds = look_seconds

    async def get(self, execution_id: str, *, wait: float = 0, after_revision: int | None = None) -> Execution:
        """The execution. Waits up to `wait` seconds for a revision above `after_revision` or the execution's end."""
        loop = asyncio.get_running_loop()
        until = loop.time() + wait
        with self._changes.subscribe(execution_id) as subscription:
            execution = await self._executions.get(execution_id)
            seen = execution.revision if after_revision is None else after_revision
            while not execution.status.terminal and execution.revision <= seen and loop.time() < until:
                await subscription.wait(min(until - loop.time(), self._look_seconds))
                execution = await self._executions.get(execution_id)
        return execution

    async def batch(self, execution_ids: Sequence[str]) -> list[Execution]:
        """Those that exist, in the order of the ids."""
        return await self._executions.batch(execution_ids)

    async def page(self, wanted: ExecutionFilter, page: Page) -> ExecutionPage:
        """A page of the matching executions, and how many match."""
        return await self._executions.page(wanted, page)

    async def runs(self, execution_id: str, page: Page) -> tuple[Execution, list[Run], int]:
        """The execution, a page of its runs without steps, and how many runs it has."""
        execution = await self._executions.get(execution_id)
        return execution, *await self._executions.runs(execution_id, page)

    async def worst_runs(self, execution_id: str, page: Page) -> tuple[Execution, list[Run], Sequence[RunGroup]]:
        """The execution, a page of its runs with the worst first, and the groups of all its runs."""
        execution = await self._executions.get(execution_id)
        return execution, *await self._executions.worst_runs(execution_id, page)

    async def run(self, execution_id: str, run_id: str) -> tuple[Execution, Run]:
        """The execution and one of its runs with steps."""
        execution = await self._executions.get(execution_id)
        return execution, await self._executions.run(execution_id, run_id)

    async def cancel(self, execution_id: str) -> Execution:
        """Request cancellation: waiting runs end at once, running ones within seconds."""
        return await self._executions.cancel(execution_id)

    async def answer(self, execution_id: str, run_id: str, question_id: str | None, text: str) -> tuple[Execution, Run]:
        """Answer what a run asks a person; it continues within a second.

        `text` is one of the options or a step; `question_id` None means the open question.

        Raises:
            NotFound: it does not exist.
            FailedPrecondition: the run asks nothing, or no longer this question.
            PermissionDenied: the step reads variables, and the caller may not write.
        """
        execution, text = await self._executions.get(execution_id), text.strip()
        if _VARIABLE.search(text) and SECRETS_SCOPE not in current().scopes:
            question = (await self._executions.run(execution_id, run_id)).open_question
            if question is None or text not in question.prompt.options:
                raise PermissionDenied(_NO_VARIABLES, reason="SCOPE_MISSING", metadata={"scope": SECRETS_SCOPE})
            question_id = question_id or question.prompt.id  # not one that is asked meanwhile
        return execution, await self._executions.answer(execution_id, run_id, question_id, text)

    async def junit(self, execution_id: str, base_url: str = "") -> bytes:
        """The execution as JUnit XML, with links to the dashboard at `base_url`."""
        from services.executor import junit  # with junitparser and lxml 5 MiB, for few requests

        execution = await self._executions.get(execution_id)
        return junit.render(execution, await self._executions.all_runs(execution_id), base_url)

    async def artifact(
        self, execution_id: str, run_id: str, name: str, asked: ByteRange | None = None
    ) -> ArtifactDownload:
        """An artifact of a run, by its name within the run, or the part of it that was asked for.

        Raises:
            NotFound: there is no such run, or it has no such artifact.
            InvalidArgument: as in `find_part`.
        """
        attempt, artifact = _find_artifact(await self._executions.run(execution_id, run_id), name)
        key = f"{run_id}/{attempt}/{name}/{artifact.size_bytes}"
        etag = sha256(key.encode()).hexdigest()[:32]  # what is stored under a name never changes
        part = find_part(asked, size=artifact.size_bytes, etag=etag) if artifact.size_bytes else None
        object_key = None if artifact.gone else self._artifacts.object_key(run_id, attempt, name)
        return ArtifactDownload(artifact, etag, part, object_key, self._content(run_id, attempt, artifact, part))

    async def _content(
        self, run_id: str, attempt: int, artifact: Artifact, part: FilePart | None
    ) -> AsyncIterator[bytes]:
        """NotFound says whether the artifact is gone or may still arrive."""
        if artifact.gone is ArtifactGone.EXPIRED:
            raise NotFound("Artifact expired: artifacts of old runs are deleted", reason="ARTIFACT_EXPIRED")
        if artifact.gone is ArtifactGone.MISSING:
            message = "Artifact missing: the artifact store was unavailable for too long"
            raise NotFound(message, reason="ARTIFACT_MISSING")
        try:
            async for chunk in self._artifacts.read(run_id, attempt, artifact.name, part):
                yield chunk
        except NotFound as error:
            message = "Artifact not stored yet: it is uploaded when the artifact store is available again"
            raise NotFound(message, reason="ARTIFACT_NOT_STORED") from error

    async def watch(
        self, execution_id: str, after: int, *, steps: bool = False
    ) -> AsyncIterator[Event | Execution | NewSteps | None]:
        """Every event of the execution with a sequence number above `after`, until the execution ends.

        When the events are no longer stored, yields only the ended execution. None after each look without news. With
        `steps` also new steps.
        """
        loop = asyncio.get_running_loop()
        await self._executions.get(execution_id)
        with self._changes.subscribe(execution_id, steps=steps) as subscription:
            while True:
                execution = await self._executions.get(execution_id)
                events = await self._executions.log(execution_id, after, LOG_PAGE)
                for event in events:
                    after = event.sequence
                    yield event
                if not events and execution.status.terminal:
                    if after < execution.revision:
                        yield execution
                    return
                if not events:
                    yield None
                    until = loop.time() + self._look_seconds
                    while run_ids := await subscription.wait(until - loop.time()):
                        yield NewSteps(run_ids)


def _find_artifact(run: Run, name: str) -> tuple[int, Artifact]:
    """The number of the attempt that made the artifact, and the artifact. NotFound."""
    for attempt in run.attempts:
        for artifact in attempt.artifacts:
            if artifact.name == name:
                return attempt.number, artifact
    screenshot = run.question.screenshot_artifact if run.question is not None else None
    if screenshot is not None and screenshot.name == name:
        return run.attempt_number, screenshot
    raise NotFound("Artifact not found", reason="ARTIFACT_NOT_FOUND")
