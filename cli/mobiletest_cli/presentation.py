"""How executions, runs and gates are shown to people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mobiletest_cli.output import Output, duration

if TYPE_CHECKING:
    from mobiletest_cli.api_types import App, Attempt, BuildGate, Execution, Failure, Gate, Run, SourcePosition

COLUMNS = ("Test", "Result", "Build", "Device", "Time", "Reason")
_ENDINGS = ("passed", "failed", "no verdict", "cancelled")
_REASON_LENGTH = 120
_VARIANT_LENGTH = 60
_BINDINGS_SHOWN = 5


def outcome(run: Run) -> str:
    """ "passed", "failed", "no verdict", "cancelled", or the status of a run that has not ended."""
    if run["success"] is not None:
        return "passed" if run["success"] else "failed"
    return "no verdict" if run["status"] == "failed" else str(run["status"])


def result(run: Run) -> str:
    """As `outcome`, but "passed with help" if a person answered a question of a run that passed."""
    return "passed with help" if _passed_with_help(run) else outcome(run)


def _passed_with_help(run: Run) -> bool:
    return bool(run["success"] and (run.get("report_metadata") or {}).get("human_helped"))


def device(run: Run) -> str:
    """The device of the last attempt; a simulated one says so."""
    last = run["attempts"][-1] if run["attempts"] else None
    if last is None or not last["device"]:
        return "-"
    return f"{last['device']} (simulated)" if is_simulated(run) else str(last["device"])


def attempt_device(attempt: Attempt) -> str:
    """The device of an attempt; a simulated one says so."""
    return f"{attempt['device'] or 'no device'}{' (simulated)' if attempt['simulated'] else ''}"


def reason(run: Run) -> str:
    """Why a run did not pass, in a line; that a run passed after a failed attempt."""
    if run["success"]:
        return f"passed in attempt {run['attempt_number']}" if run["attempt_number"] > 1 else ""
    text = _one_line(run["failure"]["message"]) if run["failure"] else ""
    return shorten(text, _REASON_LENGTH)


def shorten(text: str, length: int) -> str:
    """The text, or the beginning of a longer one with an ellipsis, together `length` characters."""
    return text if len(text) <= length else f"{text[: length - 1]}…"


def _one_line(text: str) -> str:
    """The text without line breaks, so that its lines cannot pass for others of the command."""
    return " ".join(text.split())


def positions(failure: Failure | None, display: Callable[[str], str] = str) -> list[SourcePosition]:
    """Where the failing step is written, and then the steps that run its file; [] if that is not known.

    `display` is how a path of the workspace is shown.
    """
    if failure is None or "position" not in failure:
        return []
    failed_at = [failure["position"], *failure.get("run_from", ())]
    return [{**each, "file": display(each["file"])} for each in failed_at]


def place(position: SourcePosition) -> str:
    """ "flows/pay.yaml:12:3", which editors and CI systems turn into a link."""
    return f"{position['file']}:{position['line']}:{position['column']}"


def labels(runs: Iterable[Run]) -> dict[str, str]:
    """The name of the test of each run, by run id. Where tests share a name, with the flow's path or the test's id."""
    all_runs = list(runs)
    tests: dict[str, set[str]] = {}
    for run in all_runs:
        tests.setdefault(run["test_name"], set()).add(run["test_id"])
    named = {run["id"]: _label(run, shared=len(tests[run["test_name"]]) > 1) for run in all_runs}
    count = Counter(named.values())
    return {
        run["id"]: f"{named[run['id']]} on {run['platform']}"
        if count[named[run["id"]]] > 1 and run.get("platform")
        else named[run["id"]]
        for run in all_runs
    }


def _label(run: Run, *, shared: bool) -> str:
    return f"{run['test_name']} ({run.get('source_path') or run['test_id']})" if shared else run["test_name"]


def row(run: Run, label: str) -> list[str]:
    """The row of a run in a table of runs."""
    build = run["resolved_build_version"] or "-"
    return [_test(run, label), result(run), build, device(run), duration(run["execution_time_seconds"]), reason(run)]


def _test(run: Run, name: str) -> str:
    """The name of the test; of one that failed also its variant, if it has one: "Pay (LOCALE=de)"."""
    variant = run.get("variant")
    if run["success"] is not False or not variant:
        return name
    values: Mapping[str, Any] = variant["values"] or {}
    label = ", ".join(f"{variable}={values[variable]}" for variable in sorted(values))
    return f"{name} ({shorten(label, _VARIANT_LENGTH)})"


def counts(execution: Execution) -> str:
    """ "3 passed, 1 failed of 5 runs"."""
    return counts_text(execution["counts"] or {})


def counts_text(numbers: Mapping[str, Any]) -> str:
    """As `counts`, of the numbers."""
    total = numbers.get("total", 0)
    return f"{run_counts(numbers)} of {total} run{'' if total == 1 else 's'}"


def run_counts(numbers: Mapping[str, Any]) -> str:
    """ "3 passed, 1 failed"."""
    words = {"passed": "passed", "failed": "failed", "infra_failed": "without verdict", "cancelled": "cancelled"}
    words |= {"running": "running", "queued": "waiting"}
    parts = [f"{numbers[name]} {word}" for name, word in words.items() if numbers.get(name)]
    return ", ".join(parts) or "no runs"


def headline(execution: Execution, runs: Sequence[Run] = ()) -> str:
    """One sentence about an execution: its name, how it ended, also by its runs if they are given, and its numbers."""
    name = execution["workflow_name"] or execution.get("name") or "Execution"
    took = f" in {duration(execution['execution_time_seconds'])}" if execution["execution_time_seconds"] else ""
    return f"{name}: {state(execution, runs)}{took}, {counts(execution)}."


def show_headline(output: Output, execution: Execution, runs: Sequence[Run]) -> None:
    """The sentence about an execution, and what its results do not say."""
    output.result(headline(execution, runs))
    for note in notes(runs):
        output.result(note)


def notes(runs: Sequence[Run]) -> list[str]:
    """What results do not say, in sentences.

    Those are about parts of tests, about steps that have bound other elements than before, and about what simulated
    devices ran instead of the app.
    """
    names = labels(runs)
    partial = [
        f"{names[run['id']]}: {note}" if len(runs) > 1 else str(note) for run in runs if (note := run.get("partial"))
    ]
    return [*partial, *_bindings_changed(runs, names), *filter(None, [simulation(runs)])]


def _bindings_changed(runs: Sequence[Run], names: Mapping[str, str]) -> list[str]:
    """Which steps of runs that passed have bound other elements than in their last passes."""
    changes = [
        f"{names[run['id']]}, step {change['step_index'] + 1}: {_one_line(change['message'])}."
        for run in runs
        for change in (run.get("report_metadata") or {}).get("bindings_changed", ())
    ]
    more = len(changes) - _BINDINGS_SHOWN
    return [*changes[:_BINDINGS_SHOWN], *([f"{more} more steps have bound other elements."] if more > 0 else [])]


def simulation(runs: Sequence[Run]) -> str:
    """What simulated devices ran instead of the app, in words; "" if all devices are real."""
    ended = [run for run in runs if outcome(run) in _ENDINGS]
    simulated = [run for run in ended if is_simulated(run)]
    built_in = sum(bool(run["attempts"][-1].get("built_in_model")) for run in simulated)
    parts = (
        _simulated(built_in, len(ended), "which ran their built-in model instead of the build: they say nothing of it"),
        _simulated(len(simulated) - built_in, len(ended), "which ran a model instead of the app"),
    )
    return " ".join(filter(None, parts))


def _simulated(count: int, total: int, what: str) -> str:
    """The sentence on so many of all results; "" for none."""
    if not count:
        return ""
    results = "All results" if count == total else f"{count} of {total} results"
    return f"{results} come from simulated devices, {what}."


def is_simulated(run: Run) -> bool:
    """Whether a simulated device gave the result."""
    return bool(run["attempts"]) and run["attempts"][-1]["simulated"] is True


def current_build(app: App) -> tuple[str | None, str | None]:
    """Id and version of the current build, which is the chosen one, otherwise the newest; None without builds."""
    if app["current_build_id"]:
        return app["current_build_id"], app["current_version"]
    return app["latest_build_id"], app["latest_version"]


def state(execution: Execution, runs: Sequence[Run] = ()) -> str:
    """ "passed", "passed with help" if one of the runs did, "failed", "no verdict", "cancelled", or "cancelling" or the
    status of one that has not ended.
    """
    if execution["success"] and any(map(_passed_with_help, runs)):
        return "passed with help"
    if execution["success"] is not None:
        return "passed" if execution["success"] else "failed"
    status = str(execution["status"])
    if execution.get("cancel_requested_at") and status not in ("completed", "failed", "cancelled"):
        return "cancelling"
    return "no verdict" if status == "failed" else status


def show_runs(output: Output, runs: Iterable[Run]) -> None:
    """The table of runs, and which variables vary so much that they do not tell runs apart."""
    shown = list(runs)
    names = labels(shown)
    output.table(COLUMNS, [row(run, names[run["id"]]) for run in shown])
    varying = sorted({name for run in shown if (variant := run.get("variant")) for name in variant["left_out"]})
    if varying:
        output.warn(
            f'{", ".join(varying)} varied too often to tell the variants of a test apart: set "variant": false in env '
            "of the workflow or the test"
        )


def show_gate(output: Output, gate: Gate | BuildGate, names: Mapping[str, str] | None = None) -> None:
    """The gate's sentence, what it covers, and why each run that did not pass blocks or does not."""
    output.result(f"Gate: {gate['summary']}")
    output.result(f"  {gate['covers']}")
    for each in gate["reasons"]:
        kind = str(each["rule"]).replace("_", " ")
        commit_range = each["breakage"]["commit_range"] if each["breakage"] else None
        since = f" Since {commit_range}." if commit_range else ""
        test = (names or {}).get(each["run_id"] or "", each["test_name"])
        output.result(f"  {'blocks' if each['blocks'] else 'passes'}  {test} ({kind}): {each['detail']}{since}")


