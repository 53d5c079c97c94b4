"""What the use cases need of storage: a store with one port per resource, and transactions over them.

Everything is read and written as the caller of `chassis.context.current()`; only `KeyRing` works without a caller.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Protocol, TypeAlias, TypeVar

from services.catalog.model.apps import App, AppFilter
from services.catalog.model.attachments import Attachment
from services.catalog.model.builds import ALL_BUILDS, Build, BuildFilter
from services.catalog.model.failures import FailureTriage
from services.catalog.model.keys import ApiKey, KeySession, Organisation
from services.catalog.model.organisation_limits import ArtifactBytes, OrganisationLimits
from services.catalog.model.part_uploads import PartUpload
from services.catalog.model.tests import PLAN_BYTES, Quarantine, Test, TestFilter, TestVersion
from services.catalog.model.values import Counts, Page, Platform
from services.catalog.model.workflows import Workflow

T = TypeVar("T")
E = TypeVar("E")


Fact: TypeAlias = App | Build | Test | Attachment | FailureTriage | ApiKey | KeySession


class LiveEntities(Protocol[E]):
    """The entities of one kind that are not deleted."""

    async def get(self, id: str) -> E | None:
        """The entity; None when it is unknown or deleted."""

    async def many(self, ids: Collection[str]) -> Sequence[E]:
        """Those of the entities that exist, in any order."""

    async def add(self, entity: E) -> None:
        """Store a new entity.

        Raises:
            DuplicateValue: its id, or another unique value of it, is in use.
        """

    async def replace(self, entity: E) -> None:
        """Store a changed, perhaps deleted, entity.

        Raises:
            DuplicateValue: a unique value of it is in use.
        """


class Apps(LiveEntities[App], Protocol):
    """The live apps."""

    async def page(self, filter: AppFilter, page: Page) -> Sequence[App]:
        """One page of the apps that fit, newest first, ids breaking ties."""

    async def count(self, filter: AppFilter) -> int:
        """How many apps fit."""

    async def most_attached(self) -> int:
        """The number of tests of the app that has most."""


class Counters(Protocol):
    """How many of what the organisation has."""

    async def get(self) -> Counts:
        """The counts, as they were at most a second ago; zeros for a new organisation."""

    async def with_reserved(self) -> Counts:
        """The counts as they are now, with all reservations."""

    async def add(self, change: Counts, *, alone: bool = False) -> None:
        """Change the counts by these numbers. `alone`: of the transactions that do so at the same time, one commits and
        the others are tried again, so each sees what the others have counted.
        """

    async def reserve(self, reservation_id: str, most: Counts, until: datetime) -> None:
        """Begin a reservation of these numbers, which lasts until then, as `alone` as in `add`."""

    async def use_reserved(self, reservation_id: str, used: Counts, until: datetime) -> None:
        """Take these numbers out of a reservation, and let it last until then."""

    async def release(self, reservation_id: str) -> None:
        """End a reservation."""


class Builds(LiveEntities[Build], Protocol):
    """The live builds of the live apps; a version is unique in its app."""

    async def page(self, app_id: str, page: Page, filter: BuildFilter = ALL_BUILDS) -> Sequence[Build]:
        """One page of the app's builds that fit, newest first, ids breaking ties."""

    async def count(self, app_id: str, filter: BuildFilter) -> int:
        """How many builds of the app fit."""

    async def newest(self, app_id: str) -> Build | None:
        """The first of the app's list."""

    async def of_version(self, app_id: str, version: str) -> Build | None:
        """The app's build of the version."""

    async def of_versions(self, app_ids: Collection[str], versions: Collection[str]) -> Sequence[Build]:
        """The builds of any of these apps that have any of these versions."""

    async def of_app(self, app_id: str) -> Sequence[Build]:
        """All builds of the app."""

    async def apps_of_package(self, package_name: str) -> Sequence[str]:
        """The ids of the apps that have a build of the package or bundle id, at most 100."""

    async def delete_all(self, app_id: str, at: datetime) -> None:
        """Mark all builds of the app as deleted and raise their revisions, however many there are."""


class Keys(LiveEntities[ApiKey], Protocol):
    """The API keys that are not deleted; lookup ids are unique."""

    async def page(self, page: Page) -> Sequence[ApiKey]:
        """One page of the keys, newest first, ids breaking ties."""

    async def count(self) -> int:
        """How many keys there are."""


class Sessions(LiveEntities[KeySession], Protocol):
    """The sessions that have not been ended; lookup ids are unique. Those that have expired are deleted some time."""

    async def oldest_of_key(self, key_id: str, *, keep: int) -> Sequence[KeySession]:
        """The sessions of this key but for the `keep` newest; those that have been ended come before the others."""

    async def remove(self, session_id: str) -> None:
        """Remove a session, also one that has been ended."""


