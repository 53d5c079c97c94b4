"""The sentence that explains a classification, with the counts behind its rule, and the phrases of all sentences."""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache

from services.reporting.model.attempts import BuildRef
from services.reporting.model.flaky import Assessment, Classification, Evidence

NAMES_SHOWN = 3
# What changes the direction of the text after it, as in a name that would turn the rest of its sentence around.
_DIRECTION_CONTROLS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def classification_detail(assessment: Assessment, versions: Mapping[str, str]) -> str:
    """One sentence that ends with a full stop; `versions` are the current ones by build id."""
    return keep_direction(f"{_BY_CLASS[assessment.classification](assessment.evidence, versions)}.")


def _insufficient(evidence: Evidence, versions: Mapping[str, str]) -> str:
    return f"{plural(evidence.decided, 'attempt')} with a verdict so far, of the {evidence.needed} needed"


def _broken(evidence: Evidence, versions: Mapping[str, str]) -> str:
    failed = f"Failed {_times(evidence.streak)} in a row since {_since(evidence, versions)}"
    storms = _in_storms(evidence, evidence.streak)
    if evidence.last_passed_build is not None:
        return f"{failed}{storms}; last passed on {_build(evidence.last_passed_build, versions)}"
    if evidence.cut:
        return f"{failed} or before{storms}; no pass in the newest {plural(evidence.decided, 'attempt')}"
    return f"{failed}{storms}; never passed"


def _flaky(evidence: Evidence, versions: Mapping[str, str]) -> str:
    attempts = f"in {plural(evidence.attempts, 'attempt')}{_left_out(evidence)}"
    builds = plural(evidence.builds, "build")
    if not evidence.mixed_builds:
        return f"Failed alone on {evidence.alone_builds} of {builds} between passing builds, {attempts}"
    text = f"Passed and failed on the same code in {evidence.mixed_builds} of {builds}"
    if evidence.alone_builds:
        text += f", and failed alone on {evidence.alone_builds} more between passing builds"
    return f"{text}, {attempts}"


def _regressed(evidence: Evidence, versions: Mapping[str, str]) -> str:
    broke = _build(evidence.since_build, versions)
    passes = f"{_at_least(evidence)}{plural(evidence.before, 'pass', 'passes')}"
    failed = f"failed {_times(evidence.streak)} since {_at(evidence.since_at)}{_in_storms(evidence, evidence.streak)}"
    return f"{broke[0].upper()}{broke[1:]} broke a run of {passes}: {failed}"


def _recovered(evidence: Evidence, versions: Mapping[str, str]) -> str:
    fixed = "" if evidence.failed_in_storms == evidence.before else "the fix on "  # storms pass by themselves
    passed = f"Passed {_times(evidence.streak)} in a row since {fixed}{_since(evidence, versions)}"
    failures = f"{_at_least(evidence)}{plural(evidence.before, 'failure')}"
    return f"{passed}, after {failures} in a row{_in_storms(evidence, evidence.before)}"


def _stable(evidence: Evidence, versions: Mapping[str, str]) -> str:
    passed = f"Passed {evidence.passed} of {plural(evidence.attempts, 'attempt')}"
    return f"{passed} over {plural(evidence.builds, 'build')}{_failures(evidence, versions)}{_left_out(evidence)}"


_BY_CLASS = {
    Classification.INSUFFICIENT_DATA: _insufficient,
    Classification.BROKEN: _broken,
    Classification.FLAKY: _flaky,
    Classification.REGRESSED: _regressed,
    Classification.RECOVERED: _recovered,
    Classification.STABLE: _stable,
}


def _left_out(evidence: Evidence) -> str:
    """What the counts exclude."""
    if not evidence.storm_attempts:
        return ""
    return f"; {plural(evidence.storm_attempts, 'attempt')} of {_storms(evidence.storms)} left out"


def _in_storms(evidence: Evidence, failures: int) -> str:
    """How many of the failures belong to storms, which failing streaks include."""
    count = evidence.failed_in_storms
    if not count:
        return ""
    which = f"{count} of them " if count < failures else "all " if count > 1 else ""
    return f", {which}in {_storms(evidence.failing_storms)}"


def _storms(count: int) -> str:
    return "an infrastructure storm" if count == 1 else f"{count} infrastructure storms"


def _failures(evidence: Evidence, versions: Mapping[str, str]) -> str:
    """Where a stable test failed."""
    count = evidence.attempts - evidence.passed
    if not count:
        return ""
    failures = {1: "the failure was", 2: "both failures were"}.get(count, f"all {count} failures were")
    if evidence.elsewhere:
        return f"; {failures} on another branch"
    if evidence.outdated:
        return f"; {failures} before its steps were edited"
    last = _build(evidence.last_failed_build, versions)
    return f"; {failures} on {last}" if evidence.failed_builds == 1 else f"; last failed on {last}"


def _at_least(evidence: Evidence) -> str:
    return "at least " if evidence.cut else ""


def _since(evidence: Evidence, versions: Mapping[str, str]) -> str:
    return f"{_build(evidence.since_build, versions)} ({_at(evidence.since_at)})"


def _build(build: BuildRef | None, versions: Mapping[str, str]) -> str:
    version = versions.get(build.id, build.version) if build and build.id else ""
    return f"build {version}" if version else "an unknown build"


def _at(moment: datetime | None) -> str:
    return utc_minute(moment) if moment else "an unknown time"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def plural(count: int, one: str, many: str | None = None) -> str:
    """ "1 run", "2 runs"."""
    return f"{count} {one if count == 1 else many or one + 's'}"


def keep_direction(sentence: str) -> str:
    """The sentence with a visible U+FFFD for each control of direction, all of which come from names in it.

    Isolates (U+2068) around the names would be right on pages, but are such marks themselves where terminals print.
    """
    return _DIRECTION_CONTROLS.sub("\N{REPLACEMENT CHARACTER}", sentence)


@lru_cache(maxsize=4096)
def utc_minute(moment: datetime) -> str:
    """A UTC minute."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def quote_names(names: Sequence[str]) -> str:
    """The first names in quotation marks, and the number of the others."""
    first = [f'"{name}"' for name in names[:NAMES_SHOWN]]
    more = len(names) - len(first)
    return ", ".join(first) + (f" and {more} more" if more else "")


def join_phrases(parts: Sequence[str]) -> str:
    """ "a, b and c"."""
    return " and ".join((", ".join(parts[:-1]), parts[-1])) if len(parts) > 1 else "".join(parts)
