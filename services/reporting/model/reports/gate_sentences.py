"""The sentences of a gate: one for each run that did not pass, and a summary."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from services.reporting.model.classification_detail import (
    NAMES_SHOWN,
    classification_detail,
    join_phrases,
    keep_direction,
    plural,
    quote_names,
    utc_minute,
)
from services.reporting.model.reports.gate import (
    FailureContext,
    GateCounts,
    GateReason,
    GateResult,
    GateRule,
    GateRun,
)
from services.reporting.model.snapshots import Simulation, Status
from services.reporting.model.tables import LastRun
from services.reporting.model.triages import NOTE_SHOWN, FailureState, TriageSnapshot

Versions = Mapping[str, str]  # current versions by build


def reason_detail(run: GateRun, rule: GateRule, context: FailureContext, base: str, versions: Versions) -> str:
    """Why the rule applies; `base` is the base branch."""
    return keep_direction(_reason_detail(run, rule, context, base, versions))


def _reason_detail(run: GateRun, rule: GateRule, context: FailureContext, base: str, versions: Versions) -> str:
    match rule:
        case GateRule.QUARANTINED:
            return _quarantined(context)
        case GateRule.NO_VERDICT:
            return _no_verdict(run)
        case GateRule.FLAKY:
            return f"Classified flaky: {classification_detail(context.assessment, versions)}"
        case GateRule.KNOWN_ON_BASE:
            return _known(context, base, versions)
        case GateRule.NEWLY_BROKEN:
            return f"Fails here, and passed on {base}: {_on_base(context, versions)}.{_of_unknown_branch(run)}"
        case GateRule.NEVER_PASSED:
            return f"Fails here, and ran on {base} without ever passing.{_of_unknown_branch(run)}"
        case GateRule.NOT_RUN_BEFORE:
            return _not_run_before(run, base)


def _quarantined(context: FailureContext) -> str:
    quarantine = context.quarantine
    if quarantine is None:
        return "In quarantine."
    return f'In quarantine until {utc_minute(quarantine.until)}, set by {quarantine.by}: "{quarantine.reason}".'


def triage_sentence(triage: TriageSnapshot) -> str:
    """What people wrote about the failure of a run; it does not change whether the run blocks."""
    opening = {
        FailureState.OPEN: "About this failure",
        FailureState.KNOWN: "The failure is known",
        FailureState.FIXED: f"The failure is said to be fixed{f' in {triage.fixed_in}' if triage.fixed_in else ''}",
    }[triage.state]
    note = " ".join((triage.note or "").split())
    note = note if len(note) <= NOTE_SHOWN else f"{note[: NOTE_SHOWN - 1]}…"
    said = [f'"{note}"' if note else "", triage.ticket_url or "", f"owner {triage.owner}" if triage.owner else ""]
    return f"{opening}: {', '.join(filter(None, said))}." if any(said) else f"{opening}."


def _no_verdict(run: GateRun) -> str:
    if run.status is Status.CANCELLED:
        return "Was cancelled before it had a verdict."
    return f"Ended without a verdict ({run.category or 'unknown'}), so nothing is known of what it tests."


def _known(context: FailureContext, base: str, versions: Versions) -> str:
    text = f"Fails on {base} too: {_on_base(context, versions)}"
    first = context.breakage.first_failing if context.breakage else None
    verdict = context.on_base.verdict
    if first and verdict and (first.uploaded_at, first.build_id) < verdict.build_order:
        text += f", and fails since build {first.version}"
    return f"{text}."


def _not_run_before(run: GateRun, base: str) -> str:
    if run.branch is None:
        return f"Fails here, and no run on an earlier build that names {base} has a verdict.{_of_unknown_branch(run)}"
    builds = "an earlier build" if run.branch == base else "any build"
    return f"Fails here, and has no verdict on {builds} of {base}."


def _of_unknown_branch(run: GateRun) -> str:
    return "" if run.branch is not None else " The branch of this run is not known."


def _on_base(context: FailureContext, versions: Versions) -> str:
    passed, verdict = context.on_base.passed, context.on_base.verdict
    if passed is not None:
        version = versions.get(passed.build.id) or passed.build.version or "of an unknown version"
        return f"on build {version}, at {utc_minute(passed.at)}"
    if verdict is None:
        return "no verdict"
    ended = "failed" if verdict.fails else "passed"
    build, moment = versions.get(verdict.build_id) or "of an unknown version", utc_minute(verdict.verdict.ended_at)
    if verdict.passed + verdict.failed == 1:
        return f"its only run on build {build} {ended}, at {moment}"
    return f"its newest run there, on build {build}, {ended} at {moment}"


@dataclass(frozen=True, slots=True)
class GateUnit:
    """What a gate counts, and what it says when there is none."""

    one: str
    none: str


EXECUTION = GateUnit("run", "the execution has no runs, so nothing was tested")
BUILD = GateUnit("attached test", "no test is attached to the app, so nothing was tested")


_MODELS = {
    Simulation.BUILT_IN_MODEL: "their built-in model instead of the build, of which this says nothing",
    Simulation.MODEL: "a model instead of the app",
}


def simulation_note(runs: Sequence[Simulation | None]) -> str:
    """What simulated devices ran instead of the app in these ended runs; empty if all devices are real."""
    counted = {model: runs.count(simulation) for simulation, model in _MODELS.items()}
    return " ".join(_simulated(count, len(runs), model) for model, count in counted.items() if count)


def _simulated(count: int, total: int, model: str) -> str:
    opening = "Simulated" if count == total else f"In {count} of {plural(total, 'run')} simulated"
    return f"{opening} devices ran {model}."


def bindings_note(runs: Sequence[GateRun | LastRun]) -> str:
    """In how many of these ended runs a step has bound another element than before; empty for none."""
    count = sum(run.bindings_changed for run in runs)
    if not count:
        return ""
    passed = "1 run that passed" if count == 1 else f"{count} runs that passed"
    return f"In {passed}, steps have bound other elements than in their last passes."


def gate_summary(
    result: GateResult,
    reasons: Sequence[GateReason],
    counts: GateCounts,
    base: str,
    unit: GateUnit = EXECUTION,
    not_run: Sequence[str] = (),
    *,
    ended: Sequence[GateRun | LastRun] = (),
) -> str:
    """One sentence for a person, and more on simulated devices and changed bindings of the `ended` runs that count.

    `not_run` are the names of the tests of a build that did not run there.
    """
    if not counts.total:
        return f"Blocked: {unit.none}."
    parts = [_opening(result, reasons, counts, unit)]
    let_pass = [reason for reason in reasons if not reason.rule.blocks]
    if let_pass:
        parts.append(_let_pass(let_pass, base))
    if not_run:
        parts.append(f"{plural(len(not_run), 'test was', 'tests were')} not run ({quote_names(not_run)})")
    if counts.pending and result is GateResult.BLOCK:
        parts.append(f"{plural(counts.pending, 'run has', 'runs have')} not ended")
    notes = simulation_note([run.simulation for run in ended]), bindings_note(ended)
    return keep_direction(" ".join(filter(None, [f"{'; '.join(parts)}.", *notes])))


def _opening(result: GateResult, reasons: Sequence[GateReason], counts: GateCounts, unit: GateUnit) -> str:
    if result is GateResult.BLOCK:
        blocking = [text for rule in _BLOCKING if (text := _blocking(rule, reasons))]
        return f"Blocked: {join_phrases(blocking) if blocking else f'no {unit.one} passed'}"
    if result is GateResult.PENDING:
        return f"Pending: {_pending(counts, unit)}"
    if counts.passed == counts.total:
        passed = f"all {counts.total} {unit.one}s passed"
        return f"Passed: {f'the only {unit.one} passed' if counts.total == 1 else passed}"
    return f"Passed: {counts.passed} of {plural(counts.total, unit.one)} passed"


def _pending(counts: GateCounts, unit: GateUnit) -> str:
    if unit is not EXECUTION:
        return f"{plural(counts.pending, 'run has', 'runs have')} not ended, and nothing blocks yet"
    blocks = "" if counts.pending == counts.total else ", and no ended run blocks"
    have = "has" if counts.pending == 1 else "have"
    return f"{counts.pending} of {plural(counts.total, 'run')} {have} not ended{blocks}"


_BLOCKING = {
    GateRule.NEWLY_BROKEN: ("test newly broken", "tests newly broken"),
    GateRule.NEVER_PASSED: ("test that never passed", "tests that never passed"),
    GateRule.NOT_RUN_BEFORE: ("failing test that was not run before", "failing tests that were not run before"),
    GateRule.NO_VERDICT: ("test without a verdict", "tests without a verdict"),
}


def _blocking(rule: GateRule, reasons: Sequence[GateReason]) -> str:
    names = _names([reason for reason in reasons if reason.rule is rule])
    return f"{plural(len(names), *_BLOCKING[rule])} ({quote_names(names)})" if names else ""


def _names(reasons: Iterable[GateReason]) -> list[str]:
    """A test counts once, even if it ran on two platforms."""
    return list({reason.run.test_id: reason.run.test_name for reason in reasons}.values())


def _let_pass(reasons: Sequence[GateReason], base: str) -> str:
    says = {GateRule.KNOWN_ON_BASE: f"known on {base}", GateRule.FLAKY: "flaky", GateRule.QUARANTINED: "in quarantine"}
    groups = {rule: [reason for reason in reasons if reason.rule is rule] for rule in says}
    listed = [f"{len(some)} {says[rule]}: {quote_names(_names(some))}" for rule, some in groups.items() if some]
    return f"{plural(len(reasons), 'failure does', 'failures do')} not block ({'; '.join(listed)})"


def execution_coverage(runs: Sequence[GateRun], total: int) -> str:
    """Which tests the execution ran, on which builds."""
    names = sorted({run.test_id: run.test_name for run in runs}.values(), key=str.casefold)
    versions = sorted({run.build_version for run in runs if run.build_version})
    if not names:
        return "No run of the execution is known."
    builds = f" on {'build' if len(versions) == 1 else 'builds'} {_bounded(versions)}" if versions else ""
    waits = f"; {plural(total - len(runs), 'run has', 'runs have')} not begun" if total > len(runs) else ""
    return keep_direction(f"Covers {plural(len(names), 'test')}{builds}: {quote_names(names)}{waits}.")


def build_coverage(version: str, judged: int, attached: int, others: int) -> str:
    """How many attached tests have a verdict on the build; `others` are tests that ran there and are not attached."""
    text = f"Covers {judged} of {plural(attached, 'attached test')}, by the newest verdict of each on build {version}"
    are = "is" if others == 1 else "are"
    beside = f"; {plural(others, 'test')} that ran on it {are} not attached and not judged" if others else ""
    return keep_direction(f"{text}{beside}.")


def _bounded(texts: Sequence[str]) -> str:
    more = len(texts) - NAMES_SHOWN
    return ", ".join(texts[:NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")