class KeyRing(Protocol):
    """The organisations, their keys and sessions: for verifying these and creating a tenant, which have no caller."""

    async def find(self, lookup: str) -> ApiKey | None:
        """The key with this lookup id; None when it is unknown or deleted."""

    async def get(self, key_id: str) -> ApiKey | None:
        """The key with this id; None when it is unknown or deleted."""

    async def find_session(self, lookup: str) -> KeySession | None:
        """The session with this lookup id; None when it is unknown or has been ended."""

    async def used(self, key: ApiKey, at: datetime) -> None:
        """Note that the key was used; not a change that raises its revision."""

    async def add_organisation(self, organisation: Organisation) -> None:
        """Store a new organisation."""

    async def organisation_name(self, org_id: str) -> str | None:
        """The name of the organisation; None when it is unknown."""


class Tests(LiveEntities[Test], Protocol):
    """The live tests. The path in a workspace from which a test was imported is unique."""

    async def with_deleted(self, test_ids: Collection[str], *, most_bytes: int = PLAN_BYTES) -> Sequence[Test]:
        """Those of the tests that exist or once existed, in any order.

        Raises:
            InvalidArgument: they are larger (TOO_LARGE).
        """

    async def existing(self, test_ids: Collection[str]) -> Collection[str]:
        """Which of the tests exist."""

    async def quarantines(self, test_ids: Collection[str]) -> Mapping[str, Quarantine]:
        """The quarantines of those of the tests that have one, by the test's id; some may be over."""

    async def selected(self, test_ids: Collection[str], tags: Collection[str]) -> Sequence[Test]:
        """The live tests with one of the ids or tags, without steps and variables, by name, ids breaking ties.

        Raises:
            InvalidArgument: as for `with_deleted`.
        """

    async def tagged(self, tags: Collection[str], *, most_bytes: int = PLAN_BYTES) -> Sequence[Test]:
        """The tests that carry any of the tags, by name, ids breaking ties.

        Raises:
            InvalidArgument: as for `with_deleted`.
        """

    async def page(self, filter: TestFilter, page: Page, *, with_steps: bool) -> Sequence[Test]:
        """One page of the tests that fit, newest first, ids breaking ties; without their steps unless asked for."""

    async def count(self, filter: TestFilter) -> int:
        """How many tests fit."""

    async def count_only_on(self, platform: Platform) -> int:
        """How many tests are for this platform, not for any."""

    async def elsewhere(self, workspace: str, paths: Collection[str], most: int) -> Sequence[Test]:
        """The tests of other paths of the workspace, by path, at most so many, without their steps and env."""

    async def stored_files(self, workspace: str, sha256s: Collection[str]) -> Collection[str]:
        """Those of the contents that tests of the workspace have."""

    async def at_paths(self, workspace: str, paths: Collection[str]) -> Sequence[Test]:
        """The tests that were imported from these paths of the workspace, in any order."""

    async def add_version(self, version: TestVersion) -> int:
        """Store a version of a test's steps, before the test with them; how many bytes that takes."""

    async def stored_steps(self, digests: Collection[str]) -> Collection[str]:
        """Those of the steps, by their `steps_digest`, that versions have: another version with them takes no bytes for
        them.
        """

    async def move_steps(self, test: Test) -> None:
        """Store the positions of the test's steps, also for their version; nothing else changes."""

    async def versions(self, test_id: str, page: Page, *, with_steps: bool) -> Sequence[TestVersion]:
        """One page of the test's versions, newest first; without their steps unless asked for."""

    async def of_versions(self, numbers: Mapping[str, int], *, most_bytes: int = PLAN_BYTES) -> Sequence[TestVersion]:
        """These versions of tests, by the test's id, with their steps: those that exist, in any order.

        Raises:
            InvalidArgument: as for `with_deleted`.
        """

    async def kept_files(self, test_id: str) -> frozenset[str]:
        """The SHA-256 of each file that a version of the test needs."""


class Attachments(Protocol):
    """Which tests are attached to which apps."""

    async def get(self, app_id: str, test_id: str) -> Attachment | None:
        """The attachment, in force or ended; None if the test was never attached."""

    async def of_app(self, app_id: str) -> Sequence[Attachment]:
        """The attachments in force of an app, by name, test ids breaking ties."""

    async def page(self, app_id: str, page: Page) -> Sequence[Attachment]:
        """One page of these."""

    async def of_tests(self, test_ids: Collection[str]) -> Sequence[Attachment]:
        """The attachments in force of any of the tests, oldest first."""

    async def put(self, attachments: Sequence[Attachment]) -> None:
        """Store new or changed attachments."""

    async def detach_all(self, app_id: str) -> None:
        """Detach all tests from the app (see `detach`), however many there are."""

    async def rename_test(self, test_id: str, name: str) -> None:
        """Store the new name of a test in its attachments."""


