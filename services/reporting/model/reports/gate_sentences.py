"""The sentences of a gate: one for each run that did not pass, and a summary."""

from collections.abc import Mapping, Sequence

from services.reporting.model.classification_detail import (
    classification_detail,
    join_phrases,
    plural,
    quote_names,
    utc_minute,
)
from services.reporting.model.reports.gate import FailureContext, GateReason, GateResult, GateRule, GateRun
from services.reporting.model.snapshots import Status

Versions = Mapping[str, str]  # current versions by build


def reason_detail(run: GateRun, rule: GateRule, context: FailureContext, base: str, versions: Versions) -> str:
    """Why the rule applies; `base` is the base branch."""
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
            return _newly_broken(run, context, base, versions)


def _quarantined(context: FailureContext) -> str:
    quarantine = context.quarantine
    if quarantine is None:
        return "In quarantine."
    return f'In quarantine until {utc_minute(quarantine.until)}, set by {quarantine.by}: "{quarantine.reason}".'


def _no_verdict(run: GateRun) -> str:
    if run.status is Status.CANCELLED:
        return "Was cancelled before it had a verdict."
    return f"Ended without a verdict ({run.category or 'unknown'}), so nothing is known of what it tests."


def _known(context: FailureContext, base: str, versions: Versions) -> str:
    text = f"{f'Fails on {base}' if _named(context) else 'Failed before'} too: {_on_base(context, versions)}"
    first = context.breakage.first_failing if context.breakage else None
    verdict = context.on_base.verdict if context.on_base else None
    if first and verdict and (first.uploaded_at, first.build_id) < verdict.build_order:
        text += f", and fails since build {first.version}"
    return f"{text}."


def _newly_broken(run: GateRun, context: FailureContext, base: str, versions: Versions) -> str:
    if context.on_base is None:
        return f"Fails here, and has no verdict on {f'another build of {base}' if run.branch else 'an earlier build'}."
    where = f"on {base}" if _named(context) else "before"
    return f"Fails here, and passed {where}: {_on_base(context, versions)}."


def _named(context: FailureContext) -> bool:
    """Whether CI named the branch of what was found; a team that names none only has builds before and after."""
    found = context.on_base
    return found is not None and (found.passed.branch if found.passed else found.verdict.branch) is not None


def _on_base(context: FailureContext, versions: Versions) -> str:
    if context.on_base is None:
        return "no verdict"
    if context.on_base.passed:
        passed = context.on_base.passed
        build = versions.get(passed.build.id) or passed.build.version or "of an unknown version"
        return f"on build {build}, at {utc_minute(passed.started_at)}"
    verdict = context.on_base.verdict
    count, total = (verdict.failed if verdict.fails else verdict.passed), verdict.passed + verdict.failed
    ended = "failed" if verdict.fails else "passed"
    build, moment = versions.get(verdict.build_id) or "of an unknown version", utc_minute(verdict.verdict.ended_at)
    if total == 1:
        return f"its only run on build {build} {ended}, at {moment}"
    return f"{count} of {total} runs on build {build} {ended}, the last at {moment}"


def gate_summary(
    result: GateResult, reasons: Sequence[GateReason], *, total: int, passed: int, pending: int, base: str
) -> str:
    """One sentence for a person."""
    if not total:
        return "Blocked: the execution has no runs, so nothing was tested."
    parts = [_opening(result, reasons, total=total, passed=passed, pending=pending)]
    let_pass = [reason for reason in reasons if not reason.rule.blocks]
    if let_pass:
        parts.append(_let_pass(let_pass, base))
    if pending and result is GateResult.BLOCK:
        parts.append(f"{plural(pending, 'run has', 'runs have')} not ended")
    return f"{'; '.join(parts)}."


def _opening(result: GateResult, reasons: Sequence[GateReason], *, total: int, passed: int, pending: int) -> str:
    if result is GateResult.BLOCK:
        return f"Blocked: {join_phrases([text for rule in _BLOCKING if (text := _blocking(rule, reasons))])}"
    if result is GateResult.PENDING:
        blocks = "" if pending == total else ", and no ended run blocks"
        return f"Pending: {pending} of {plural(total, 'run')} {'has' if pending == 1 else 'have'} not ended{blocks}"
    if passed == total:
        return "Passed: the only run passed" if total == 1 else f"Passed: all {total} runs passed"
    return f"Passed: {passed} of {plural(total, 'run')} passed"


_BLOCKING = {
    GateRule.NEWLY_BROKEN: ("test newly broken", "tests newly broken"),
    GateRule.NO_VERDICT: ("test without a verdict", "tests without a verdict"),
}


def _blocking(rule: GateRule, reasons: Sequence[GateReason]) -> str:
    """A test counts once, even if it ran on two platforms."""
    names = {reason.run.test_id: reason.run.test_name for reason in reasons if reason.rule is rule}
    return f"{plural(len(names), *_BLOCKING[rule])} ({quote_names(list(names.values()))})" if names else ""


def _let_pass(reasons: Sequence[GateReason], base: str) -> str:
    says = {GateRule.KNOWN_ON_BASE: f"known on {base}", GateRule.FLAKY: "flaky", GateRule.QUARANTINED: "in quarantine"}
    counts = {rule: sum(reason.rule is rule for reason in reasons) for rule in says}
    listed = ", ".join(f"{count} {says[rule]}" for rule, count in counts.items() if count)
    return f"{plural(len(reasons), 'failure does', 'failures do')} not block ({listed})"
