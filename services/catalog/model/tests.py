"""Tests, the versions of their steps, quarantine, and imports of workspaces.

For a limited time, failures of a test in quarantine are counted and shown but do not block a gate.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from hashlib import sha256
from itertools import islice
from typing import TypeAlias

from mobiletest_automation.flows.environment import Environment
from mobiletest_automation.flows.labels import InvalidLabel, clean_tags
from mobiletest_automation.flows.workspace import FoundWorkspace, WorkspaceFlow
from mobiletest_automation.flows.workspace_config import Remark
from mobiletest_automation.flows.workspace_media import MediaFile
from services.catalog.model.text import validate_text
from services.catalog.model.values import InvalidValue, Json, Platform

Step: TypeAlias = "str | Mapping[str, Json]"

# What a stored version counts besides its steps and their positions; and each file that it needs.
VERSION_BYTES = 512
# The size of the tests of one execution.
PLAN_BYTES = 32 * 1024**2
DEFAULT_DAYS = 14
MOST_DAYS = 366
REASON_LIMIT = 1000
INTERNAL = "internal"
# Tests of one transaction: with their steps, and with those that they had before, at most 32 MiB.
BATCH = 16
MISSING_LIMIT = 2_000
Flows: TypeAlias = Sequence[WorkspaceFlow]


@dataclass(frozen=True, slots=True)
class Quarantine:
    """A quarantine of a test. `until` may lie in the past: expiry needs no job."""

    reason: str
    until: datetime
    by: str
    since: datetime


@dataclass(frozen=True, slots=True)
class Test:
    """A test: steps in words or commands, for one platform or (None) for both.

    `version_number` rises by one with each edit of the steps, `revision` with every write. `quarantine` may be over.
    A test that was imported has the name of its `workspace` and the path of its flow there, which no other test has,
    and the pictures and videos of the workspace that its steps need. `positions` are where its steps are in the files
    of the workspace (`flows.positions`), "" if that is not known: moved lines make no other test.
    """

    __test__ = False  # not a pytest class

    id: str
    org_id: str
    name: str
    created_at: datetime
    updated_at: datetime
    description: str | None = None
    platform: Platform | None = None
    tags: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    env: Environment = field(default_factory=dict, repr=False)
    timeout_seconds: int | None = None
    quarantine: Quarantine | None = None
    version_number: int = 1
    revision: int = 1
    deleted_at: datetime | None = None
    workspace: str | None = None
    source_path: str | None = None
    files: tuple[MediaFile, ...] = ()
    positions: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class TestVersion:
    """The steps of a test, and the files that they need, as they were from one edit to the next.

    `positions` are those of the latest import of these steps.
    """

    __test__ = False

    test_id: str
    org_id: str
    version_number: int
    steps: tuple[Step, ...]
    created_at: datetime
    files: tuple[MediaFile, ...] = ()
    positions: str = field(default="", compare=False, repr=False)


def version_bytes(positions: str, files: Sequence[MediaFile]) -> int:
    """What a stored version counts besides its steps."""
    return VERSION_BYTES * (1 + len(files)) + len(positions.encode())


def steps_digest(steps: str) -> str:
    """Of steps as JSON: equal steps are stored once."""
    return sha256(steps.encode()).hexdigest()


def mark_test_deleted(test: Test, at: datetime) -> Test:
    """The test as it is stored after its deletion: what histories and read models need of it. Its steps are removed
    later, with its versions.
    """
    gone = replace(test, description=None, env={}, quarantine=None)
    return replace(gone, deleted_at=at, revision=test.revision + 1)


def has_other_steps(before: Test, after: Test) -> bool:
    """Whether the changed test needs a new version of its steps."""
    return (after.steps, after.files) != (before.steps, before.files)


def at_version(test: Test, version: TestVersion | None) -> Test:
    """The test as it was in the version; None: as it is."""
    if version is None:
        return test
    return replace(
        test,
        version_number=version.version_number,
        steps=version.steps,
        files=version.files,
        positions=version.positions,
    )


@dataclass(frozen=True, slots=True)
class TestFilter:
    """Which tests: that run on a platform (of it, or of none), carry a tag, are among `ids`, fit a name pattern, are in
    quarantine at a moment.
    """

    __test__ = False

    platform: Platform | None = None
    tag: str | None = None
    ids: tuple[str, ...] | None = None
    pattern: str | None = None
    quarantined_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class FlowProblem:
    """A mistake in steps, or a notice: the path to it, what is wrong, and both in one sentence.

    In a text it has a line and a column, from 1, in the flow itself or in a `file` that the flow runs.
    """

    path: str
    message: str
    sentence: str
    file: str = ""
    line: int | None = None
    column: int | None = None


@dataclass(frozen=True, slots=True)
class ReadFlow:
    """The steps of a test as they are stored, with the name and tags of the flow they come from; or their problems.

    `notices` are about what is kept but has no effect.
    """

    name: str | None = None
    tags: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    problems: tuple[FlowProblem, ...] = ()
    notices: tuple[FlowProblem, ...] = ()


def validate_tags(tags: tuple[str, ...]) -> tuple[str, ...]:
    """The trimmed tags without repetitions, in the order given.

    Raises:
        InvalidValue: empty, too long or too many.
    """
    try:
        return clean_tags(tags)
    except InvalidLabel as wrong:
        raise InvalidValue(wrong.field, wrong.message, wrong.kind) from None


def is_platform_compatible(test: Platform | None, app: Platform) -> bool:
    """Whether a test may be attached to an app: their platforms are the same, or the test is for both."""
    return test is None or test is app


def active_quarantine(quarantine: Quarantine | None, now: datetime) -> Quarantine | None:
    """The quarantine if it is still in force, else None."""
    return quarantine if quarantine is not None and quarantine.until > now else None


def grant_quarantine(
    before: Quarantine | None, now: datetime, *, reason: str, until: datetime | None, by: str
) -> Quarantine:
    """The quarantine from now on, for the default duration without `until`; if one is in force, its `since` is kept.

    Raises:
        InvalidValue: an empty or too long reason, or an end that is past or too far away.
    """
    present = active_quarantine(before, now)
    return Quarantine(
        reason=validate_text(reason, "reason", REASON_LIMIT, lines=True),
        until=_validate_end(until, now),
        by=by,
        since=present.since if present else now,
    )


def _validate_end(until: datetime | None, now: datetime) -> datetime:
    if until is None:
        return now + timedelta(days=DEFAULT_DAYS)
    if until <= now:
        raise InvalidValue("until", "must be in the future")
    if until > now + timedelta(days=MOST_DAYS):
        raise InvalidValue("until", f"must be at most {MOST_DAYS} days ahead; the quarantine can be renewed later")
    return until


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import has done, each list by path; with `dry_run` what it would do: nothing is stored."""

    workspace: str
    dry_run: bool
    contents: FoundWorkspace
    created: tuple[Test, ...] = ()
    changed: tuple[Test, ...] = ()
    unchanged: tuple[Test, ...] = ()
    refused: tuple[tuple[str, tuple[Remark, ...]], ...] = ()
    missing: tuple[Test, ...] = ()
    notices: tuple[Remark, ...] = ()


def batches(flows: Iterable[WorkspaceFlow]) -> Iterable[Flows]:
    """The flows in groups, one for each transaction."""
    left = iter(flows)
    while batch := tuple(islice(left, BATCH)):
        yield batch