def first_failure(runs: Sequence[Run]) -> Run | None:
    """The first run with a failing verdict, else the first without a verdict."""
    for wanted in ("failed", "no verdict"):
        for run in runs:
            if outcome(run) == wanted:
                return run
    return None


def run_path(run: Run) -> str:
    """The path of a run's page in the dashboard."""
    return f"executions/{run['execution_id']}/runs/{run['id']}"


def show_failure(
    output: Output,
    whole: Run,
    flow: str | None = None,
    display: Callable[[str], str] = str,
    evidence: Iterable[str] = (),
) -> None:
    """The failing step of a run with its steps, its reason and where it is written, and lines on its `evidence`.

    `display` is how a path of the workspace is shown.
    """
    attempt = whole["attempts"][-1] if whole["attempts"] else None
    output.result()
    output.result(f"{whole['test_name']}{f' ({flow})' if flow else ''}: {outcome(whole)}{_step(whole, attempt)}")
    if whole["failure"]:
        written = positions(whole["failure"], display)
        at = f"{place(written[0])}: " if written else ""
        output.result(f"  {at}{whole['failure']['category']}: {_one_line(whole['failure']['message'])}")
        for each in written[1:]:
            output.result(f"    run from {place(each)}")
    for line in evidence:
        output.result(f"  {line}")


