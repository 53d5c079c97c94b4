"""Annotations and job summary, read back as GitHub's runner reads them."""

import re
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from mobiletest_cli.results.github import annotate, write_output, write_summary
from mobiletest_cli.results.markdown import SIZE_LIMIT, render_markdown
from mobiletest_cli.results.report import Report, repository_path
from tests.unit.cli.report_samples import EXECUTION, URL, failed, failed_at, passed, reason, report, run_id

LINK = f"{URL}/{EXECUTION}"


class Command(NamedTuple):
    """A workflow command."""

    kind: str
    properties: dict[str, str]
    message: str


def unescape(text: str) -> str:
    return re.sub("%(0D|0A|3A|2C|25)", lambda match: chr(int(match[1], 16)), text)


def read(line: str) -> Command:
    """A command as the runner parses a line of output."""
    assert "\n" not in line
    assert "\r" not in line
    match = re.fullmatch(r"::(\w+) (.*?)::(.*)", line)
    assert match is not None
    pairs = (pair.split("=", 1) for pair in match[2].split(","))
    return Command(match[1], {name: unescape(value) for name, value in pairs}, unescape(match[3]))


def commands(shown: Report) -> list[Command]:
    return [read(str(command)) for command in annotate(shown)]


def test_nothing_is_said_about_runs_that_passed_or_have_not_ended() -> None:
    assert commands(report(passed(), passed("Later", status="running", success=None))) == []


def test_a_failure_is_an_error_at_the_flow_file() -> None:
    pay = failed()
    shown = replace(report(pay), paths={pay["test_id"]: ".maestro/pay.yaml"})
    assert commands(shown) == [
        Command(
            "error", {"file": ".maestro/pay.yaml", "title": "Pay failed"}, f"No button\n{LINK}/runs/{run_id('Pay')}"
        )
    ]


