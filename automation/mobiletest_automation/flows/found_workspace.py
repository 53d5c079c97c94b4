"""What an import finds in a workspace: its flows with their steps as JSON text, or their problems, and notices."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from mobiletest_automation.flows.labels import NAME_LIMIT, InvalidLabel, clean_tags, clean_text
from mobiletest_automation.flows.workspace import InvalidWorkspace, Workspace, WorkspaceFlow, repeated_names
from mobiletest_automation.flows.workspace_config import Remark
from mobiletest_automation.flows.workspace_media import MediaFile

# Of one flow.
PROBLEMS_LIMIT = 20
NOTICES_LIMIT = 1_000
# Of all flows together, as JSON.
STEPS_BYTES = 8 * 2**20
# Of the positions of all flows together; those of further flows are left out.
POSITIONS_LENGTH = 4 * 2**20


@dataclass(frozen=True, slots=True)
class FoundFlow:
    """A flow of a workspace, its steps as JSON text, with the `files` that they need; or its problems.

    `positions` are those of the steps, as `positions.write_positions` writes them.
    """

    path: str
    name: str
    tags: tuple[str, ...]
    steps: str
    files: tuple[MediaFile, ...] = ()
    problems: tuple[Remark, ...] = ()
    positions: str = ""


@dataclass(frozen=True, slots=True)
class FoundWorkspace:
    """The selected flows of a workspace, by path; `order` are the paths of those that run first.

    `is_part`: the flows were named, so that the workspace may have others.
    """

    flows: Sequence[FoundFlow]
    notices: tuple[Remark, ...] = ()
    order: tuple[str, ...] = ()
    continue_on_failure: bool = True
    is_part: bool = False


def find_flows(workspace: Workspace) -> FoundWorkspace:
    """Read the flows that a workspace selects. InvalidWorkspace: they are too large together."""
    notices, flows, size, positions = [*workspace.config.notices], [], 0, 0
    for flow in workspace.flows():
        found_flow = _find_flow(flow)
        size += len(found_flow.steps)
        if size > STEPS_BYTES:
            message = f"the steps of the flows, with the files that they run, have more than {STEPS_BYTES} bytes"
            raise InvalidWorkspace(Remark(flow.path, None, None, f"{message}: import the folder in parts"))
        positions += len(found_flow.positions)
        flows.append(found_flow if positions <= POSITIONS_LENGTH else replace(found_flow, positions=""))
        notices += flow.notices
    names = [(flow.path, flow.name) for flow in flows if not flow.problems]
    order, missing = workspace.order(names, [flow.name for flow in flows if flow.problems])
    kept = (*notices, *repeated_names(names), *missing)[:NOTICES_LIMIT]
    return FoundWorkspace(flows, kept, order, workspace.config.continue_on_failure, bool(workspace.named))


def _find_flow(flow: WorkspaceFlow) -> FoundFlow:
    problems = flow.problems[:PROBLEMS_LIMIT] or _label_problems(flow)
    steps = json.dumps(flow.steps, ensure_ascii=False)
    return FoundFlow(flow.path, flow.name, flow.tags, steps, flow.files, problems, flow.positions)


def _label_problems(flow: WorkspaceFlow) -> tuple[Remark, ...]:
    """Why no test can have the name or the tags of the flow."""
    try:
        clean_text(flow.name, "name", NAME_LIMIT)
        clean_tags(flow.tags)
    except InvalidLabel as wrong:
        return (Remark(flow.path, None, None, f"{wrong.field} of the flow: {wrong.message}"),)
    return ()
