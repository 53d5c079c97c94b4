"""The sentence that explains a classification, always with the counts behind the rule."""

from collections.abc import Mapping
from datetime import UTC, datetime

from services.reporting.model.flaky import Assessment, Classification, Evidence
from services.reporting.model.history import BuildRef


def sentence(assessment: Assessment, versions: Mapping[str, str]) -> str:
    """One sentence that ends with a full stop; `versions` are the present ones by build id."""
    evidence = assessment.evidence
    text = _BY_CLASS[assessment.classification](evidence, versions)
    return f"{text}{_left_out(evidence)}."


def _insufficient(evidence: Evidence, versions: Mapping[str, str]) -> str:
    return f"{_plural(evidence.decided, 'decided attempt')} of the {evidence.needed} needed"


def _broken(evidence: Evidence, versions: Mapping[str, str]) -> str:
    text = f"Failed {_times(evidence.streak)} in a row since {_since(evidence, versions)}"
    if evidence.last_passed_build is not None:
        return f"{text}; last passed on {_build(evidence.last_passed_build, versions)}"
    if evidence.full_window:
        return f"{text}; no pass in the newest {_plural(evidence.decided, 'attempt')}"
    return f"{text}; never passed"


def _flaky(evidence: Evidence, versions: Mapping[str, str]) -> str:
    attempts = f"in {_plural(evidence.attempts, 'attempt')}"
    builds = _plural(evidence.builds, "build")
    if not evidence.mixed_builds:
        return f"Failed alone on {evidence.alone} of {builds} between passing builds, {attempts}"
    text = f"Passed and failed on the same code in {evidence.mixed_builds} of {builds}"
    if evidence.alone:
        text += f", and failed alone on {evidence.alone} more between passing builds"
    return f"{text}, {attempts}"


def _regressed(evidence: Evidence, versions: Mapping[str, str]) -> str:
    broke = _build(evidence.since_build, versions)
    failures = f"failed {_times(evidence.streak)} since {_at(evidence.since_at)}"
    return f"{broke[0].upper()}{broke[1:]} broke a run of {_plural(evidence.before, 'pass', 'passes')}: {failures}"


def _recovered(evidence: Evidence, versions: Mapping[str, str]) -> str:
    after = f"after {_plural(evidence.before, 'failure')} in a row"
    return f"Passed {_times(evidence.streak)} in a row since the fix on {_since(evidence, versions)}, {after}"


def _stable(evidence: Evidence, versions: Mapping[str, str]) -> str:
    passed = f"Passed {evidence.passed} of {_plural(evidence.attempts, 'attempt')}"
    return f"{passed} over {_plural(evidence.builds, 'build')}"


_BY_CLASS = {
    Classification.INSUFFICIENT_DATA: _insufficient,
    Classification.BROKEN: _broken,
    Classification.FLAKY: _flaky,
    Classification.REGRESSED: _regressed,
    Classification.RECOVERED: _recovered,
    Classification.STABLE: _stable,
}


def _left_out(evidence: Evidence) -> str:
    if not evidence.storm_attempts:
        return ""
    storms = "an infrastructure storm" if evidence.storms == 1 else f"{evidence.storms} infrastructure storms"
    return f"; {_plural(evidence.storm_attempts, 'attempt')} of {storms} left out"


def _since(evidence: Evidence, versions: Mapping[str, str]) -> str:
    return f"{_build(evidence.since_build, versions)} ({_at(evidence.since_at)})"


def _build(build: BuildRef | None, versions: Mapping[str, str]) -> str:
    return f"build {versions.get(build.id, build.version)}" if build and build.id else "an unknown build"


def _at(at: datetime | None) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC") if at else "an unknown time"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _plural(count: int, one: str, many: str | None = None) -> str:
    return f"{count} {one if count == 1 else many or one + 's'}"