@pytest.mark.parametrize(
    ("here", "at"),
    [
        (["e2e/shared/pay.yaml", "e2e/main.yaml"], {"file": "e2e/shared/pay.yaml", "line": "12", "col": "3"}),
        (["e2e/main.yaml"], {"file": "e2e/main.yaml", "line": "4", "col": "5"}),
        ([], {"file": "e2e/main.yaml"}),
    ],
)
def test_a_failure_is_an_error_at_its_step_in_the_innermost_file_that_is_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, here: list[str], at: dict[str, str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for path in here:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("")
    pay = failed_at("shared/pay.yaml:12:3", "main.yaml:4:5")
    paths = {pay["test_id"]: "e2e/main.yaml"}
    shown = replace(report(pay), paths=paths, display_path=lambda path: f"e2e/{path}")
    message = f"e2e/shared/pay.yaml:12:3: No button\n  run from e2e/main.yaml:4:5\n{LINK}/runs/{pay['id']}"
    assert commands(shown) == [Command("error", {**at, "title": "Pay failed"}, message)]


def test_files_are_named_from_the_root_of_the_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    (tmp_path / ".maestro").mkdir()
    monkeypatch.chdir(tmp_path / ".maestro")
    assert repository_path("basket.yaml") == ".maestro/basket.yaml"
    assert repository_path("/elsewhere/basket.yaml") == "/elsewhere/basket.yaml"


def test_runs_without_a_verdict_are_errors() -> None:
    lost = failed("Basket", "", status="failed", success=None)
    assert commands(report(lost)) == [
        Command("error", {"title": "Basket no verdict"}, f"It ended without a reason.\n{LINK}/runs/{run_id('Basket')}")
    ]


def test_failures_that_do_not_block_are_warnings_with_the_gates_reason() -> None:
    pay, search = failed(), failed("Search")
    shown = report(pay, search, reasons=[reason(pay, "known_on_base"), reason(search, "newly_broken")])
    assert [(each.kind, each.message.splitlines()[1]) for each in commands(shown)] == [
        ("error", "It is newly_broken."),
        ("warning", "It is known_on_base."),
    ]


@pytest.mark.parametrize("text", ["a: b, c", "50% of 100%", "%0A", "end::error::x", "title=x,file=y", "größe 🚀"])
def test_text_of_users_does_not_end_the_command(text: str) -> None:
    run = failed(text, text)
    shown = replace(report(run), paths={run["test_id"]: f"flows/{text}.yaml"})
    assert commands(shown) == [
        Command("error", {"file": f"flows/{text}.yaml", "title": f"{text} failed"}, f"{text}\n{LINK}/runs/{run['id']}")
    ]


def test_line_breaks_in_names_do_not_begin_a_command() -> None:
    run = failed("one\r\n::error::two")
    shown = replace(report(run, reasons=[reason(run, "flaky", detail="x\r\n::stop-commands::y")]), paths={})
    (command,) = commands(shown)
    assert command.properties["title"] == "one\n\\::error::two failed"
    assert command.message == f"No button\nx\n\\::stop-commands::y\n{LINK}/runs/{run['id']}"


def test_text_that_is_not_unicode_can_be_printed() -> None:
    assert commands(report(failed("bad \udce9")))[0].properties["title"] == "bad \N{REPLACEMENT CHARACTER} failed"


def test_ten_of_each_kind_and_a_notice_with_the_rest() -> None:
    errors, warnings = [failed(f"e{n}") for n in range(13)], [failed(f"w{n}") for n in range(11)]
    assert [each.kind for each in commands(report(*errors[:10]))] == ["error"] * 10
    shown = report(*errors, *warnings, reasons=[reason(run, "flaky") for run in warnings])
    said = commands(shown)
    assert [each.kind for each in said] == ["error"] * 10 + ["warning"] * 10 + ["notice"]
    assert said[-1] == Command("notice", {"title": "mobiletest"}, f"3 more errors and 1 more warning: {LINK}")


def test_the_summary_begins_a_file_or_is_appended(tmp_path: Path) -> None:
    file, shown = tmp_path / "summary.md", report(failed())
    for before in ("", "# Build\n\n"):
        file.write_text(before.removesuffix("\n"))
        assert write_summary(shown, {"GITHUB_STEP_SUMMARY": str(file)}) is None
        assert file.read_text() == f"{before}{render_markdown(shown)}"
        file.unlink()
    assert write_summary(shown, {"GITHUB_STEP_SUMMARY": str(file)}) is None
    assert file.read_text() == render_markdown(shown)


@pytest.mark.parametrize("environ", [{}, {"GITHUB_STEP_SUMMARY": ""}])
def test_without_the_variable_there_is_no_summary(environ: dict[str, str]) -> None:
    assert write_summary(report(passed()), environ) is None


def test_the_summary_shares_the_limit_with_what_is_there(tmp_path: Path) -> None:
    file = tmp_path / "summary.md"
    file.write_bytes(b"x" * (SIZE_LIMIT - 2000))
    write_summary(report(*[passed(f"p{n}") for n in range(100)]), {"GITHUB_STEP_SUMMARY": str(file)})
    assert SIZE_LIMIT - 2000 < file.stat().st_size <= SIZE_LIMIT
    assert b"left out are" in file.read_bytes()


def test_a_summary_that_cannot_be_written_is_a_problem_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "absent" / "summary.md"
    problem = write_summary(report(passed()), {"GITHUB_STEP_SUMMARY": str(path)})
    assert problem == f"{path}: the job summary cannot be written: No such file or directory"


def test_outputs_of_a_step_are_added(tmp_path: Path) -> None:
    file = tmp_path / "output"
    file.write_text("before=1\n")
    assert write_output("execution-id", "42", {"GITHUB_OUTPUT": str(file)}) is None
    assert file.read_text() == "before=1\nexecution-id=42\n"


def test_outputs_are_optional_and_their_problems_are_said(tmp_path: Path) -> None:
    assert write_output("execution-id", "42", {}) is None
    problem = write_output("execution-id", "42", {"GITHUB_OUTPUT": str(tmp_path)})
    assert problem == f"{tmp_path}: the output execution-id cannot be written: Is a directory"
