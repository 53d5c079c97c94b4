"""Results of runs without a server, in the shape in which a server gives them, and the files of their evidence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from mobiletest_automation.model.attempts import Attempt, simulation
from mobiletest_automation.model.states import RunCounts, Status, bucket, outcome
from mobiletest_automation.model.variants import EMPTY_VARIANT, Variant
from mobiletest_cli.names import unique_name
from mobiletest_cli.output import Output

if TYPE_CHECKING:
    from mobiletest_automation.junit import RunResult
    from mobiletest_automation.model.failures import Failure
    from mobiletest_automation.model.results import Artifact, StepResult
    from mobiletest_cli import api_types


REPORT = "report.html"
HELPED = "A person helped, so this says nothing of the flow as it was written."


@dataclass(frozen=True, kw_only=True)
class LocalRun:
    """A flow that is run here. `path` is that of its file in the workspace, which is the id of the test, too.

    `part` says which of its steps are run ("steps 3 to 5 of 9"); "" for all.
    """

    id: str
    name: str
    path: str
    part: str = ""
    variant: Variant = EMPTY_VARIANT
    platform: str
    version: str | None = None
    properties: tuple[tuple[str, str], ...] = ()
    status: Status = Status.QUEUED
    success: bool | None = None
    failure: Failure | None = None
    attempts: tuple[Attempt, ...] = ()
    started_at: datetime | None = None
    completed_at: datetime | None = None

    @property
    def human_helped(self) -> bool:
        """Whether a person's answer let a step continue."""
        return any(attempt.human_helped for attempt in self.attempts)

    @property
    def seconds(self) -> float | None:
        """How long it took, once it has ended."""
        if self.started_at is None or self.completed_at is None:
            return None
        return max(0.0, (self.completed_at - self.started_at).total_seconds())


