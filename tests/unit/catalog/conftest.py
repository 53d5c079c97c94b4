"""The use-cases on fakes: a store in memory, a clock that stands still, an object store in memory."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import pytest

from services.catalog.model.apps import App
from services.catalog.model.builds import Build
from services.catalog.spool import Spool
from services.catalog.upload_rate import UploadRate
from services.catalog.usecases.apps import AppUseCases
from services.catalog.usecases.artifact_quota import ArtifactQuota
from services.catalog.usecases.attachments import AttachmentUseCases
from services.catalog.usecases.builds import BuildUseCases
from services.catalog.usecases.imports import ImportUseCases
from services.catalog.usecases.keys import KeyUseCases
from services.catalog.usecases.quarantine import QuarantineUseCases
from services.catalog.usecases.resolution import ResolutionUseCases
from services.catalog.usecases.tests import TestUseCases
from services.catalog.usecases.uploads import NewBuild, UploadUseCases
from services.catalog.usecases.workflows import WorkflowUseCases
from services.catalog.usecases.workspace_files import WorkspaceFileStore
from services.chassis import context
from services.chassis.context import Caller
from services.chassis.object_store import ObjectStore
from tests.fakes.catalog import FakeKeyRing, FakeStore
from tests.fakes.catalog_limits import FakeArtifactBytes, FakeLimits
from tests.fakes.catalog_readers import FakeFlowReader, FakeInspector, FakeWorkspaceReader
from tests.fakes.catalog_samples import ORG, at

KEY_ID = "0b000000-0000-4000-8000-000000000002"


@dataclass
class StandingClock:
    """A clock that the test sets."""

    minutes: int = 0

    def now(self) -> datetime:
        return at(self.minutes)

    def monotonic(self) -> float:
        return self.minutes * 60.0


@dataclass
class Catalog:
    """All use-cases on the same fakes."""

    spool_folder: Path
    store: FakeStore = field(default_factory=FakeStore)
    clock: StandingClock = field(default_factory=StandingClock)
    objects: ObjectStore = field(default_factory=lambda: ObjectStore.open("memory:///"))
    inspector: FakeInspector = field(default_factory=FakeInspector)

    def __post_init__(self) -> None:
        self.ring = FakeKeyRing(self.store)
        self.apps = AppUseCases(self.store, self.clock)
        self.builds = BuildUseCases(self.store, self.objects, self.clock)
        self.tests = TestUseCases(self.store, self.clock, FakeFlowReader())
        self.attachments = AttachmentUseCases(self.store, self.clock)
        self.quarantine = QuarantineUseCases(self.store, self.clock)
        self.limits = FakeLimits()
        self.ledger = FakeArtifactBytes(self.store)
        self.workflows = WorkflowUseCases(self.store, self.limits, self.clock)
        self.resolution = ResolutionUseCases(self.store)
        self.keys = KeyUseCases(self.store, self.ring, self.limits, self.clock)
        rate = UploadRate(1 << 30, self.clock)
        self.quota = ArtifactQuota(self.ledger, self.limits, self.clock)
        workspaces = FakeWorkspaceReader()
        self.files = WorkspaceFileStore(self.store, self.objects, quota=self.quota, workspaces=workspaces)
        self.imports = ImportUseCases(
            self.store,
            self.files,
            spool=Spool(self.spool_folder, max_bytes=1 << 20, capacity=1 << 30),
            rate=rate,
            workspaces=workspaces,
            clock=self.clock,
        )
        self.uploads = UploadUseCases(
            self.store,
            self.objects,
            quota=self.quota,
            spool=Spool(self.spool_folder, max_bytes=1000, capacity=1 << 30),
            rate=rate,
            inspector=self.inspector,
            clock=self.clock,
        )


async def chunks(*parts: bytes) -> AsyncIterator[bytes]:
    """A file in parts."""
    for part in parts:
        yield part


async def uploaded(catalog: Catalog, app: App, version: str | None, content: bytes = b"content") -> Build:
    """A build of this content."""
    return await catalog.uploads.upload(NewBuild(app.id, version), chunks(content))


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    """An empty catalog."""
    return Catalog(tmp_path)


@pytest.fixture(autouse=True)
def caller() -> Iterator[Caller]:
    """A caller of ORG with an API key."""
    with context.bind(Caller(org_id=ORG, subject=KEY_ID)) as caller:
        yield caller
