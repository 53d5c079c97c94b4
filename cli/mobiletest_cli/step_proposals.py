"""Proposals for steps whose element has changed: has them checked, shows them, and writes what a person accepts."""

from __future__ import annotations

from difflib import unified_diff
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from mobiletest_automation.flows.step_paths import NoSuchStep, replace_step
from mobiletest_cli.errors import INVALID_FILE, USAGE, CliError
from mobiletest_cli.file_replacement import replacing
from mobiletest_cli.progress_display import follow

if TYPE_CHECKING:
    from mobiletest_cli.api import Api
    from mobiletest_cli.api_types import Run
    from mobiletest_cli.output import Output

VERIFIED, UNVERIFIED, VERIFYING, REFUTED = "verified", "unverified", "verifying", "refuted"


def check_proposal(api: Api, output: Output, run: Run) -> Any:
    """What is proposed for a failed run, after a run of the test has checked it."""
    path = f"executions/{run['execution_id']}/runs/{run['id']}/healing"
    healing = api.get(path)
    if healing["state"] == UNVERIFIED and not healing["reason"]:
        healing = api.post(path, {})
    if healing["state"] == VERIFYING:
        output.say(f"A run with the proposed step checks it: {healing['check_execution_id']}")
        follow(api, output, healing["check_execution_id"])
        healing = api.get(path)
    return healing


def show_proposal(output: Output, name: str, healing: Any, diff: str = "") -> None:
    """The proposal as a difference of two lines, or `diff`, if there is one; or why nothing is offered."""
    proposal = healing.get("proposal")
    if healing["state"] != VERIFIED:
        state = "nothing is proposed" if proposal is None else f"the proposal {proposal['line']} is {healing['state']}"
        output.result(f"{name}: {state}: {healing['reason']}")
        return
    output.result(f"{name}: a run with another step passed ({healing['check_run_id']}). {proposal['why']}")
    for line in diff.splitlines() or (f"-{proposal['old_line']}", f"+{proposal['line']}"):
        output.result(line)


def accept_proposal(api: Api, healing: Any) -> Any:
    """The new version of the test with the proposed step.

    Raises:
        CliError: the test has been changed since, or it was imported from a workspace.
    """
    test, proposal = api.get(f"tests/{healing['test_id']}"), healing["proposal"]
    if "position" in proposal:
        file = proposal["position"]["file"]
        raise CliError("the test was imported, and the next import would undo the change", USAGE, f"--file {file}")
    try:
        if test["version_number"] != healing["test_version_number"]:
            raise NoSuchStep(proposal["path"])
        steps = replace_step(test["steps"], proposal["path"], proposal["old_step"], proposal["step"])
    except NoSuchStep:
        raise CliError(
            f'the test "{test["name"]}" has been changed since the run', USAGE, "Run it again, and heal that run"
        ) from None
    return api.patch(f"tests/{test['id']}", {"steps": steps})


class FlowFile:
    """The file in which the step is written."""

    def __init__(self, path: Path, healing: Any) -> None:
        """CliError: the file cannot be read, or does not have the step where it was."""
        self._path, proposal = path, healing["proposal"]
        try:
            self._before = path.read_bytes().decode()
        except (OSError, UnicodeDecodeError) as error:
            raise CliError(f"{path}: {error}", INVALID_FILE) from None
        begin, end = _find_step(self._before, proposal, path)
        new_step = proposal["line"].removeprefix("- ")
        self._after = f"{self._before[:begin]}{new_step}{self._before[end:]}"

    @property
    def diff(self) -> str:
        before, after = (text.splitlines(keepends=True) for text in (self._before, self._after))
        return "".join(unified_diff(before, after, f"a/{self._path}", f"b/{self._path}", n=1)).rstrip("\n")

    def write(self) -> None:
        with replacing(self._path) as file:
            file.write(self._after.encode())


def _find_step(text: str, proposal: Any, path: Path) -> tuple[int, int]:
    """Where the step begins and ends in the text; CliError if it is not there."""
    position = proposal.get("position")
    try:
        documents = list(yaml.compose_all(text, Loader=yaml.SafeLoader))
    except (yaml.YAMLError, RecursionError) as error:
        raise CliError(f"{path}: {error}", INVALID_FILE) from None
    steps = [
        node
        for document in documents
        for node in _items(document)
        if (position is None or node.start_mark.line + 1 == position["line"]) and _value(node) == proposal["old_step"]
    ]
    if len(steps) != 1:
        where = f"{path}:{position['line']}" if position else str(path)
        count = "not" if not steps else "more than once"
        raise CliError(f"{where}: the step is {count} there: {proposal['old_line']}", INVALID_FILE)
    return steps[0].start_mark.index, _end(steps[0])


def _items(root: Any) -> list[Any]:
    """The items of all lists of the document."""
    items, waiting, seen = [], [root], set()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:  # by an alias
            continue
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            items += node.value
            waiting += node.value
        elif isinstance(node, yaml.MappingNode):
            waiting += [value for _, value in node.value]
    return items


def _value(node: Any) -> Any:
    try:
        return yaml.constructor.SafeConstructor().construct_object(node, deep=True)
    except (yaml.YAMLError, ValueError):
        return None


def _end(node: Any) -> int:
    """Without comments and empty lines that follow what is written in blocks."""
    if isinstance(node, yaml.ScalarNode) or node.flow_style:
        return int(node.end_mark.index)
    return max(_end(child) for pair in node.value for child in (pair if isinstance(pair, tuple) else (pair,)))
