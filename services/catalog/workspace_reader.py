"""Reads the archives of workspaces in child processes: thousands of files take seconds of CPU."""

import json
import os
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mobiletest_automation.app_files.archive_limits import HostileArchive
from mobiletest_automation.flows.workspace import FoundWorkspace, InvalidWorkspace, WorkspaceFlow, find_flows
from mobiletest_automation.flows.workspace_config import Remark
from mobiletest_automation.flows.workspace_media import FILE_BYTES, MediaFile
from services.catalog.inspection.workspace_archive import open_archive, read_file
from services.catalog.model.values import InvalidValue
from services.chassis.child_pool import ChildPool, JobFailed, JobLimits
from services.chassis.child_process import preload
from services.chassis.context import current
from services.chassis.fair_turns import FairTurns

LIMITS = JobLimits(cpu_seconds=30, wall_seconds=120, memory_bytes=256 * 2**20, answer_bytes=FILE_BYTES + 2**20)
CHILDREN = 2


class ChildWorkspaceReader:
    """Reads each workspace in a child of its own. An organisation occupies at most one of them."""

    def __init__(self, limits: JobLimits = LIMITS) -> None:
        preload(__name__)
        turns = FairTurns(CHILDREN, per_org=1, waiting_per_org=8, waiting=32)
        self._children = ChildPool("workspaces", answer, turns, limits)

    async def read(self, path: Path) -> FoundWorkspace:
        """See the port."""
        return parse_answer(await self._call(os.fsencode(path)))

    async def read_file(self, path: Path, name: str) -> bytes:
        """See the port."""
        return await self._call(b"\0".join((os.fsencode(path), name.encode())))

    async def _call(self, request: bytes) -> bytes:
        try:
            return await self._children.call(current().org_id, request)
        except JobFailed as failure:
            raise InvalidValue(
                "file", f"reading the folder failed: {failure}; import it in parts", "too_long"
            ) from None


def parse_answer(text: bytes) -> FoundWorkspace:
    """The workspace that a child answers with.

    Raises:
        InvalidValue: it refuses it.
    """
    found = json.loads(text)
    if "kind" in found:
        raise InvalidValue("file", found["message"], found["kind"])
    return FoundWorkspace(
        flows=tuple(
            WorkspaceFlow(
                path, name, tuple(tags), steps, tuple(MediaFile(*file) for file in files), _remarks(problems), positions
            )
            for path, name, tags, steps, files, problems, positions in found["flows"]
        ),
        notices=_remarks(found["notices"]),
        order=tuple(found["order"]),
        continue_on_failure=found["continue_on_failure"],
        is_part=found["is_part"],
    )


def answer(request: bytes) -> bytes:
    """What a child does with the path of an archive: the workspace in it as JSON, or why it is refused.

    With a NUL and the path of a file in the workspace after it: the content of the file.
    """
    path, _, name = request.partition(b"\0")
    if name:
        return read_file(os.fsdecode(path), name.decode())
    try:
        found = read_workspace(os.fsdecode(path))
    except HostileArchive as problem:
        found = {"kind": "hostile_archive", "message": str(problem)}
    except InvalidWorkspace as problem:
        found = {"kind": "workspace", "message": _sentence(problem.remark)}
    return json.dumps(found).encode()


def read_workspace(path: str) -> dict[str, Any]:
    """The workspace in an archive, as JSON values.

    Raises:
        HostileArchive: the archive exceeds a limit, or is made to deceive.
        InvalidWorkspace: the files make no workspace.
    """
    with open_archive(path) as files:
        found_workspace = find_flows(files.workspace)
    return {
        "flows": [_entry(flow) for flow in found_workspace.flows],
        "notices": _values(found_workspace.notices),
        "order": found_workspace.order,
        "continue_on_failure": found_workspace.continue_on_failure,
        "is_part": found_workspace.is_part,
    }


def _entry(flow: WorkspaceFlow) -> tuple[str, str, tuple[str, ...], str, list[Any], list[Any], str]:
    return (
        flow.path,
        flow.name,
        flow.tags,
        flow.steps,
        _values(flow.files),
        _values(flow.problems),
        flow.positions,
    )


def _values(rows: Iterable[Remark | MediaFile]) -> list[Any]:
    return [list(asdict(row).values()) for row in rows]


def _remarks(values: Iterable[Any]) -> tuple[Remark, ...]:
    return tuple(Remark(*each) for each in values)


def _sentence(remark: Remark) -> str:
    if remark.line is None:
        return remark.message
    return f"{remark.file}, line {remark.line}, column {remark.column}: {remark.message}"
