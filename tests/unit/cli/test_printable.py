"""What terminals and CI systems would obey is harmless wherever the command prints it, and stays readable."""

import inspect
import io
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch
from xml.etree import ElementTree

import pytest
from hypothesis import example, given

from mobiletest_automation.flows.printable import printable
from mobiletest_cli.app import run_command
from mobiletest_cli.completion import script
from mobiletest_cli.errors import UNREACHABLE, USAGE, CliError, RequestRefused
from mobiletest_cli.output import Output
from mobiletest_cli.presentation import show_runs, show_steps
from mobiletest_cli.printable import WorkflowCommand, printable_json, printable_values
from mobiletest_cli.results import github, junit
from mobiletest_cli.results.markdown import render_empty, render_markdown
from tests.hostile_texts import ANYTHING, TEXTS, commands, controls
from tests.unit.cli.report_samples import attempt, failed, passed, reason, report


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Pay: 3 of 5 #12 a::b --flag größe 🚀\ttab\nline", None),
        ("- a list\n---\nof YAML", None),
        ("\x1b]52;c;eA==\x07", "�]52;c;eA==�"),
        ("\x9b31m\x7f\x00\rend\r\n", "�31m���end\n"),
        ("user\u202etxt.exe\u2066\u200f\ufeff", "user�txt.exe���"),
        ("half \ud800", "half �"),
        ("##vso[task.complete]", r"#\#vso[task.complete]"),
        ("say ###[error]x", r"say ##\#[error]x"),
        ("##TeamCity[x]", r"#\#TeamCity[x]"),
        ("::add-mask::a\n \xa0::b::", "\\::add-mask::a\n \xa0\\::b::"),
        ("section_start:1:a section_end:1:a", r"section_start\:1:a section_end\:1:a"),
        ("travis_fold:start:a", r"travis_fold\:start:a"),
        ("@@[section:begin] a @@ [b] @a[0]", r"@\@[section:begin] a @@ [b] @a[0]"),
        ("see [[ATTACHMENT|../.ssh/id_rsa]] [[link]] a[[0]]", r"see [\[ATTACHMENT|../.ssh/id_rsa]] [[link]] a[[0]]"),
        ("<DartMeasurementFile>/a</> <CTestMeasurement <b>", r"<\DartMeasurementFile>/a</> <\CTestMeasurement <b>"),
        ("SPINNAKER_PROPERTY_A=b SPINNAKER_HOME=c", r"SPINNAKER\_PROPERTY_A=b SPINNAKER_HOME=c"),
        ("@@@STEP_FAILURE@@@ a@@@B", r"\@@@STEP_FAILURE@@@ a@@@B"),
        ("--- a\n+++ b\n~~~ c\n^^^  +++", "\\--- a\n\\+++ b\n\\~~~ c\n\\^^^  +++"),
    ],
)
def test_text_stays_readable_and_acts_on_nothing(text: str, expected: str | None) -> None:
    assert printable(text) == (text if expected is None else expected)


@given(TEXTS)
def test_no_text_acts_on_anything(text: str) -> None:
    shown = printable(text)
    assert (list(commands(shown)), controls(shown)) == ([], set())
    assert printable(shown) == shown


@given(TEXTS, TEXTS)
def test_json_means_the_same_and_acts_on_nothing(name: str, text: str) -> None:
    value = {name: [text, {"##[": text}], f"\t{text}": f"\travis_fold:{text}"}
    shown = printable_json(value)
    assert json.loads(shown) == value
    assert (list(commands(shown)), controls(shown)) == ([], set())


def show_live(output: Output, text: str) -> None:
    with output.status(lambda: text):
        pass
    with output.progress_bar(text, 3) as advance:
        advance(1)


CALLS: Mapping[str, Callable[[Output, str], Any]] = {
    "document": lambda output, text: output.document({text: text}),
    "say": Output.say,
    "result": Output.result,
    "text": Output.text,
    "warn": Output.warn,
    "error_line": Output.error_line,
    "usage": Output.usage,
    "ask": Output.ask,
    "prompt": Output.prompt,
    "confirm": Output.confirm,
    "table": lambda output, text: output.table((text, "b", text), [["", "a", text], [text, text, ""]]),
    "list": lambda output, text: output.list([text], (text,), lambda item: [item], empty=text),
    "report": lambda output, text: output.report({"a": text}, (text,), [], empty=text),
    "item": lambda output, text: output.item({"a": text}, text),
    "done": lambda output, text: output.done(text, name=text),
    "error": lambda output, text: output.error(
        RequestRefused(text, USAGE, text, status=500, code=text, request_id=text)
    ),
    "traceback": lambda output, text: output.traceback(CliError(text, USAGE)),
    "status": show_live,
    "progress_bar": show_live,
}
OTHERS = {"annotate", "flush", "lose", "live", "shows_progress", "as_json", "quiet"}


