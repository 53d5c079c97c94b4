"""The Markdown report, as a renderer shows it."""

import html
import re
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from mobiletest_cli.results.markdown import SIZE_LIMIT, escape, render_markdown
from mobiletest_cli.results.report import ProposedStep, ScreenChanges
from tests.unit.cli.report_samples import EXECUTION, URL, attempt, failed, failed_at, passed, reason, report, run_id

if TYPE_CHECKING:
    from mobiletest_cli.api_types import ScreenComparison

RENDERER = MarkdownIt("commonmark").enable("table")
NASTY = [
    "a | b",
    "`code` and ``more``",
    "<script>alert(1)</script>",
    "&amp; &#124; &lt;",
    "**bold** _it_ ~~gone~~ *",
    "[link](https://example.com) ![image](x)",
    "back\\slash \\| pipe \\",
    "# heading",
    "1. one",
    "- item",
    "+ item",
    "$a$ {b}",
    "<!-- comment",
    "100%",
]


def shown(markdown: str) -> str:
    """The text that a reader sees, without the characters that break mentions."""
    text: str = re.sub(r"<[^>]+>", "", RENDERER.render(markdown))
    return html.unescape(text).replace("\u200b", "")


def rows(markdown: str) -> list[list[str]]:
    """The cells of the table of runs."""
    lines = re.findall(r"<tr>(.*?)</tr>", RENDERER.render(markdown), re.DOTALL)
    cells = [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", line, re.DOTALL) for line in lines]
    return [[html.unescape(re.sub(r"<[^>]+>", "", cell)).replace("\u200b", "") for cell in line] for line in cells]


def section(markdown: str, title: str) -> list[str]:
    """The items of a section; [] if it is absent."""
    match = re.search(rf"^### {title}\n\n((?:- .*\n)+)", markdown, re.MULTILINE)
    return [shown(line[2:]).strip() for line in match[1].splitlines()] if match else []


def test_heading_and_link() -> None:
    text = render_markdown(report(passed(), passed("Search")))
    assert text.startswith("## Nightly: passed\n")
    assert "2 passed of 2 runs in 1 min 5 s." in shown(text)
    assert f"(<{URL}/{EXECUTION}>)" in text


def test_a_run_that_did_not_pass_links_to_its_page() -> None:
    lines = render_markdown(report(passed(), failed())).splitlines()
    assert [line.partition(" | ")[0] for line in lines if line.startswith(("| passed", "| [**failed**]"))] == [
        "| passed",
        f"| [**failed**](<{URL}/{EXECUTION}/runs/{run_id('Pay')}>)",
    ]


def test_the_verdict_names_the_gate_where_it_differs() -> None:
    pay = failed()
    assert render_markdown(report(pay)).startswith("## Nightly: failed\n")
    known = render_markdown(report(pay, reasons=[reason(pay, "known_on_base")]))
    assert known.startswith("## Nightly: failed, gate: pass\n")
    assert "The gate's summary." in shown(known)
    broken = render_markdown(report(pay, reasons=[reason(pay, "newly_broken")]))
    assert broken.startswith("## Nightly: failed, gate: block\n")


@pytest.mark.parametrize(
    ("status", "verdict"), [("failed", "no verdict"), ("cancelled", "cancelled"), ("running", "running")]
)
def test_the_verdict_of_an_execution_without_one(status: str, verdict: str) -> None:
    assert render_markdown(report(status=status, success=None)).startswith(f"## Nightly: {verdict}\n")


def test_the_table_has_a_row_for_each_run() -> None:
    cancelled = failed("Search", "Cancelled by\nAda", status="cancelled", success=None)
    lost = failed("Basket", "The worker was lost", status="failed", success=None, execution_time_seconds=None)
    waiting = passed("Last", status="queued", success=None, attempts=[], resolved_build_version=None)
    assert rows(render_markdown(report(passed(), failed(), cancelled, lost, waiting))) == [
        ["Result", "Test", "Build", "Device", "Time", "Reason"],
        ["passed", "Log in", "1.2.0", "Pixel 9", "4.2 s", ""],
        ["failed", "Pay", "1.2.0", "Pixel 9", "4.2 s", "No button"],
        ["cancelled", "Search", "1.2.0", "Pixel 9", "4.2 s", "Cancelled by Ada"],
        ["no verdict", "Basket", "1.2.0", "Pixel 9", "-", "The worker was lost"],
        ["queued", "Last", "-", "-", "4.2 s", "has not ended"],
    ]


def test_a_reason_begins_with_where_the_step_is_written() -> None:
    """With the path here of a file that was sent from here, else with that in its workspace."""
    sent, stored = failed_at("pay.yaml:12:3", "main.yaml:4:5"), failed_at("pay.yaml:2:3", name="Stored")
    paths = {sent["test_id"]: "e2e/main.yaml"}
    complete = replace(report(sent, stored), paths=paths, display_path=lambda path: f"e2e/{path}")
    reasons = [row[5] for row in rows(render_markdown(complete))[1:]]
    assert reasons == ["e2e/pay.yaml:12:3: No button", "pay.yaml:2:3: No button"]


def test_tests_of_the_same_name_are_distinguished() -> None:
    flows = ("auth/login.yaml", "profile/login.yaml", None)
    runs = [failed("login", id=str(n), test_id=f"t{n}", source_path=path) for n, path in enumerate(flows)]
    android = [passed("Pay", id=platform, platform=platform) for platform in ("Android", "iOS")]
    text = render_markdown(report(*runs, *android, reasons=[reason(runs[0], "newly_broken")]))
    expected = ["login (auth/login.yaml)", "login (profile/login.yaml)", "login (t2)", "Pay on Android", "Pay on iOS"]
    assert [row[1] for row in rows(text)[1:]] == expected
    assert section(text, "Newly broken") == ["login (auth/login.yaml): It is newly_broken."]


def test_only_simulated_devices_are_called_simulated() -> None:
    simulated = passed("On a model", attempt(simulated=True))
    unknown = passed("Without a device", attempt(device=None, simulated=None))
    real = render_markdown(report(passed(), unknown))
    assert "simulated" not in real
    mixed = render_markdown(report(passed(), unknown, simulated))
    assert [row[3] for row in rows(mixed)[1:]] == ["Pixel 9", "-", "Pixel 9 (simulated)"]
    assert "1 of 3 results come from simulated devices" in shown(mixed)
    assert "All results come from simulated devices" in shown(render_markdown(report(simulated)))


def test_results_of_the_built_in_model_are_not_attributed_to_the_build() -> None:
    built_in = passed("Any file", attempt(simulated=True, built_in_model=True))
    model = passed("On a model", attempt(simulated=True, built_in_model=False))
    said = shown(render_markdown(report(passed(), built_in, model)))
    assert "1 of 3 results come from simulated devices, which ran their built-in model instead of the build" in said
    assert "1 of 3 results come from simulated devices, which ran a model instead of the app" in said


def test_the_last_attempt_decides_whether_a_device_was_simulated() -> None:
    moved = passed("Moved", attempt("Lost", simulated=True), attempt(simulated=False))
    assert "simulated" not in render_markdown(report(moved))


@pytest.mark.parametrize(
    ("rule", "title"),
    [
        ("newly_broken", "Newly broken"),
        ("never_passed", "Never passed"),
        ("not_run_before", "Not run before"),
    ],
)
def test_failures_that_block_are_in_the_group_of_their_rule(rule: str, title: str) -> None:
    pay = failed()
    text = render_markdown(report(pay, reasons=[reason(pay, rule)]))
    assert section(text, title) == [f"Pay: It is {rule}."]
    assert text.count("###") == 1


def test_newly_broken_tests_name_build_and_commits() -> None:
    pay, search = failed(), failed("Search")
    breakage = {"first_failing": {"version": "1.2.0-pr7"}, "last_passing": None, "commit_range": "9be07a1..c0a41f6"}
    complete = report(
        pay, search, reasons=[reason(pay, "newly_broken", breakage=breakage), reason(search, "newly_broken")]
    )
    assert section(render_markdown(complete), "Newly broken") == [
        "Pay: It is newly_broken. Since build 1.2.0-pr7. Commits: 9be07a1..c0a41f6",
        "Search: It is newly_broken.",
    ]


def test_failures_that_do_not_block_say_why() -> None:
    runs = [failed(name) for name in ("Known", "Shaky", "Muted")]
    rules = ("known_on_base", "flaky", "quarantined")
    text = render_markdown(report(*runs, reasons=[reason(run, rule) for run, rule in zip(runs, rules, strict=True)]))
    assert section(text, "Does not block") == [
        "Known (known on the base branch): It is known_on_base.",
        "Shaky (flaky): It is flaky.",
        "Muted (in quarantine): It is quarantined.",
    ]
    assert section(text, "Newly broken") == []


def test_runs_without_a_verdict_are_listed_with_and_without_a_gate() -> None:
    lost = failed("Basket", "The worker was lost", status="failed", success=None)
    expected = ["Basket (no verdict): The worker was lost"]
    assert section(render_markdown(report(lost)), "No verdict") == expected
    assert section(render_markdown(report(lost, reasons=[reason(lost, "no_verdict")])), "No verdict") == expected


def test_runs_that_passed_after_a_retry_name_the_last_failure() -> None:
    once = passed("Shaky", attempt("No button"), attempt())
    twice = passed("Shakier", attempt("First"), attempt("Second"), attempt())
    handed_back = passed("Handed back", attempt(), attempt())
    assert section(render_markdown(report(once, twice, handed_back)), "Passed after a retry") == [
        "Shaky: failed once before, with: No button",
        "Shakier: failed 2 times before, with: Second",
    ]


@pytest.mark.parametrize("text", NASTY)
def test_text_of_users_is_shown_as_it_is(text: str) -> None:
    run = failed(text, text, resolved_build_version=text, attempts=[attempt(text, device=text)])
    markdown = render_markdown(report(run, reasons=[reason(run, "newly_broken", detail=text)], workflow_name=text))
    expected = text.strip()
    assert rows(markdown)[1] == ["failed", expected, expected, expected, "4.2 s", expected]
    assert section(markdown, "Newly broken") == [f"{expected}: {expected}"]
    assert shown(markdown.splitlines()[0]).strip() == f"{expected}: failed, gate: block"


def test_mentions_and_references_lead_nowhere() -> None:
    written = escape("ask @ada or @team/qa about #12 and GH-12, mail a@b.example")
    assert not re.search(r"@\w|#\d|GH-\d", written)
    assert shown(written).strip() == "ask @ada or @team/qa about #12 and GH-12, mail a@b.example"


def test_lines_become_spaces_and_control_characters_visible() -> None:
    assert escape("one\r\ntwo\tthree\x1b[31m four\u2028five\u202esix\ud800") == "one two three�\\[31m four five�six�"


@given(st.text(max_size=60))
def test_any_text_stays_in_its_cell(text: str) -> None:
    table = rows(f"| a | b |\n| --- | --- |\n| {escape(text)} | end |\n")
    assert len(table[1]) == 2
    assert table[1][1] == "end"


def test_a_long_reason_is_cut() -> None:
    cell = rows(render_markdown(report(failed(message="x" * 5000))))[1][5]
    assert cell.endswith("x…")
    assert len(cell) == 300


def test_a_large_report_leaves_out_the_longest_rows_of_passed_runs_first() -> None:
    short = [passed(f"s{index}") for index in range(50)]
    long = [passed(f"{index} {'y' * 150}") for index in range(50)]
    everything = report(*long, failed(), *short)
    full = len(render_markdown(everything).encode())
    text = render_markdown(everything, full - 1000)
    names = [row[1] for row in rows(text)[1:]]
    assert len(text.encode()) <= full - 1000
    assert "Pay" in names
    assert names[-50:] == [run["test_name"] for run in short]
    left = 50 - sum(len(name) > 100 for name in names)
    assert 0 < left < 50
    assert f"left out are: {left} passed." in text


def test_failures_are_left_out_last() -> None:
    runs = [passed(f"p{index}") for index in range(20)] + [failed(f"f{index}") for index in range(100)]
    text = render_markdown(report(*runs), 6000)
    names = [row[1] for row in rows(text)[1:]]
    assert names == [f"f{index}" for index in range(len(names))]
    assert 0 < len(names) < 100
    assert f"left out are: 20 passed and {100 - len(names)} not passed." in text


def test_two_thousand_failures_fit_into_a_job_summary() -> None:
    runs = [failed(f"{index} {'|' * 190}", "<" * 400) for index in range(2_000)]
    text = render_markdown(report(*runs, reasons=[reason(run, "newly_broken") for run in runs]))
    assert SIZE_LIMIT // 2 < len(text.encode()) <= SIZE_LIMIT
    assert "and 1950 more" in text


@pytest.mark.parametrize("limit", [1500, 100, 0, -5])
def test_a_report_never_exceeds_its_limit(limit: int) -> None:
    runs = [failed(f"{index} {'é' * 100}") for index in range(60)]
    text = render_markdown(report(*runs, reasons=[reason(run, "newly_broken") for run in runs]), limit)
    assert len(text.encode()) <= max(limit, 0)


def screens(*summary: str, notice: str = "", **counts: int) -> ScreenChanges:
    sides = {side: {"build_id": side, "version": f"<{side}>", "runs": 3, "screens": 9} for side in ("build", "base")}
    kinds = dict.fromkeys(("new", "gone", "changed", "unknown"), 0)
    comparison = {**sides, **kinds, **counts, "summary": list(summary), "screens": [], "notice": notice}
    return ScreenChanges(cast("ScreenComparison", comparison), "https://mobiletest.example.com/screens")


def test_changes_of_screens_are_shown_also_if_all_tests_pass() -> None:
    changed = screens(*(f'"Cart": button "{each}" is gone' for each in NASTY), changed=1, unknown=2, notice="Older.")
    text = render_markdown(replace(report(passed()), screens=[changed, screens()]))
    assert "Screens of build <build> since <base>" in shown(text)
    assert "1 changed, 2 not known. Older. Pictures" in shown(text)
    assert "(<https://mobiletest.example.com/screens>)" in text
    listed = [line[2:] for line in text.splitlines() if line.startswith("- ")]
    expected = [" ".join(f'"Cart": button "{each}" is gone'.split()) for each in NASTY[:10]]
    assert [shown(line).strip() for line in listed] == [*expected, f"and {len(NASTY) - 10} more lines"]
    assert "none changed. Pictures" in shown(text)


def test_a_proposed_step_is_shown_as_a_diff_once_a_run_with_it_has_passed() -> None:
    run = failed("Pay")
    checked = ProposedStep(run, "Its id is the same.", "--- a/pay.yaml\n-- tapOn: Pay\n+- tapOn: ```Buy```\x1b now")
    text = render_markdown(replace(report(run), proposals=[checked]))
    assert "### Proposed step: Pay\n\nWith this change a run passed. Its id is the same.\n\n````diff\n" in text
    assert "\n-- tapOn: Pay\n+- tapOn: ```Buy```" in text
    assert "\x1b" not in text
    unchecked = ProposedStep(run, "Its id is the same.", "")
    text = render_markdown(replace(report(run), proposals=[unchecked]))
    assert "which `mobiletest heal" in text
    assert "diff" not in text
