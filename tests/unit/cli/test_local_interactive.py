"""`--interactive`: what a person at the terminal sees and types, and what becomes of it."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from mobiletest_automation.flows.positions import SourcePosition
from mobiletest_automation.ports import HumanQuestion
from mobiletest_cli.errors import USAGE
from mobiletest_cli.local_run.flow_editor import FlowEditor
from mobiletest_cli.local_run.interactive import TerminalHuman, as_yaml, read_line
from mobiletest_cli.local_run.results import EvidenceFolder
from mobiletest_cli.output import Output
from tests.unit.cli.local_shell import PASSING, LocalShell

FLOW = "appId: a\n---\n- tapOn: Buy\n"
FAILED = HumanQuestion(
    "This step cannot continue: tapOn: Buy\nBuy was not found",
    0,
    ('tap the 1st: button "Add"', "retry", "skip", "fail"),
    position=SourcePosition("flow.yaml", 3, 3),
    screen=('button "Pay"',),
)
WORKED = replace(FAILED, worked="- tap Pay", can_write=True)


class Person:
    """Types lines in turn, and then nothing more."""

    def __init__(self, folder: Path, *lines: str) -> None:
        self.path = folder / "flow.yaml"
        self.path.write_text(FLOW)
        self._lines: Iterator[str] = iter(lines)

    async def read_line(self) -> str | None:
        return next(self._lines, None)

    async def answer(self, question: HumanQuestion) -> str | None:
        editor = FlowEditor(lambda _: FLOW, lambda file: str(self.path.parent / file))
        return await TerminalHuman(Output(), editor, EvidenceFolder(self.path.parent), self.read_line).ask(question)


@pytest.mark.parametrize(
    ("question", "lines", "answer"),
    [
        (FAILED, ["\n"], "look"),
        (FAILED, ["retry\n"], "retry"),
        (FAILED, ["skip\n"], "skip"),
        (FAILED, ["quit\n"], "fail"),
        (FAILED, [], "fail"),
        (FAILED, ["tap Pay\n"], "- tap Pay"),
        (FAILED, ["replace\n", "insert\n", "go on\n"], "fail"),
        (FAILED, ['tap the 1st: button "Add"\n'], 'tap the 1st: button "Add"'),
        (WORKED, ["go on\n"], "keep"),
        (replace(WORKED, can_write=False), ["replace\n", "insert\n", "go on\n"], "keep"),
        (WORKED, ["back\n"], "- back"),
    ],
)
async def test_lines_are_answers(tmp_path: Path, question: HumanQuestion, lines: list[str], answer: str) -> None:
    person = Person(tmp_path, *lines)
    assert (await person.answer(question), person.path.read_text()) == (answer, FLOW)


async def test_the_person_sees_the_failure_and_the_screen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    await Person(tmp_path, "quit").answer(FAILED)
    shown = capsys.readouterr().err
    assert 'Buy was not found\nOn the screen:\n  button "Pay"\n' in shown
    assert '> tap the 1st: button "Add"' in shown


@pytest.mark.parametrize(
    ("line", "answer", "steps"),
    [("replace", "keep", "- tap Pay\n"), ("insert", "retry", "- tap Pay\n- tapOn: Buy\n")],
)
async def test_what_worked_is_written_into_the_file(tmp_path: Path, line: str, answer: str, steps: str) -> None:
    person = Person(tmp_path, line)
    assert (await person.answer(WORKED), person.path.read_text()) == (answer, f"appId: a\n---\n{steps}")


async def test_what_cannot_be_written_is_said_and_the_person_is_asked_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    person = Person(tmp_path, "replace", "go on")
    person.path.write_text("changed")
    assert await person.answer(WORKED) == "keep"
    assert "the step was not written: it has changed since the run began" in capsys.readouterr().err
    assert person.path.read_text() == "changed"


@pytest.mark.parametrize(
    ("typed", "line"),
    [
        ("tap Pay", "- tap Pay"),
        ("- tapOn: Pay", "- tapOn: Pay"),
        ("tapOn: {id: pay}", "- tapOn: {id: pay}"),
        ('"Pay" is visible', '- "\\"Pay\\" is visible"'),
        ("'Pay: now'", "- 'Pay: now'"),
        ("tap # 5", '- "tap # 5"'),
        ("tap [", "- tap ["),
        ("5", '- "5"'),
        ("inputText: 2026-02-30", "- inputText: 2026-02-30"),
        ("!!timestamp 99", '- "!!timestamp 99"'),
        ("[" * 2000, f'- "{"[" * 2000}"'),
    ],
)
def test_what_is_typed_becomes_a_line_of_a_flow(typed: str, line: str) -> None:
    assert as_yaml(typed) == line


def test_without_a_terminal_it_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shell = LocalShell(tmp_path, capsys)
    shell.write(a=PASSING)
    ended = shell.run("--interactive")
    assert (ended.code, "--interactive asks at a terminal, and there is none" in ended.err) == (USAGE, True)


async def test_a_terminal_that_is_gone_is_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = os.openpty()
    with os.fdopen(theirs) as terminal:
        monkeypatch.setattr("sys.stdin", terminal)
        os.close(ours)
        assert await read_line() is None