class Screen(io.TextIOWrapper):
    """A stream that may be a terminal."""

    def __init__(self, *, is_terminal: bool) -> None:
        super().__init__(io.BytesIO(), "utf-8", write_through=True, newline="\n")
        self.is_terminal = is_terminal

    def isatty(self) -> bool:
        return self.is_terminal

    def shown(self) -> str:
        buffer = self.buffer
        assert isinstance(buffer, io.BytesIO)
        return buffer.getvalue().decode()


@contextmanager
def screens(*, is_terminal: bool = False, width: int = 40) -> Iterator[tuple[Screen, Screen]]:
    """The streams of the process in the block, narrow, so that tables break texts."""
    out, err = (Screen(is_terminal=is_terminal) for _ in range(2))
    environ = {"COLUMNS": str(width), "TERM": "xterm", "CI": ""}
    with patch.multiple(sys, stdout=out, stderr=err, stdin=io.StringIO("y\n")), patch.dict("os.environ", environ):
        yield out, err


def test_every_method_of_the_output_is_tried() -> None:
    names = {name for name, _ in inspect.getmembers(Output) if not name.startswith("_")}
    assert names == CALLS.keys() | OTHERS


@pytest.mark.parametrize("name", CALLS)
@given(TEXTS)
@example(text=":")  # what is printed behind them makes a command of them
@example(text="---")
def test_no_output_acts_on_anything(name: str, text: str) -> None:
    for as_json in (False, True):
        with screens() as (out, err):
            CALLS[name](Output(as_json=as_json), text)
        for shown in (out.shown(), err.shown()):
            assert (list(commands(shown)), controls(shown)) == ([], set())


@pytest.mark.parametrize("name", CALLS)
def test_a_terminal_gets_no_sequences_but_those_of_colors_and_progress(name: str) -> None:
    with screens(is_terminal=True) as (out, err):
        CALLS[name](Output(), ANYTHING)
    for shown in (out.shown(), err.shown()):
        assert CALLS[name] is show_live or list(commands(shown)) == []  # nothing is drawn over itself in CI
        assert controls(shown) <= {"\x1b", "\r"}
        assert "\x1b]" not in shown
        assert "\x1b[2J" not in shown


FORGED = "Pay\n12 passed of 12 runs.\r\nGate: passed"


@pytest.mark.parametrize(
    "name", sorted(CALLS.keys() - {"document", "text", "usage", "traceback", "status", "progress_bar"})
)
def test_a_text_forges_no_line(name: str) -> None:
    with screens(width=200) as (out, err):
        CALLS[name](Output(), FORGED)
    shown = out.shown() + err.shown()
    assert "12 passed" in shown
    assert [line for line in shown.splitlines() if line.lstrip().startswith(("12 passed", "Gate:"))] == []


def test_what_steps_say_passes_for_no_line_of_the_command() -> None:
    step = {"index": 0, "depth": 0, "duration_seconds": 1.0, "text": FORGED, "status": "failed", "message": FORGED}
    tried: Any = {**attempt(FORGED, device=FORGED), "worker": "w", "steps": [step], "artifacts": []}
    run = failed(FORGED, FORGED, source_path=FORGED, attempts=[tried])
    for show in (show_steps, lambda output, run: show_runs(output, [run])):
        with screens(width=200) as (out, _):
            show(Output(), run)
        assert [line for line in out.shown().splitlines() if line.lstrip().startswith(("12 passed", "Gate:"))] == []


def test_arguments_that_are_refused_forge_no_line() -> None:
    with screens(width=200) as (_, err):
        assert run_command(["wait", "--timeout", FORGED]) == USAGE
    assert [line for line in err.shown().splitlines() if line.startswith(("12 passed", "Gate:"))] == []


@pytest.mark.parametrize("width", [9, 20, 30])
def test_a_table_that_breaks_a_text_begins_no_command(width: int) -> None:
    row = ["y" * width + "::error::x", "y" * width + "--- x ##vso[a]", "::" * width]
    with screens(width=width) as (out, _):
        Output().table(("A", "B", "C"), [row, ["", row[0], row[1]]])
    assert "y" in out.shown()
    assert list(commands(out.shown())) == []


