"""What CI said of the runs on builds, branches and pull requests: the newest of each, in whatever order runs arrive.

A run that is started by hand names nothing, so it takes nothing from what CI named. A run of an unknown branch belongs
to no branch.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from services.reporting.model.snapshots import Outcome, RunSnapshot

# Of a branch; older ones are found among its executions.
BUILDS_KEPT = 20


class BranchKind(StrEnum):
    """What a line of development is named by; ANY has all runs of an app, also those of an unknown branch."""

    BRANCH = "branch"
    PULL_REQUEST = "pull_request"
    ANY = "any"


# What a report may list.
NAMED_KINDS = (BranchKind.BRANCH, BranchKind.PULL_REQUEST)


BuildSourceKey = tuple[str, str]  # app, build
BranchKey = tuple[str, str, str]  # app, kind, name


@dataclass(slots=True, unsafe_hash=True)
class NamedText:
    """A text, and the newest run that named it."""

    ended_at: datetime
    run_id: str
    text: str

    @property
    def recency(self) -> tuple[datetime, str]:
        return (self.ended_at, self.run_id)


@dataclass(slots=True, unsafe_hash=True)
class SourceRevision:
    """The branch and commit that a build was made from, as CI named them.

    They are those of the newest finished run for which CI named a branch, else of the newest for which it named a
    commit, so that a run that is started by hand changes nothing.
    """

    ended_at: datetime
    run_id: str
    branch: str | None
    commit_sha: str | None

    @property
    def recency(self) -> tuple[bool, datetime, str]:
        return (self.branch is not None, self.ended_at, self.run_id)


@dataclass(slots=True, unsafe_hash=True)
class BuildSource:
    """What CI named for a build of an app; the repository is that of the newest run that named one."""

    org_id: str
    revision: SourceRevision | None = None
    repository: NamedText | None = None

    @property
    def branch(self) -> str | None:
        return self.revision.branch if self.revision else None

    @property
    def commit_sha(self) -> str | None:
        return self.revision.commit_sha if self.revision else None


@dataclass(slots=True, unsafe_hash=True)
class BranchBuild:
    """A build on which a run of the branch ended, and the commit that such a run named last."""

    build_id: str
    uploaded_at: datetime
    commit: NamedText | None = None

    @property
    def order(self) -> tuple[datetime, str]:
        """What builds are ordered by."""
        return (self.uploaded_at, self.build_id)


@dataclass(slots=True, unsafe_hash=True)
class BranchRun:
    """The newest finished run of a branch."""

    ended_at: datetime
    run_id: str
    execution_id: str
    outcome: Outcome

    @property
    def recency(self) -> tuple[datetime, str]:
        return (self.ended_at, self.run_id)


@dataclass(slots=True, unsafe_hash=True)
class BranchRow:
    """A branch or pull request of an app. `builds` are the newest ones, newest first; `head` is the branch of a pull
    request.
    """

    org_id: str
    last_run: BranchRun
    commit: NamedText | None = None
    repository: NamedText | None = None
    ci_system: NamedText | None = None
    head: NamedText | None = None
    builds: tuple[BranchBuild, ...] = ()


def build_source_key(run: RunSnapshot) -> BuildSourceKey | None:
    """The build of which the run says something; None if it says nothing."""
    names_any = run.branch is not None or run.commit_sha is not None or run.repository is not None
    return (run.app_id, run.build.id) if names_any and run.app_id and run.build else None


def branch_keys(run: RunSnapshot) -> Iterator[BranchKey]:
    """The branch and the pull request of the run, and the key of all runs of its app."""
    if run.app_id:
        yield all_runs_key(run.app_id)
    if run.app_id and run.branch is not None:
        yield (run.app_id, BranchKind.BRANCH.value, run.branch)
    if run.app_id and run.pr_number is not None:
        yield (run.app_id, BranchKind.PULL_REQUEST.value, str(run.pr_number))


def all_runs_key(app_id: str) -> BranchKey:
    """The key of all runs of an app."""
    return (app_id, BranchKind.ANY.value, "")


def with_source(known: BuildSource | None, run: RunSnapshot) -> BuildSource:
    """The source of the build with what this finished run says."""
    known = known or BuildSource(run.org_id)
    revision, repository = newer_revision(known.revision, run), newest_text(known.repository, run, run.repository)
    return BuildSource(known.org_id, revision, repository)


def newer_revision(known: SourceRevision | None, run: RunSnapshot) -> SourceRevision | None:
    """The source revision with what this finished run names."""
    if run.branch is None and run.commit_sha is None:
        return known
    named = SourceRevision(run.ended_at, run.run_id, run.branch, run.commit_sha)
    return named if known is None or named.recency > known.recency else known


def with_run(known: BranchRow | None, key: BranchKey, run: RunSnapshot, outcome: Outcome) -> BranchRow:
    """The branch with this finished run of it."""
    last = BranchRun(run.ended_at, run.run_id, run.execution_id, outcome)
    known = known or BranchRow(run.org_id, last)
    is_pull_request = key[1] == BranchKind.PULL_REQUEST.value
    return replace(
        known,
        last_run=max(known.last_run, last, key=lambda one: one.recency),
        commit=newest_text(known.commit, run, run.commit_sha),
        repository=newest_text(known.repository, run, run.repository),
        ci_system=newest_text(known.ci_system, run, run.ci_system),
        head=newest_text(known.head, run, run.branch) if is_pull_request else None,
        builds=_builds(known.builds, run),
    )


def _builds(known: tuple[BranchBuild, ...], run: RunSnapshot) -> tuple[BranchBuild, ...]:
    """A build that is no longer among the newest never comes back, because no upload becomes newer."""
    if run.build is None:
        return known
    build_id = run.build.id
    before = next((build for build in known if build.build_id == build_id), None)
    uploaded_at = max(before.uploaded_at, run.build.uploaded_at) if before else run.build.uploaded_at
    build = BranchBuild(build_id, uploaded_at, newest_text(before.commit if before else None, run, run.commit_sha))
    builds = [build, *(other for other in known if other.build_id != build_id)]
    return tuple(sorted(builds, key=lambda one: one.order, reverse=True)[:BUILDS_KEPT])


def newest_text(known: NamedText | None, run: RunSnapshot, text: str | None) -> NamedText | None:
    """The text of the run if that is the newest that named one."""
    if text is None:
        return known
    named = NamedText(run.ended_at, run.run_id, text)
    return named if known is None or named.recency > known.recency else known
