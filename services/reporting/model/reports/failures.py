"""A group of failures as an object: what people wrote about it, and the tests, builds and variants that have it."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from services.reporting.model.app_failures import AppFailure
from services.reporting.model.attempts import BuildRef
from services.reporting.model.snapshots import BuildSnapshot, TestSnapshot
from services.reporting.model.tables import FailureKey, Group, GroupKey
from services.reporting.model.triages import FailureState, TriageSnapshot
from services.reporting.model.variants import KnownVariants, test_of


@dataclass(frozen=True, slots=True)
class ListedFailure:
    """Failures of an app with the same fingerprint; `reopened` None: see `is_reopened`."""

    key: FailureKey
    failure: AppFailure
    app_name: str
    triage: TriageSnapshot | None
    reopened: bool | None


@dataclass(frozen=True, slots=True)
class FailureCount:
    """How many runs of one test, or on one build, ended with a failure, and the last of them."""

    count: int
    first_seen_at: datetime
    last_seen_at: datetime
    run_id: str
    execution_id: str


@dataclass(frozen=True, slots=True)
class FailureReport:
    """A group of failures and where they occurred: by test, by build, and by the label of the variant.

    `known_tests` and `known_builds` are the copies of both, by id, as far as they are known. `counted_all`: whether
    none were left out.
    """

    listed: ListedFailure
    tests: Mapping[str, FailureCount]
    builds: Mapping[str, FailureCount]
    variants: Mapping[str, int]
    known_tests: Mapping[str, TestSnapshot]
    known_builds: Mapping[str, BuildSnapshot]
    counted_all: bool


def is_reopened(newest: BuildRef | None, triage: TriageSnapshot | None, fixed_in: BuildSnapshot | None) -> bool | None:
    """Whether the `newest` build that has it was uploaded after the one in which it was fixed; None: unknown."""
    if triage is None or triage.state is not FailureState.FIXED or fixed_in is None or newest is None:
        return None
    return newest.key > (fixed_in.uploaded_at, fixed_in.build_id)


def count_by_test(groups: Iterable[tuple[GroupKey, Group]]) -> dict[str, FailureCount]:
    """By test, in the order of the groups."""
    return _count((test_of(subject), group) for (_, subject, _, _), group in groups)


def count_by_build(groups: Iterable[tuple[GroupKey, Group]]) -> dict[str, FailureCount]:
    """By build, in the order of the groups."""
    return _count((build_id, group) for (_, _, build_id, _), group in groups)


def _count(groups: Iterable[tuple[str, Group]]) -> dict[str, FailureCount]:
    counts: dict[str, FailureCount] = {}
    for key, group in groups:
        seen = FailureCount(group.count, group.first_seen_at, group.last_seen_at, group.run_id, group.execution_id)
        known = counts.get(key)
        counts[key] = _sum(known, seen) if known else seen
    return counts


def _sum(one: FailureCount, other: FailureCount) -> FailureCount:
    newest = max(one, other, key=lambda seen: (seen.last_seen_at, seen.run_id))
    first = min(one.first_seen_at, other.first_seen_at)
    return replace(newest, count=one.count + other.count, first_seen_at=first)


def count_by_variant(groups: Iterable[tuple[GroupKey, Group]], variants: KnownVariants) -> dict[str, int]:
    """By what tells the variant from the others of its test, the most frequent first."""
    counts: Counter[str] = Counter()
    for (_, subject, _, _), group in groups:
        if label := variants.label(subject):
            counts[label] += group.count
    return dict(counts.most_common())


def newest_upload_first(build_ids: Iterable[str], known: Mapping[str, BuildSnapshot]) -> Sequence[str]:
    """Builds of which nothing is known come last."""
    unknown = [build_id for build_id in build_ids if build_id not in known]
    order = sorted((build_id for build_id in build_ids if build_id in known), key=lambda each: _order(known[each]))
    return [*reversed(order), *unknown]


def _order(build: BuildSnapshot) -> tuple[datetime, str]:
    return (build.uploaded_at, build.build_id)