class EvidenceFolder:
    """The port EvidenceStore: writes the artifacts of one run to files of a folder, which exists once there is one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.problem = ""
        self._files: dict[str, Path] = {}
        self._taken: set[str] = set()

    async def keep(self, name: str, content: bytes, content_type: str) -> int:
        """Write a file.

        Raises:
            OSError: it cannot be written: `problem` says why, and the verdict does not depend on it.
        """
        path = self._files.setdefault(name, self.folder / unique_name(name, self._taken))
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.write_bytes(content)
        except OSError as error:
            self.problem = f"{path}: the artifact cannot be written: {error.strerror}"
            raise
        return len(content)

    def path_of(self, name: str) -> str:
        """The file of an artifact; "" if there is none."""
        return str(self._files.get(name, ""))

    def delete(self) -> None:
        """Delete the files and the folder."""
        for path in self._files.values():
            path.unlink(missing_ok=True)
        if self.folder.is_dir() and not any(self.folder.iterdir()):
            self.folder.rmdir()


class LocalResults:
    """The port ResultSource on runs of this process. `runs` may change until the results are read."""

    def __init__(self, execution_id: str, name: str) -> None:
        self.execution_id = execution_id
        self.name = name
        self.created_at = datetime.now(UTC)
        self.runs: list[LocalRun] = []
        self.evidence_folders: dict[str, EvidenceFolder] = {}

    @property
    def counts(self) -> RunCounts:
        counts = RunCounts()
        for run in self.runs:
            counts = counts.added(bucket(run.status, run.success))
        return counts

    def execution(self, *, cancelled: bool = False) -> api_types.Execution:
        """The execution as the API returns it; `cancelled`: it was asked to stop."""
        counts = self.counts
        status, success = (Status.RUNNING, None) if counts.open else outcome(counts, cancel_requested=cancelled)
        now = None if counts.open else datetime.now(UTC)
        return {
            "id": self.execution_id,
            "task_id": self.execution_id,
            "kind": "test",
            "workflow_id": None,
            "workflow_name": None,
            "status": status.value,
            "success": success,
            "message": "",
            "source": "cli",
            "ci": None,
            "service_client": None,
            "run_config": None,
            "build_config": None,
            "counts": cast("api_types.RunCounts", asdict(counts)),
            "failure": None,
            "created_at": _time(self.created_at),
            "started_at": _time(self.created_at),
            "completed_at": _time(now),
            "execution_time_seconds": (now - self.created_at).total_seconds() if now else None,
            "cancel_requested_at": _time(now) if cancelled else None,
            "revision": 1,
            "priority": 0,
            "rerun_of": None,
            "superseded_by": None,
            "name": self.name,
            "shard": None,
        }

    def documents(self) -> list[api_types.Run]:
        """The runs as the API returns them."""
        return [self.document(run) for run in self.runs]

    def document(self, run: LocalRun) -> api_types.Run:
        """The run as the API returns it."""
        number = run.attempts[-1].number if run.attempts else 0
        notes = {"simulation": simulation(run.attempts, run.version), "partial": partial(run)}
        document: api_types.Run = {
            "id": run.id,
            "execution_id": self.execution_id,
            "test_id": run.path,
            "test_name": run.name,
            "test_version_number": 1,
            "app_id": None,
            "build_id": None,
            "resolved_build_version": run.version,
            "platform": cast("Any", run.platform),
            "status": run.status.value,
            "success": run.success,
            "source": "cli",
            "started_at": _time(run.started_at),
            "completed_at": _time(run.completed_at),
            "execution_time_seconds": run.seconds,
            "attempt_number": number,
            "attempts": [self._attempt(run, attempt) for attempt in run.attempts],
            "failure": _failure(run.failure),
            "metadata": None,
            "report_metadata": {"human_helped": True} if run.human_helped else None,
            "question": None,
            "source_path": run.path,
        }
        variant = {"variant": {**asdict(run.variant), "left_out": []}} if run.variant.id else {}
        return cast("api_types.Run", {**document, **variant, **{name: note for name, note in notes.items() if note}})

    def _attempt(self, run: LocalRun, attempt: Attempt) -> api_types.Attempt:
        built_in = {} if attempt.built_in_model is None else {"built_in_model": attempt.built_in_model}
        document = {
            "number": attempt.number,
            "worker": attempt.worker,
            "device": attempt.device,
            "simulated": attempt.simulated,
            "status": attempt.status.value,
            "success": attempt.success,
            "started_at": _time(attempt.started_at),
            "completed_at": _time(attempt.completed_at),
            "failure": _failure(attempt.failure),
            "steps": [_step(step) for step in attempt.steps],
            "artifacts": [self._artifact(run, artifact) for artifact in attempt.artifacts],
            "mode": attempt.mode.value,
            **built_in,
        }
        return cast("api_types.Attempt", document)

    def _artifact(self, run: LocalRun, artifact: Artifact) -> api_types.Artifact:
        folder = self.evidence_folders.get(run.id)
        return {
            "name": artifact.name,
            "kind": artifact.kind,
            "content_type": artifact.content_type,
            "size_bytes": artifact.size_bytes,
            "url": folder.path_of(artifact.name) if folder is not None else "",
            "gone": None,
        }

    def finish_evidence(self, output: Output) -> None:
        """Keep the files of runs that did not pass only, and say which could not be written."""
        for index, run in enumerate(self.runs):
            folder = self.evidence_folders.get(run.id)
            if folder is not None and folder.problem:
                output.warn(folder.problem)
            if folder is not None and run.success:
                folder.delete()
                self.runs[index] = replace(run, attempts=tuple(replace(each, artifacts=()) for each in run.attempts))

    def junit(self, execution_id: str) -> bytes:
        from mobiletest_automation import junit

        results = [_result(run, execution_id) for run in self.runs]
        title = self.name or execution_id
        properties = {"execution_id": execution_id, "status": str(self.execution()["status"]), "source": "cli"}
        return junit.render(
            junit.Results(name=title, title=title, created_at=self.created_at, properties=properties, runs=results)
        )

    def whole_run(self, run: api_types.Run) -> api_types.Run:
        return run

    def evidence(self, run: api_types.Run) -> Sequence[str]:
        """The screenshot and the tree of the failing step, the log, and the report if there is one."""
        artifacts = [artifact for attempt in run["attempts"][-1:] for artifact in attempt["artifacts"]]
        failed = _failing_step(run)
        named = {failed["screenshot"], failed["tree"]} if failed else set()
        shown = [each for each in artifacts if each["name"] in named or each["kind"] not in ("screenshot", "tree")]
        lines = [f"{each['kind']}: {each['url']}" for each in shown]
        return [*lines, *(f"report: {report}" for report in self._reports(run))]

    def save_artifacts(self, run: api_types.Run, folder: Path) -> Iterable[Path]:
        """Its files, which were written when they came."""
        artifacts = [each["url"] for attempt in run["attempts"] for each in attempt["artifacts"]]
        return [Path(path) for path in (*artifacts, *self._reports(run))]

    def _reports(self, run: api_types.Run) -> Sequence[str]:
        folder = self.evidence_folders.get(run["id"])
        return list(filter(None, [folder.path_of(REPORT)])) if folder is not None else []


def partial(run: LocalRun) -> str:
    """Why a run says nothing of the whole test, in sentences; "" if it does."""
    part = f"Only {run.part} ran, so this says nothing of the whole test." if run.part else ""
    return " ".join(filter(None, [part, HELPED if run.human_helped else ""]))


def _failing_step(run: api_types.Run) -> api_types.StepResult | None:
    failure, attempt = run["failure"], run["attempts"][-1] if run["attempts"] else None
    if failure is None or attempt is None:
        return None
    return next((step for step in attempt["steps"] if step["index"] == failure["step_index"]), None)


def _result(run: LocalRun, execution_id: str) -> RunResult:
    from mobiletest_automation.junit import RunResult

    ids = {"execution_id": execution_id, "run_id": run.id, "test_id": run.path, "file": run.path}
    tried = {"variant": run.variant.label, "platform": run.platform, "build_version": run.version}
    return RunResult(
        test_id=run.path,
        test_name=run.name,
        platform=run.platform,
        source_path=run.path,
        version=run.version,
        status=run.status,
        success=run.success,
        partial=partial(run),
        failure=run.failure,
        attempts=run.attempts,
        seconds=run.seconds,
        completed_at=run.completed_at,
        properties={**dict(run.properties), **ids, **tried},
    )


def _failure(failure: Failure | None) -> api_types.Failure | None:
    if failure is None:
        return None
    document = {
        "category": failure.category.value,
        "reason": failure.reason,
        "message": failure.message,
        "step_index": failure.step_index,
        "step_kind": failure.step_kind,
        "run_from": [asdict(position) for position in failure.run_from],
        **_position(failure.position),
    }
    return cast("api_types.Failure", document)


def _step(step: StepResult) -> api_types.StepResult:
    document = {
        **{name: getattr(step, name) for name in ("index", "kind", "text", "action", "element", "duration_seconds")},
        **{name: getattr(step, name) for name in ("message", "screenshot", "depth", "tree", "model_calls")},
        "model_tokens": step.model_tokens,
        "status": step.status.value,
        "resolution": step.resolution and step.resolution.value,
        "started_at": _time(step.started_at),
        "category": step.category and step.category.value,
        "cache": step.cache and step.cache.value,
        "element_area": asdict(step.element_area) if step.element_area else None,
        **_position(step.position),
    }
    return cast("api_types.StepResult", document)


def _position(position: Any) -> dict[str, Any]:
    return {} if position is None else {"position": asdict(position)}


def _time(moment: datetime | None) -> str | None:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z") if moment else None
