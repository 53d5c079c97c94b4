"""The catalog's composition root: the only place that constructs its adapters."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager

from mobiletest.catalog.v1 import (
    api_keys_pb2_grpc,
    apps_pb2_grpc,
    builds_pb2_grpc,
    facts_pb2_grpc,
    failures_pb2_grpc,
    limits_pb2_grpc,
    resolution_pb2_grpc,
    secrets_pb2_grpc,
    sessions_pb2_grpc,
    tests_pb2_grpc,
    workflows_pb2_grpc,
)

from services.catalog.events import SOURCE, TOPICS
from services.catalog.flow_reader import ChildFlowReader
from services.catalog.grpc.apps import AppsServicer
from services.catalog.grpc.builds import BuildsServicer
from services.catalog.grpc.facts import CatalogFactsServicer
from services.catalog.grpc.failures import FailureTriagesServicer
from services.catalog.grpc.keys import ApiKeysServicer, SessionsServicer
from services.catalog.grpc.organisation_limits import LimitsServicer
from services.catalog.grpc.resolution import ResolutionServicer
from services.catalog.grpc.secrets import SecretsServicer
from services.catalog.grpc.tests import TestsServicer
from services.catalog.grpc.workflows import WorkflowsServicer
from services.catalog.inspector import ProcessInspector
from services.catalog.reader_ports import FlowReader
from services.catalog.secret_cipher import SecretCipher, parse_keys
from services.catalog.settings import Settings
from services.catalog.spool import UploadSpool
from services.catalog.storage.artifacts import ArtifactSweeper, MongoArtifactBytes
from services.catalog.storage.deleted_tests import DeletedTestSweeper
from services.catalog.storage.facts import MongoFacts
from services.catalog.storage.inline_steps import InlineStepsSweeper, sharing_since
from services.catalog.storage.keys import MongoKeyRing
from services.catalog.storage.migrations import MIGRATIONS
from services.catalog.storage.organisation_limits import MongoLimits
from services.catalog.storage.part_uploads import UploadSweeper
from services.catalog.storage.secrets import MongoSecrets
from services.catalog.storage.store import MongoStore
from services.catalog.usecases.apps import AppUseCases
from services.catalog.usecases.artifact_quota import ArtifactQuota
from services.catalog.usecases.attachments import AttachmentUseCases
from services.catalog.usecases.builds import BuildUseCases
from services.catalog.usecases.failures import FailureTriageUseCases
from services.catalog.usecases.imports import ImportUseCases
from services.catalog.usecases.keys import KeyUseCases
from services.catalog.usecases.organisation_limits import LimitUseCases
from services.catalog.usecases.part_uploads import PartUploadUseCases
from services.catalog.usecases.quarantine import QuarantineUseCases
from services.catalog.usecases.resolution import ResolutionUseCases
from services.catalog.usecases.secrets import SecretUseCases
from services.catalog.usecases.sessions import SessionUseCases
from services.catalog.usecases.storage_quota import StorageQuota
from services.catalog.usecases.tests import TestUseCases
from services.catalog.usecases.uploaded_files import UploadedFiles
from services.catalog.usecases.uploads import UploadUseCases
from services.catalog.usecases.workflows import WorkflowUseCases
from services.catalog.usecases.workspace_files import WorkspaceFileStore
from services.catalog.workspace_reader import ChildWorkspaceReader
from services.chassis import grpc_server
from services.chassis.clock import SystemClock
from services.chassis.health import AdminServer, Health
from services.chassis.idempotency import Idempotency
from services.chassis.lifecycle import Background, GrpcApp
from services.chassis.migrations import open_migrated
from services.chassis.mongo import Mongo
from services.chassis.object_store import ObjectStore
from services.chassis.outbox import Outbox
from services.chassis.outbox_relay import OutboxRelay
from services.chassis.producer import Producer
from services.chassis.request_interceptor import KnownOrganisations
from services.chassis.upload_rate import UploadRate


@asynccontextmanager
async def start_app(settings: Settings) -> AsyncIterator[GrpcApp]:
    """The catalog, serving inside of the block."""
    async with AsyncExitStack() as stack:
        background = await stack.enter_async_context(Background())
        health = Health()
        admin = await stack.enter_async_context(AdminServer(settings.admin_listen, health))
        mongo = await stack.enter_async_context(open_database(settings))
        health.register("mongodb", mongo.ping)
        outbox = Outbox(mongo, SOURCE)
        producer = Producer(settings.kafka, TOPICS, idempotence=settings.kafka_idempotence)
        relay = OutboxRelay(mongo, outbox, await stack.enter_async_context(producer))
        await stack.enter_async_context(background.run("relay", relay.run()))
        objects = ObjectStore.open(settings.object_store)
        sweeper = ArtifactSweeper(mongo, objects, SystemClock())
        await stack.enter_async_context(background.run("sweeper", sweeper.run()))
        uploads = UploadSweeper(mongo, objects, SystemClock())
        await stack.enter_async_context(background.run("uploads", uploads.run()))
        since = await sharing_since(mongo)
        steps = InlineStepsSweeper(mongo, SystemClock(), since)
        await stack.enter_async_context(background.run("inline steps", steps.run()))
        tests = DeletedTestSweeper(mongo, SystemClock())
        await stack.enter_async_context(background.run("deleted tests", tests.run()))
        flows = ChildFlowReader()
        stack.push_async_callback(flows.close)
        store = MongoStore(mongo, outbox, SystemClock(), sharing_since=since)
        limits = MongoLimits(mongo, SystemClock(), settings.limits)
        servicers = _servicers(settings, mongo, store, objects, flows=flows, limits=limits)
        organisations = KnownOrganisations(limits.overrides)
        serving = grpc_server.serve(
            settings,
            servicers,
            health=health,
            organisations=organisations,
            page_turns=grpc_server.make_page_turns(),
            idempotency=Idempotency(mongo),
        )
        address = await stack.enter_async_context(serving)
        await stack.enter_async_context(health.mark_ready(background))
        yield GrpcApp(address, admin.address, background)


def open_database(settings: Settings) -> AbstractAsyncContextManager[Mongo]:
    """The catalog's database with its schema migrated; waits until MongoDB is reachable."""
    return open_migrated(settings.mongo_uri, settings.mongo_database, MIGRATIONS, settings.mongo_driver)


