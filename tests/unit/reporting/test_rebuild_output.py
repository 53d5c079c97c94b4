"""Where an operation stands after each piece, and how that is shown."""

import io
from collections.abc import Sequence
from dataclasses import replace

import orjson
import pytest

from services.chassis import metrics
from services.reporting.rebuild.operations_servicer import progress_message, set_metrics
from services.reporting.rebuild.output import JsonOutput, TextOutput, describe_difference, result_summary, status_line
from services.reporting.rebuild.state import (
    CATCHING_UP,
    REPLAY_SOURCES,
    Difference,
    JobKind,
    JobProgress,
    JobState,
    Phase,
    ReplaySource,
    after_comparison,
    after_replay,
    begin_comparison,
)
from tests.fakes.reporting_attempts import START

BEGUN = JobState(JobKind.REBUILD, 3, START)
FOUND = Difference("cells", "app:test:build", "passed", "3", "4")
MISSING = Difference("cells", "app:test:build", "", "", '{"passed":4}')


def test_all_sources_are_replayed_before_the_comparison() -> None:
    places, state = [], BEGUN
    for source in REPLAY_SOURCES:
        state = after_replay(state, 10, token="more", total=20)
        assert (state.stage, state.token) == (source, "more")
        state = after_replay(state, 5, token="", total=20)
        places.append(state.stage)
    assert places == [*REPLAY_SOURCES[1:], CATCHING_UP]
    assert (state.phase, state.done, state.total, state.token) == (Phase.COMPARING, 0, 0, "")


def test_the_total_is_never_less_than_what_is_done() -> None:
    state = after_replay(BEGUN, 30, token="more", total=20)
    assert (state.done, state.total) == (30, 30)


@pytest.mark.parametrize(("operation", "phase"), [(JobKind.VERIFY, Phase.DONE), (JobKind.REBUILD, Phase.SWAPPING)])
def test_after_the_last_collection_verify_is_done_and_rebuild_swaps(operation: JobKind, phase: Phase) -> None:
    state = begin_comparison(replace(BEGUN, operation=operation, phase=Phase.COMPARING), {"runs": 2, "cells": 1})
    state = after_comparison(state, 1, 1, token="r1")
    assert (state.stage, state.token, state.differences) == ("runs", "r1", 1)
    state = after_comparison(state, 1, 0, token="")
    assert (state.stage, state.token, state.done) == ("cells", "", 2)
    state = after_comparison(state, 1, 2, token="")
    assert (state.phase, state.differences, state.done) == (phase, 3, 3)


def test_status_line() -> None:
    state = replace(BEGUN, stage=ReplaySource.RUNS, done=1200, totals={"runs": 10_000}, differences=2)
    assert status_line(state, 99.6) == "rebuild: replaying runs, 1200 of 10000 (12 %), 100/s, 2 differences"


def test_describe_difference() -> None:
    assert describe_difference(FOUND) == "cells app:test:build passed: 3, recounted 4"
    assert describe_difference(MISSING) == 'cells app:test:build: missing, recounted {"passed":4}'
    too_many = replace(MISSING, serving='{"passed":4}', recounted="")
    assert describe_difference(too_many) == 'cells app:test:build: {"passed":4}, recounted none'


def test_result_summary() -> None:
    state = replace(BEGUN, differences=3, unreadable=1)
    assert (
        result_summary(state) == "rebuilt: generation 3 serves, 3 differences repaired, 1 facts that cannot be folded"
    )
    assert result_summary(replace(state, operation=JobKind.VERIFY, unreadable=0)) == "3 differences"


class Terminal(io.StringIO):
    """A terminal that people look at."""

    def isatty(self) -> bool:
        return True


def shown(aside: io.StringIO, progress: Sequence[JobProgress]) -> str:
    """What goes to stdout."""
    out = io.StringIO()
    text = TextOutput(out, aside)
    for each in progress:
        text.progress(each)
    text.ended(progress[-1].state)
    return out.getvalue()


STEPS = [
    JobProgress(BEGUN),
    JobProgress(replace(BEGUN, done=1)),
    JobProgress(replace(BEGUN, phase=Phase.COMPARING, differences=1), (FOUND,), behind=7),
]


def test_without_a_terminal_a_line_is_printed_for_each_phase() -> None:
    aside = io.StringIO()
    assert (
        shown(aside, STEPS) == f"{describe_difference(FOUND)}\nrebuilt: generation 3 serves, 1 differences repaired\n"
    )
    lines = aside.getvalue().splitlines()
    assert [line.split(",")[0] for line in lines] == [
        "rebuild: replaying catalog",
        "7 events are not being consumed: they will show as differences",
        "rebuild: comparing catalog",
    ]


def test_on_a_terminal_the_status_line_is_overwritten() -> None:
    aside = Terminal()
    shown(aside, STEPS)
    assert aside.getvalue().count("\r") == len(STEPS) + 4
    assert aside.getvalue().endswith("\r")


def test_json_output_prints_an_object_per_line() -> None:
    out = io.StringIO()
    lines = JsonOutput(out)
    for step in STEPS:
        lines.progress(step)
    lines.ended(STEPS[-1].state)
    lines.failed("no")
    said = [orjson.loads(line) for line in out.getvalue().splitlines()]
    assert [next(iter(line)) for line in said] == ["progress", "progress", "difference", "progress", "result", "error"]
    assert said[2]["difference"]["serving"] == "3"
    assert (said[3]["progress"]["phase"], said[3]["progress"]["events_behind"]) == ("comparing", 7)
    assert said[4]["result"] == {"operation": "rebuild", "differences": 1, "unreadable": 0, "generation": 3}


def test_the_stream_has_the_same_progress() -> None:
    message = progress_message(STEPS[-1])
    assert (message.phase, message.done, message.differences) == (2, 0, 1)
    assert (message.found[0].field, message.found[0].recounted) == ("passed", "4")
    assert message.began_at.ToSeconds() == int(START.timestamp())


def test_metrics_show_the_current_phase_only() -> None:
    set_metrics(replace(BEGUN, done=3, totals={"runs": 9}))
    set_metrics(replace(BEGUN, phase=Phase.COMPARING, done=4, totals={"runs": 8}, differences=2))
    lines = metrics.render().decode().splitlines()
    assert [line for line in lines if line.startswith("mobiletest_reporting_operation_")] == [
        'mobiletest_reporting_operation_done{operation="rebuild",phase="comparing"} 4.0',
        'mobiletest_reporting_operation_total{operation="rebuild",phase="comparing"} 8.0',
        'mobiletest_reporting_operation_differences{operation="rebuild"} 2.0',
    ]
