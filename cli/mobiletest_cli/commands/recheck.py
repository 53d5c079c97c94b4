"""`mobiletest recheck`: whether steps hold on the screens of past runs, without a device."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mobiletest_cli.context import PLATFORMS, Context, command
from mobiletest_cli.errors import FAILED, INVALID_FILE, NOT_FOUND, OK, USAGE, CliError

if TYPE_CHECKING:
    from mobiletest_cli.api_types import Test

# A step that is no sentence: "tapOn: Pay".
_COMMAND = re.compile(r"[a-z][A-Za-z]*:(\s|$)", re.ASCII)
_INDEX = re.compile(r"\d+", re.ASCII)


@dataclass(frozen=True, slots=True)
class _Question:
    """A step to check: its number in its flow from 1, and what is asked of the server."""

    number: int | None
    request: dict[str, Any]


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(app, "recheck")(recheck)


def recheck(
    context: Context,
    test: Annotated[str, typer.Argument(metavar="TEST", help="Name or id.")],
    text: Annotated[str | None, typer.Argument(metavar="[STEP]", help="A new step: a sentence, or a command.")] = None,
    step: Annotated[
        int | None, typer.Option("--step", min=1, help="Number of the step, from 1; a new one replaces it.")
    ] = None,
    file: Annotated[Path | None, typer.Option("--file", help="Check the steps of this flow instead.")] = None,
    platform: Annotated[str | None, typer.Option(help=f"Only runs on {' or '.join(PLATFORMS)}.")] = None,
) -> int:
    """Say whether the steps of a test hold on the screens of its past runs, without a device."""
    from mobiletest_cli.lookup import find_test

    if file is not None and (text is not None or step is not None):
        raise CliError("--file checks all steps: leave out STEP and --step", USAGE)
    if platform not in (None, *PLATFORMS):
        raise CliError(f'unknown platform "{platform}"', USAGE, f"--platform {' or --platform '.join(PLATFORMS)}")
    test_details: Test = context.api.get(f"tests/{find_test(context.api, test)['id']}")
    chosen = {"platform": platform} if platform else {}
    rows: list[tuple[_Question, Any]] = []
    for question in _questions(test_details["steps"] or (), text, step, file):
        answer = context.api.post(f"tests/{test_details['id']}/recheck", {**question.request, **chosen})
        rows.append((question, answer))
    items = [
        {"number": question.number, "step_path": question.request.get("step_path"), **answer}
        for question, answer in rows
    ]
    table = [_row(question, answer) for question, answer in rows]
    columns = ("Step", "Text", "Result", "Holds", "Does not", "Not known", "Elsewhere", "Why")
    context.output.report({"test_id": test_details["id"], "items": items}, columns, table)
    return FAILED if any(answer["passed"]["does_not_hold"] for _, answer in rows) else OK


def _questions(steps: Sequence[Any], text: str | None, number: int | None, file: Path | None) -> Iterator[_Question]:
    written = list(_leaves(steps))
    if file is not None:
        yield from _of_file(written, file)
    elif text is not None:
        path = {} if number is None else {"step_path": _numbered(steps, number).path}
        yield _Question(number, {**({"flow": f"- {text}"} if _COMMAND.match(text) else {"step": text}), **path})
    else:
        for leaf in written if number is None else [_numbered(steps, number)]:
            yield _Question(leaf.number, {"step_path": leaf.path})


@dataclass(frozen=True, slots=True)
class _Written:
    """A step of a flow: its number, its path, and its value as JSON."""

    number: int
    path: str
    value: Any
    holds_steps: bool

    @property
    def key(self) -> str:
        """Equal for the same step in the same kind of place."""
        return f"{_INDEX.sub('', self.path)} {json.dumps(self.value, sort_keys=True)}"


def _written(steps: Sequence[Any]) -> Iterator[_Written]:
    """Every step, those inside of others after the one that holds them. CliError: they cannot be read."""
    from mobiletest_automation.flows.loader import parse_flow
    from mobiletest_automation.flows.nodes import DocumentError
    from mobiletest_automation.flows.step_paths import step_at

    try:
        flow = parse_flow(list(steps))
    except DocumentError as error:
        raise CliError(f"the steps of the test cannot be read: {error.message}", INVALID_FILE) from error
    for number, step in enumerate(flow.every_step(), start=1):
        path = step.value_path
        yield _Written(number, path, step_at(steps, path), bool(step.inner_steps))


def _leaves(steps: Sequence[Any]) -> Iterator[_Written]:
    """The steps that act or look: one that holds others leaves no screen."""
    return (each for each in _written(steps) if not each.holds_steps)


def _numbered(steps: Sequence[Any], number: int) -> _Written:
    written = list(_written(steps))
    if number > len(written):
        raise CliError(f"there is no step {number}: the test has {len(written)}", NOT_FOUND)
    return written[number - 1]


def _of_file(written: Sequence[_Written], file: Path) -> Iterator[_Question]:
    """The steps of the flow, beside those of the test that they are, or would replace."""
    from difflib import SequenceMatcher

    new = list(_leaves(_steps_of(file)))
    matcher = SequenceMatcher(a=[each.key for each in written], b=[each.key for each in new], autojunk=False)
    for kind, first, last, begin, end in matcher.get_opcodes():
        paired = kind == "equal" or last - first == end - begin
        for offset, step in enumerate(new[begin:end]):
            path = {"step_path": written[first + offset].path} if paired else {}
            yield _Question(step.number, {"step": step.value, **path})


def _steps_of(file: Path) -> Sequence[Any]:
    """CliError: the file is no flow."""
    from mobiletest_cli.validation import ERROR, render, validate
    from mobiletest_cli.workspace import find_files

    files = find_files([file])
    errors = [
        line
        for problem in validate(files)
        if problem.severity == ERROR
        for line in render(problem, files.text(problem.file), files.display_path(problem.file))
    ]
    workspace = files.find_flows()
    flows = [flow for flow in workspace.flows if flow.path in files.selected] if workspace and not errors else []
    if len(flows) != 1:
        raise CliError(f"{file} cannot be checked" if errors else f"{file} is no flow", INVALID_FILE, details=errors)
    steps: Sequence[Any] = json.loads(flows[0].steps)
    return steps


def _row(question: _Question, answer: Any) -> list[str]:
    counts = answer["passed"]
    return [
        "new" if "step_path" not in question.request else str(question.number),
        answer["step"],
        _result(question, answer),
        *(str(counts[name]) for name in ("holds", "does_not_hold", "not_known")),
        f"{answer['others']['holds']}/{sum(answer['others'].values())}",
        _why(answer),
    ]


def _result(question: _Question, answer: Any) -> str:
    counts = answer["passed"]
    if "step_path" not in question.request:
        return "new"
    if counts["does_not_hold"]:
        return "failed"
    if counts["holds"]:
        return "passed"
    return "not known" if counts["not_known"] else "no screens"


def _why(answer: Any) -> str:
    """The most frequent reason on the screens of the step's passes."""
    if answer["asserts_nothing"]:
        return "holds on every screen of other steps"
    order = ("does_not_hold", "not_known")
    reasons = [reason for reason in answer["reasons"] if reason["group"] == "passed"]
    reasons.sort(key=lambda reason: order.index(reason["verdict"]) if reason["verdict"] in order else len(order))
    return reasons[0]["reason"] if reasons else ""