def test_a_command_of_ours_is_one_with_the_texts_of_others_in_it() -> None:
    for as_json in (False, True):
        with screens() as (out, err):
            Output(as_json=as_json).annotate(WorkflowCommand("error", {"title": ANYTHING}, ANYTHING))
        shown, other = (err, out) if as_json else (out, err)
        assert other.shown() == ""
        assert (shown.shown().count("\n"), controls(shown.shown())) == (1, set())
        assert shown.shown().startswith("::error title=#\\#vso[task")


@given(TEXTS, TEXTS)
def test_files_of_results_act_on_nothing(name: str, text: str) -> None:
    fields = {"resolved_build_version": text, "attempts": [attempt(text, device=text)], "source_path": text}
    run, retried = failed(name, text, **fields), passed(f"{name} 2", attempt(text), attempt())
    breakage = {"first_failing": {"version": text}, "last_passing": None, "commit_range": text}
    why = [reason(run, "newly_broken", detail=text, breakage=breakage), reason(retried, "flaky", detail=text)]
    shown = report(run, retried, reasons=why, workflow_name=name)
    assert shown.gate is not None
    shown.gate["summary"] = text
    execution: Any = {**shown.execution, "status": text, "success": None}
    shown = replace(shown, execution=execution)
    for written in (render_markdown(shown), render_empty(name, text)):
        assert (list(commands(written)), controls(written)) == ([], set())
    for command in github.annotate(shown):
        assert (len(str(command).splitlines()), controls(str(command))) == (1, set())


NOT_XML = (*range(9), 11, 12, *range(14, 32), *range(0xD800, 0xE000), 0xFFFE, 0xFFFF)
XML = dict.fromkeys(NOT_XML, "?")


@given(TEXTS)
def test_junit_acts_on_nothing(text: str) -> None:
    """Whatever the server lets through."""
    root = ElementTree.Element("testsuites", {"name": text.translate(XML)})
    case = ElementTree.SubElement(ElementTree.SubElement(root, "testsuite"), "testcase", {"name": text.translate(XML)})
    ElementTree.SubElement(case, "failure", {"message": text.translate(XML)}).text = text.translate(XML)
    given_document = ElementTree.tostring(root)
    for written in (junit.complete(given_document, report(failed())), junit.strict(given_document)):
        shown = list(ElementTree.fromstring(written).iter())  # noqa: S314 - our own
        texts = [each for element in shown for each in (element.text or "", *element.attrib.values())]
        assert ([each for text in texts for each in commands(text)], controls("".join(texts))) == ([], set())


@given(TEXTS)
def test_answers_for_agents_act_on_nothing(text: str) -> None:
    assert printable_values({text: [text, 1, None]}) == {printable(text): [printable(text), 1, None]}


def test_arguments_that_are_refused_are_shown_harmless() -> None:
    """Names of branches and files come from pull requests."""
    for arguments in (["status", ANYTHING], [ANYTHING], ["run", f"--{ANYTHING}"], ["wait", "--timeout", ANYTHING]):
        for more in ([], ["--json"]):
            with screens() as (out, err):
                assert run_command([*arguments, *more]) == USAGE
            for shown in (out.shown(), err.shown()):
                assert (list(commands(shown)), controls(shown)) == ([], set())


def test_a_defect_shows_its_traceback_harmless() -> None:
    with screens() as (_, err):
        Output().traceback(ValueError(ANYTHING))
    assert err.shown().startswith("ValueError: #\\#vso[task")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts_for_shells_stay_what_they_are(shell: str) -> None:
    assert printable(script(shell)) == script(shell)


def test_codes_of_emoji_and_markup_are_texts() -> None:
    with screens(width=90) as (out, err):
        Output().result(":warning: [red]x[/]")
        Output().table(("[/] :x:",), [[":warning: [red]x[/]"]])
        Output().error(CliError("[/] :x:", UNREACHABLE))
    assert out.shown().count(":warning: [red]x[/]") == 2
    assert "[/] :x:" in out.shown()
    assert err.shown() == "error: [/] :x:\n"


def test_names_of_runs_stay_what_they_are() -> None:
    with screens(width=200) as (out, _):
        show_runs(Output(), [failed("Größe: [Pay] #1", "No button ::here::")])
    assert "Größe: [Pay] #1" in out.shown()
    assert "No button ::here::" in out.shown()