def _servicers(
    settings: Settings, mongo: Mongo, store: MongoStore, objects: ObjectStore, *, flows: FlowReader, limits: MongoLimits
) -> list[grpc_server.Servicer]:
    clock = SystemClock()
    ledger, storage = MongoArtifactBytes(mongo, clock), StorageQuota(limits, clock)
    apps = AppsServicer(AppUseCases(store, storage, clock))
    workflows = WorkflowsServicer(WorkflowUseCases(store, storage, limits, clock))
    failures = FailureTriagesServicer(FailureTriageUseCases(store, clock))
    resolution = ResolutionServicer(ResolutionUseCases(store), limits)
    facts = CatalogFactsServicer(MongoFacts(mongo))
    shown_limits = LimitsServicer(LimitUseCases(store, limits, ledger))
    quota = ArtifactQuota(ledger, limits, clock)
    return [
        (apps_pb2_grpc.add_AppsServicer_to_server, apps, "mobiletest.catalog.v1.Apps"),
        (workflows_pb2_grpc.add_WorkflowsServicer_to_server, workflows, "mobiletest.catalog.v1.Workflows"),
        (failures_pb2_grpc.add_FailureTriagesServicer_to_server, failures, "mobiletest.catalog.v1.FailureTriages"),
        (resolution_pb2_grpc.add_ResolutionServicer_to_server, resolution, "mobiletest.catalog.v1.Resolution"),
        (facts_pb2_grpc.add_CatalogFactsServicer_to_server, facts, "mobiletest.catalog.v1.CatalogFacts"),
        (limits_pb2_grpc.add_LimitsServicer_to_server, shown_limits, "mobiletest.catalog.v1.Limits"),
        *_file_servicers(settings, store, objects, flows=flows, quota=quota, storage=storage),
        *_access_servicers(settings, mongo, store, limits),
    ]


def _file_servicers(
    settings: Settings,
    store: MongoStore,
    objects: ObjectStore,
    *,
    flows: FlowReader,
    quota: ArtifactQuota,
    storage: StorageQuota,
) -> list[grpc_server.Servicer]:
    """The services that receive files."""
    clock, max_bytes = SystemClock(), settings.artifact_max_bytes
    spool = UploadSpool(settings.spool_folder, max_bytes=max_bytes, capacity=settings.spool_bytes)
    spool.prepare()
    received = UploadedFiles(store, objects, spool, UploadRate(settings.organisation_upload_bytes_per_second, clock))
    uploads = UploadUseCases(
        store,
        objects,
        received,
        quota=quota,
        storage=storage,
        spool=spool,
        inspector=ProcessInspector(),
        clock=clock,
        simulated_devices=settings.simulated_devices,
    )
    parts = PartUploadUseCases(store, objects, uploads, quota=quota, max_bytes=max_bytes, clock=clock)
    workspaces = ChildWorkspaceReader()
    files = WorkspaceFileStore(store, objects, quota=quota, workspaces=workspaces)
    tests = TestsServicer(
        TestUseCases(store, storage, clock, flows),
        AttachmentUseCases(store, clock),
        QuarantineUseCases(store, clock),
        ImportUseCases(store, files, storage, uploads=received, workspaces=workspaces, clock=clock),
        files,
        received.store,
    )
    builds = BuildsServicer(BuildUseCases(store, objects, clock), uploads, parts, received.store)
    return [
        (builds_pb2_grpc.add_BuildsServicer_to_server, builds, "mobiletest.catalog.v1.Builds"),
        (tests_pb2_grpc.add_TestsServicer_to_server, tests, "mobiletest.catalog.v1.Tests"),
    ]


def _access_servicers(
    settings: Settings, mongo: Mongo, store: MongoStore, limits: MongoLimits
) -> list[grpc_server.Servicer]:
    """API keys, sessions and secrets."""
    clock, ring = SystemClock(), MongoKeyRing(mongo)
    keys = KeyUseCases(store, ring, limits, clock)
    sessions = SessionsServicer(SessionUseCases(store, ring, keys, clock), limits)
    cipher = SecretCipher(parse_keys(settings.secret_keys.get_secret_value()))
    secrets = SecretsServicer(SecretUseCases(MongoSecrets(mongo), cipher, clock))
    return [
        (
            api_keys_pb2_grpc.add_ApiKeysServicer_to_server,
            ApiKeysServicer(keys, limits),
            "mobiletest.catalog.v1.ApiKeys",
        ),
        (sessions_pb2_grpc.add_SessionsServicer_to_server, sessions, "mobiletest.catalog.v1.Sessions"),
        (secrets_pb2_grpc.add_SecretsServicer_to_server, secrets, "mobiletest.catalog.v1.Secrets"),
    ]
