"""The use-cases on the storage that all tests share; clock, object store and inspector are the test's own."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import pytest

from services.catalog.events import SOURCE
from services.catalog.model.apps import App
from services.catalog.model.builds import Build, artifact_key
from services.catalog.model.keys import Organisation
from services.catalog.model.organisation_limits import OrganisationLimits
from services.catalog.ports import Fact, Transaction
from services.catalog.spool import UploadSpool
from services.catalog.storage.artifacts import ARTIFACTS, MongoArtifactBytes
from services.catalog.storage.keys import MongoKeyRing
from services.catalog.storage.organisation_limits import MongoLimits
from services.catalog.storage.store import MongoStore
from services.catalog.usecases.apps import AppUseCases
from services.catalog.usecases.artifact_quota import ArtifactQuota
from services.catalog.usecases.attachments import AttachmentUseCases
from services.catalog.usecases.builds import BuildUseCases
from services.catalog.usecases.imports import ImportUseCases
from services.catalog.usecases.keys import KeyUseCases
from services.catalog.usecases.quarantine import QuarantineUseCases
from services.catalog.usecases.resolution import ResolutionUseCases
from services.catalog.usecases.storage_quota import StorageQuota
from services.catalog.usecases.tests import TestUseCases
from services.catalog.usecases.uploaded_files import Arrive, UploadedFiles
from services.catalog.usecases.uploads import NewBuild, UploadUseCases
from services.catalog.usecases.workflows import WorkflowUseCases
from services.catalog.usecases.workspace_files import WorkspaceFileStore
from services.chassis import context
from services.chassis.context import Caller
from services.chassis.errors import InvalidArgument
from services.chassis.mongo import Mongo
from services.chassis.object_store import ObjectStore
from services.chassis.outbox import Outbox
from services.chassis.upload_rate import UploadRate
from tests.fakes.catalog_readers import FakeFlowReader, FakeInspector, FakeWorkspaceReader
from tests.fakes.catalog_samples import START, at, chunks, org

T = TypeVar("T")
KEY_ID = "0b000000-0000-4000-8000-000000000002"


@dataclass
class StandingClock:
    """A clock that the test sets."""

    minutes: int = 0

    def now(self) -> datetime:
        return at(self.minutes)

    def monotonic(self) -> float:
        return self.minutes * 60.0


class RecordingStore(MongoStore):
    """Notes the facts that were announced by committed changes, and how many changes there were."""

    def __init__(self, mongo: Mongo, clock: StandingClock, sharing_since: datetime) -> None:
        super().__init__(mongo, Outbox(mongo, SOURCE), clock, sharing_since=sharing_since)
        self.facts: list[Fact] = []
        self.changes = 0

    async def change(self, work: Callable[[Transaction], Awaitable[T]], *, of: str | None = None) -> T:
        announced: list[Fact] = []

        async def recorded(change: Any) -> T:
            result = await work(change)
            announced[:] = change.facts
            return result

        result = await super().change(recorded, of=of)
        self.facts += announced
        self.changes += 1
        return result


@dataclass
class Catalog:
    """All use-cases on one store."""

    mongo: Mongo
    spool_folder: Path
    clock: StandingClock = field(default_factory=StandingClock)
    objects: ObjectStore = field(default_factory=lambda: ObjectStore.open("memory:///"))
    inspector: FakeInspector = field(default_factory=FakeInspector)
    sharing_since: datetime = START

    def __post_init__(self) -> None:
        self.store = RecordingStore(self.mongo, self.clock, self.sharing_since)
        self.ring = MongoKeyRing(self.mongo)
        self.limits = MongoLimits(self.mongo, self.clock, OrganisationLimits())
        self.ledger = MongoArtifactBytes(self.mongo, self.clock)
        self.storage = storage = StorageQuota(self.limits, self.clock)
        self.apps = AppUseCases(self.store, storage, self.clock)
        self.builds = BuildUseCases(self.store, self.objects, self.clock)
        self.tests = TestUseCases(self.store, storage, self.clock, FakeFlowReader())
        self.attachments = AttachmentUseCases(self.store, self.clock)
        self.quarantine = QuarantineUseCases(self.store, self.clock)
        self.workflows = WorkflowUseCases(self.store, storage, self.limits, self.clock)
        self.resolution = ResolutionUseCases(self.store)
        self.keys = KeyUseCases(self.store, self.ring, self.limits, self.clock)
        self.rate = UploadRate(1 << 30, self.clock)
        quota = ArtifactQuota(self.ledger, self.limits, self.clock)
        workspaces = FakeWorkspaceReader()
        self.files = WorkspaceFileStore(self.store, self.objects, quota=quota, workspaces=workspaces)
        self.imports = ImportUseCases(
            self.store,
            self.files,
            storage,
            uploads=self.receiver(max_bytes=1 << 20),
            workspaces=workspaces,
            clock=self.clock,
        )
        self.quota = quota
        self.uploads = self.make_uploads(simulated_devices=True)

    def make_uploads(self, *, simulated_devices: bool) -> UploadUseCases:
        """Those of a deployment with simulated devices, or without."""
        return UploadUseCases(
            self.store,
            self.objects,
            self.receiver(max_bytes=1000),
            quota=self.quota,
            storage=self.storage,
            spool=UploadSpool(self.spool_folder, max_bytes=1000, capacity=1 << 30),
            inspector=self.inspector,
            clock=self.clock,
            simulated_devices=simulated_devices,
        )

    def arriving(self, chunks: AsyncIterator[bytes]) -> Arrive:
        """A file whose bytes the catalog stores."""
        return partial(self.receiver(max_bytes=1 << 20).store, chunks)

    def receiver(self, *, max_bytes: int) -> UploadedFiles:
        """For files of this size."""
        spool = UploadSpool(self.spool_folder, max_bytes=max_bytes, capacity=1 << 30)
        return UploadedFiles(self.store, self.objects, spool, self.rate)

    async def upload(self, new: NewBuild, chunks: AsyncIterator[bytes], **options: Any) -> Build:
        return (await self.uploads.upload(new, self.arriving(chunks), **options))[0]

    async def limit(self, **limits: Any) -> None:
        """Set limits of the caller's organisation, which begins to exist for that."""
        await self.ring.add_organisation(Organisation(org(), "Org", START))
        await self.limits.set(OrganisationLimits(**limits))

    async def uses(self, sha256: str) -> int | None:
        """How many builds and versions of tests use the file; None if nothing is known of it."""
        document = await self.mongo.collection(ARTIFACTS).find_one({"_id": artifact_key(org(), sha256)})
        return document and document["uses"]

    async def artifacts(self) -> int:
        """How many files of the caller's organisation are known."""
        return int(await self.mongo.collection(ARTIFACTS).count_documents({"org_id": org()}))


async def uploaded(catalog: Catalog, app: App, version: str | None, content: bytes = b"content") -> Build:
    """A build of this content."""
    return await catalog.upload(NewBuild(app.id, version), chunks(content))


async def refused_fields(call: Awaitable[object]) -> list[str]:
    """The fields that a refused call names."""
    with pytest.raises(InvalidArgument) as refusal:
        await call
    return [violation.field for violation in refusal.value.violations]


@pytest.fixture
def catalog(storage: Mongo, tmp_path: Path) -> Catalog:
    """The catalog of a new organisation."""
    return Catalog(storage, tmp_path)


@pytest.fixture(autouse=True)
def caller() -> Iterator[Caller]:
    """A caller of a new organisation with an API key."""
    with context.bind(Caller(org_id=str(uuid4()), subject=KEY_ID)) as caller:
        yield caller