class FailureTriages(Protocol):
    """What people write about groups of failures."""

    async def get(self, app_id: str, fingerprint: str) -> FailureTriage | None:
        """What was written about a group, even if nothing of it is left; None if nobody ever has."""

    async def clear_all(self, app_id: str) -> Sequence[FailureTriage]:
        """Remove what was written about the failures of an app; returns those that changed, as they are then."""

    async def count(self) -> int:
        """Of how many groups something is written."""

    async def put(self, triage: FailureTriage) -> None:
        """Store a new or changed one."""


class Workflows(LiveEntities[Workflow], Protocol):
    """The live workflows."""

    async def page(self, pattern: str | None, page: Page) -> Sequence[Workflow]:
        """One page of the workflows whose folded name the pattern finds, newest first, ids breaking ties."""

    async def count(self, pattern: str | None) -> int:
        """How many workflows fit."""

    async def with_test(self, test_id: str) -> Sequence[Workflow]:
        """The workflows that list the test."""

    async def with_version(self, app_id: str, version: str) -> Sequence[Workflow]:
        """The workflows whose build_config names the version of the app."""


class ArtifactUses(Protocol):
    """Which artifacts are stored, and how many live builds and tests use each."""

    async def expect(self, sha256: str, size: int) -> bool:
        """Announce that the artifact is about to be used; whether it is stored already.

        From now on the sweeper leaves it alone for a day, used or not.

        Raises:
            Aborted: while it is being removed.
        """

    async def stored(self, sha256: str) -> None:
        """Record that the artifact is in the object store."""

    async def use(self, sha256: str, change: int) -> None:
        """Change the number of its uses by 1 or -1."""

    async def release(self, sha256s: Iterable[str]) -> None:
        """Decrement the number of uses of each artifact, once for each time it is listed."""


class Limits(Protocol):
    """The limits of organisations, as the catalog knows them: those that were set, over its own defaults.

    They may be ten seconds old.
    """

    async def get(self) -> OrganisationLimits:
        """The limits of the caller's organisation."""

    async def of(self, org_id: str) -> OrganisationLimits:
        """The limits of an organisation, for methods without a caller."""

    async def set(self, limits: OrganisationLimits) -> None:
        """Replace the limits that were set.

        Raises:
            NotFound: no such organisation.
        """


class ArtifactBytesLedger(Protocol):
    """How many bytes the caller's organisation stores, with the uploads under way."""

    async def sum(self) -> ArtifactBytes:
        """The bytes now, with all reservations and the files that are uploaded in parts."""

    async def reserve(self, upload_id: str, size: int) -> None:
        """Reserve so many bytes for an upload, or renew its reservation with a new size; it lasts ten minutes."""

    async def release(self, upload_id: str) -> None:
        """End a reservation."""


class PartUploads(Protocol):
    """The uploads in parts of the caller's organisation; those that have ended or expired are not there."""

    async def add(self, upload: PartUpload) -> None:
        """Store the upload.

        Raises:
            DuplicateValue: one of the same file is under way.
        """

    async def get(self, upload_id: str) -> PartUpload | None:
        """The upload, if it is under way."""

    async def of_file(self, app_id: str, sha256: str, size: int) -> PartUpload | None:
        """The app's upload of the file."""

    async def count(self) -> int:
        """How many are under way."""

    async def idle(self) -> Sequence[PartUpload]:
        """Those without a new part for `IDLE`."""

    async def arrived(self, upload_id: str, number: int) -> PartUpload | None:
        """Record that a part is stored, which lets the upload live for another day; the upload."""

    async def end(self, upload_id: str) -> None:
        """End the upload; parts that are stored now are removed later."""

    async def remove(self, upload_id: str) -> None:
        """Forget an upload that has no parts yet."""


class ArrivingFiles(Protocol):
    """The uploads of the caller's organisation whose file is being stored as it arrives."""

    async def add(self, upload_id: str) -> None:
        """Record an upload: what is stored below its prefix is removed after a day, if nobody ends it."""

    async def end(self, upload_id: str) -> None:
        """Have what is below its prefix removed in some minutes."""


class Records(Protocol):
    """All collections, for reading."""

    apps: Apps
    counters: Counters
    builds: Builds
    artifacts: ArtifactUses
    part_uploads: PartUploads
    arriving_files: ArrivingFiles
    tests: Tests
    attachments: Attachments
    failure_triages: FailureTriages
    workflows: Workflows
    keys: Keys
    sessions: Sessions


class Transaction(Records, Protocol):
    """All collections inside one transaction: what is read still holds when the transaction commits."""

    def announce(self, *facts: Fact) -> None:
        """Publish these facts, in this order, if and when the transaction commits."""


class Store(Records, Protocol):
    """All collections, and transactions over them."""

    async def change(self, work: Callable[[Transaction], Awaitable[T]], *, of: str | None = None) -> T:
        """Run `work` in one transaction. It may be retried, so it must have no effect outside the transaction.

        Changes `of` the same entity (an app's id, say) are serialised here, which avoids write conflicts.
        """