def _step(run: Run, attempt: Attempt | None) -> str:
    failure = run["failure"]
    if failure is None or failure["step_index"] is None or attempt is None:
        return ""
    for step in attempt["steps"]:
        if step["index"] == failure["step_index"]:
            return f" at step {step['index'] + 1}: {_one_line(step['text'])}"
    return f" at step {failure['step_index'] + 1}"


def show_steps(output: Output, run: Run) -> None:
    """The attempts of a run with all their steps and artifacts."""
    output.result(f"{run['test_name']}: {outcome(run)} {reason(run)}".rstrip())
    if note := run.get("simulation"):
        output.result(note)
    for attempt in run["attempts"]:
        output.result(f"attempt {attempt['number']} on {attempt_device(attempt)}, worker {attempt['worker']}")
        for step in attempt["steps"]:
            message = f": {step['message']}" if step["message"] else ""
            indent = "  " * (step["depth"] + 1)
            took = duration(step["duration_seconds"])
            written = f" {place(step['position'])}" if message and "position" in step else ""
            output.result(f"{indent}{step['index'] + 1}. {step['text']} [{step['status']}, {took}]{written}{message}")
        for artifact in attempt["artifacts"]:
            output.result(f"  {artifact['kind']}: {artifact['name']} {artifact['gone'] or ''}".rstrip())
