"""Uploading, changing, deleting and downloading builds."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

import pytest
import pytest_asyncio
from mobiletest.types.v1.byte_range_pb2 import ByteRange

from services.catalog.model.apps import App
from services.catalog.model.builds import Build, BuildFilter, Inspection, RejectedArtifact
from services.catalog.model.part_uploads import parts_prefix
from services.catalog.model.values import Page, Platform
from services.catalog.model.workflows import AppChoice, BuildConfig
from services.catalog.storage.part_uploads import UploadSweeper
from services.catalog.usecases.tests import NewTest
from services.catalog.usecases.uploaded_files import Cover
from services.catalog.usecases.uploads import NewBuild
from services.catalog.usecases.workflows import NewWorkflow
from services.chassis import context, ids
from services.chassis.byte_ranges import FilePart
from services.chassis.context import Caller
from services.chassis.errors import AlreadyExists, FailedPrecondition, InvalidArgument, NotFound
from services.chassis.file_writer import StoredFile
from services.chassis.mongo import Mongo
from tests.eventually import eventually
from tests.fakes.catalog_readers import FakeInspector
from tests.fakes.catalog_samples import chunks, org
from tests.integration.catalog.usecases.conftest import KEY_ID, Catalog, refused_fields, uploaded

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest_asyncio.fixture(loop_scope="session")
async def app(catalog: Catalog) -> App:
    """An Android app."""
    return await catalog.apps.create("Shop", Platform.ANDROID, None)


async def referred(catalog: Catalog, app: App, version: str) -> Build:
    """A build whose artifact is stored elsewhere."""
    return await catalog.uploads.refer(NewBuild(app.id, version, artifact_url="https://x.test/a.apk"))


def leftovers(catalog: Catalog) -> list[str]:
    return [path.name for path in catalog.spool_folder.iterdir()]


async def test_an_upload_is_stored_by_its_content(catalog: Catalog, app: App) -> None:
    catalog.inspector.found = Inspection("com.example", "9.9")
    digest = sha256(b"abcdef").hexdigest()
    new = NewBuild(app.id, " 1.0 ", {"commit": "c0ffee"}, file_name="shop.apk")
    build = await catalog.upload(new, chunks(b"abc", b"", b"def"))
    assert (build.version, build.package_name, build.metadata) == ("1.0", "com.example", {"commit": "c0ffee"})
    assert (build.sha256, build.size, build.file_name) == (digest, 6, "shop.apk")
    assert (build.artifact_url, build.owner, build.was_reused) == (f"{org()}/{digest}", KEY_ID, False)
    assert build.download_url == f"/api/v1/apps/builds/{build.id}/download"
    _, _, artifact = await catalog.builds.download(build.id)
    assert b"".join([chunk async for chunk in artifact]) == b"abcdef"
    now = await catalog.apps.get(app.id)
    assert (now.versions_count, now.latest_version, now.latest_build_id, now.revision) == (1, "1.0", build.id, 2)
    assert catalog.store.facts == [app, build, now]
    assert leftovers(catalog) == []


async def test_the_artifact_names_the_version_if_the_client_does_not(catalog: Catalog, app: App) -> None:
    catalog.inspector.found = Inspection("com.example", "9.9")
    build = await catalog.upload(NewBuild(app.id, package_name="com.other"), chunks(b"x"))
    assert (build.version, build.package_name) == ("9.9", "com.other")


async def test_without_any_version_the_upload_says_so(catalog: Catalog, app: App) -> None:
    catalog.inspector.found = Inspection(error="it is not a readable zip archive")
    with pytest.raises(InvalidArgument, match=r"contains no version \(it is not a readable zip archive\)") as refusal:
        await uploaded(catalog, app, None)
    assert [v.field for v in refusal.value.violations] == ["version"]
    assert leftovers(catalog) == []


async def test_an_unreadable_artifact_is_kept_with_the_reason(catalog: Catalog, app: App) -> None:
    """A parser's failure is no reason to refuse a build."""
    catalog.inspector.found = Inspection(error="the inspection ended with signal 9")
    build = await catalog.upload(NewBuild(app.id, "1", {"a": 1}), chunks(b"x"))
    assert build.metadata == {"a": 1, "metadata_error": "the inspection ended with signal 9"}


REFUSED = [
    (RejectedArtifact("its entries overlap"), b"x"),
    (Inspection(platform=Platform.IOS), b"x"),
    (Inspection(), b""),
    (Inspection(), b"x" * 1001),
]


@pytest.mark.parametrize(("inspection", "content"), REFUSED, ids=["hostile", "other platform", "empty", "too large"])
async def test_a_refused_file_is_not_stored(
    catalog: Catalog, app: App, inspection: Inspection | RejectedArtifact, content: bytes
) -> None:
    catalog.inspector.found = inspection
    assert await refused_fields(uploaded(catalog, app, "1", content)) == ["file"]
    assert (await catalog.apps.get(app.id)).versions_count == 0
    assert (await catalog.artifacts(), leftovers(catalog)) == (0, [])


@pytest.mark.parametrize(
    "inspection",
    [
        Inspection(kind="an HTML page"),
        Inspection(error="it is not a readable zip archive"),
        Inspection(error="the inspection failed: x"),
    ],
    ids=["no archive", "unreadable", "not inspected"],
)
async def test_without_simulated_devices_only_what_a_device_can_install_is_a_build(
    catalog: Catalog, app: App, inspection: Inspection
) -> None:
    uploads = catalog.make_uploads(simulated_devices=False)
    catalog.inspector.found = inspection
    found = inspection.error or "it is an HTML page"
    with pytest.raises(InvalidArgument, match=rf"\({found}\): send an \.(apk|ipa).*MOBILETEST_SIMULATED_") as refusal:
        await uploads.upload(NewBuild(app.id, "1"), catalog.arriving(chunks(b"x")))
    assert [v.field for v in refusal.value.violations] == ["file"]
    assert leftovers(catalog) == []
    catalog.inspector.found = Inspection("com.example", "1", platform=app.platform)
    assert (await uploads.upload(NewBuild(app.id), catalog.arriving(chunks(b"x"))))[0].version == "1"


async def test_without_simulated_devices_a_web_build_is_any_file(catalog: Catalog, app: App) -> None:
    await catalog.apps.update(app.id, {"static_url": "https://shop.example"})
    uploads = catalog.make_uploads(simulated_devices=False)
    assert (await uploads.upload(NewBuild(app.id, "1"), catalog.arriving(chunks(b"x"))))[0].version == "1"


async def test_an_interrupted_upload_leaves_no_file(catalog: Catalog, app: App) -> None:
    async def cut() -> AsyncIterator[bytes]:
        yield b"half of it"
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        await catalog.upload(NewBuild(app.id, "1"), cut())
    assert (await catalog.artifacts(), catalog.store.facts, leftovers(catalog)) == (0, [app], [])


async def test_what_a_killed_gateway_and_catalog_leave_is_removed(catalog: Catalog, app: App) -> None:
    """After a day; of an upload that has ended after minutes, for what its caller still stored."""
    sweeper = UploadSweeper(catalog.mongo, catalog.objects, catalog.clock)
    await catalog.store.arriving_files.add(app.id)
    left = f"{parts_prefix(org(), app.id)}/file"
    await catalog.objects.put_bytes(left, b"x")
    keys: list[str] = []

    async def cut(key: str, _: Cover) -> StoredFile:
        keys.append(key)
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        await catalog.uploads.upload(NewBuild(app.id, "1"), cut)
    await catalog.objects.put_bytes(keys[0], b"x")
    catalog.clock.minutes += 11
    await sweeper.sweep()
    assert (await is_stored(catalog, keys[0]), await is_stored(catalog, left)) == (False, True)
    catalog.clock.minutes += 24 * 60
    await sweeper.sweep()
    assert not await is_stored(catalog, left)


async def is_stored(catalog: Catalog, key: str) -> bool:
    try:
        return [chunk async for chunk in catalog.objects.get_stream(key)] != []
    except NotFound:
        return False


async def test_the_same_file_again_is_reused(catalog: Catalog, app: App) -> None:
    first, second = await uploaded(catalog, app, "1"), await uploaded(catalog, app, "2")
    assert (first.was_reused, second.was_reused, first.sha256 == second.sha256) == (False, True, True)
    with context.bind(Caller(str(uuid4()))):
        foreign = await catalog.apps.create("Shop", Platform.ANDROID, None)
        assert not (await uploaded(catalog, foreign, "1")).was_reused
    assert await catalog.uses(sha256(b"content").hexdigest()) == 2


async def test_a_version_that_exists_changes_nothing(catalog: Catalog, app: App) -> None:
    await uploaded(catalog, app, "1")
    before = await catalog.apps.get(app.id)

    async def untouched() -> AsyncIterator[bytes]:
        raise AssertionError("nobody should read this")
        yield b""

    with pytest.raises(AlreadyExists, match="already has a build of version 1"):
        await catalog.upload(NewBuild(app.id, "1"), untouched())
    with pytest.raises(AlreadyExists):
        await referred(catalog, app, "1")
    assert await catalog.apps.get(app.id) == before


async def test_of_uploads_of_a_version_at_the_same_time_one_becomes_the_build(catalog: Catalog, app: App) -> None:
    uploads = (uploaded(catalog, app, "1", b"file %d" % number) for number in range(4))
    results = await asyncio.gather(*uploads, return_exceptions=True)
    assert Counter(map(type, results)) == {AlreadyExists: 3, Build: 1}
    assert (await catalog.apps.get(app.id)).versions_count == 1


async def test_the_final_description_counts(catalog: Catalog, app: App) -> None:
    """It is read after the last chunk, and checked like the first one."""
    received: list[bytes] = []

    async def content() -> AsyncIterator[bytes]:
        for chunk in (b"abc", b"def"):
            received.append(chunk)
            yield chunk

    def final() -> NewBuild:
        assert b"".join(received) == b"abcdef"
        return NewBuild(app.id, " 2.0 ", {"commit": "c0ffee"}, file_name="shop.apk")

    build = await catalog.upload(NewBuild(app.id), content(), final=final)
    assert (build.version, build.metadata, build.file_name) == ("2.0", {"commit": "c0ffee"}, "shop.apk")
    with pytest.raises(AlreadyExists):
        await catalog.upload(NewBuild(app.id), chunks(b"x"), final=final)
    with pytest.raises(InvalidArgument):
        await catalog.upload(NewBuild(app.id), chunks(b"x"), final=lambda: NewBuild(app.id, ""))
    assert (await catalog.apps.get(app.id)).versions_count == 1
    assert leftovers(catalog) == []


async def test_an_unknown_app_takes_no_build(catalog: Catalog) -> None:
    with pytest.raises(NotFound, match=r"^App not found$"):
        await catalog.upload(NewBuild(str(uuid4()), "1"), chunks(b"x"))
    with pytest.raises(NotFound, match=r"^App not found$"):
        await catalog.uploads.refer(NewBuild(str(uuid4()), "1", artifact_url="https://x.test"))


async def test_a_referred_build_has_no_download(catalog: Catalog, app: App) -> None:
    build = await referred(catalog, app, "1")
    assert (build.artifact_url, build.download_url, build.sha256) == ("https://x.test/a.apk", None, None)
    with pytest.raises(FailedPrecondition, match="stored elsewhere"):
        await catalog.builds.download(build.id)


async def test_a_part_of_an_artifact_is_downloaded(catalog: Catalog, app: App) -> None:
    build = await catalog.upload(NewBuild(app.id, "1"), chunks(b"abc", b"def"))
    _, part, artifact = await catalog.builds.download(build.id, ByteRange(first=2, last=3))
    assert (part, b"".join([chunk async for chunk in artifact])) == (FilePart(2, 4, 6), b"cd")


async def test_a_repeat_under_the_same_key_makes_one_build(catalog: Catalog, app: App) -> None:
    builds = []
    for _ in range(2):
        with context.bind(Caller(org(), idempotency_key="k")), ids.derive_ids(org(), "CreateBuild", "k"):
            builds.append(await referred(catalog, app, "1"))
    assert builds[0] == builds[1]
    assert (await catalog.apps.get(app.id)).versions_count == 1


@contextmanager
def idempotency_key(key: str) -> Iterator[None]:
    """Uploads inside the block have it."""
    with context.bind(Caller(org(), idempotency_key=key)), ids.derive_ids(org(), "UploadBuild", key):
        yield


class HeldInspector(FakeInspector):
    """Inspects one file after the other, when the test says so."""

    def __init__(self) -> None:
        super().__init__(Inspection("com.example", "9"))
        self.held: list[asyncio.Event] = []

    async def inspect(self, path: Path) -> Inspection | RejectedArtifact:
        self.held.append(event := asyncio.Event())
        await event.wait()
        return await super().inspect(path)


@pytest.mark.parametrize("suffix", [None, "c0ffee"])
@pytest.mark.parametrize("content", [b"content", b"another"])
async def test_uploads_at_once_under_the_same_key_are_one_build(
    storage: Mongo, tmp_path: Path, suffix: str | None, content: bytes
) -> None:
    """Also if one is saved while the other is inspected; of another file it is never the answer."""
    inspector = HeldInspector()
    catalog = Catalog(storage, tmp_path, inspector=inspector)
    app = await catalog.apps.create("Shop", Platform.ANDROID, None)

    async def send(content: bytes) -> Build:
        with idempotency_key("k"):
            return await catalog.upload(NewBuild(app.id, version_suffix=suffix), chunks(content))

    sent = [asyncio.create_task(send(each)) for each in (b"content", content)]
    await eventually(lambda: len(inspector.held) == 2)
    inspector.held[0].set()
    done, [other] = await asyncio.wait(sent, return_when=asyncio.FIRST_COMPLETED)
    first = done.pop().result()
    inspector.held[1].set()
    if content == b"content":
        assert await other == first
    else:
        with pytest.raises(AlreadyExists, match="used for a different request"):
            await other
    assert (await catalog.apps.get(app.id)).versions_count == 1


async def test_the_key_of_a_deleted_build_is_used(catalog: Catalog, app: App) -> None:
    with idempotency_key("k"):
        build = await uploaded(catalog, app, "1")
    await catalog.builds.delete(build.id)
    with idempotency_key("k"), pytest.raises(AlreadyExists, match="used for a different request"):
        await uploaded(catalog, app, "1")


async def test_a_change_of_metadata_and_package(catalog: Catalog, app: App) -> None:
    """Metadata is replaced, a null package name cleared; every change raises the app's revision."""
    build = await catalog.uploads.refer(NewBuild(app.id, "1", {"a": 1}, "com.example", "https://x.test"))
    changed = await catalog.builds.update(build.id, {"metadata": {"b": 2}, "package_name": None, "version": None})
    assert changed == replace(build, metadata={"b": 2}, package_name=None, revision=2)
    assert await catalog.builds.get(build.id) == changed
    assert (await catalog.apps.get(app.id)).revision == 3
    assert await catalog.builds.update(build.id, {}) == changed
    assert (await catalog.apps.get(app.id)).revision == 3


async def test_a_rename_takes_along_what_named_the_old_version(catalog: Catalog, app: App) -> None:
    """Pins, the app's pointer and its workflows; other apps' pins of the same version stay."""
    build = await referred(catalog, app, "1")
    other = await catalog.apps.create("Other", Platform.ANDROID, None)
    a, b = [(await catalog.tests.create(NewTest(name, ("Tap x",)))).test.id for name in "ab"]
    for test_id, app_id, pin in ((a, app.id, "1"), (b, app.id, None), (a, other.id, "1")):
        await catalog.attachments.attach(app_id, test_id, pin)
    await catalog.apps.update(app.id, {"current_version": "1"})
    config = BuildConfig(None, AppChoice(app.id, "1"))
    workflow = await catalog.workflows.create(NewWorkflow("Nightly", build_config=config))
    catalog.store.facts.clear()
    renamed = await catalog.builds.update(build.id, {"version": "1.0"})
    now = await catalog.apps.get(app.id)
    assert (renamed.version, now.current_version, now.current_build_id) == ("1.0", "1.0", build.id)
    assert (now.latest_version, now.pinned_tests, now.attached_tests) == ("1.0", 1, 2)
    attached = await catalog.store.attachments.of_tests([a, b])
    pins = {(each.app_id, each.test_id): each.pinned_version for each in attached}
    assert pins == {(app.id, a): "1.0", (app.id, b): None, (other.id, a): "1"}
    assert (await catalog.workflows.get(workflow.id)).build_config == BuildConfig(None, AppChoice(app.id, "1.0"))
    assert [type(fact).__name__ for fact in catalog.store.facts] == ["Build", "Attachment", "App"]


async def test_a_rename_to_a_version_that_exists_changes_nothing(catalog: Catalog, app: App) -> None:
    first, _ = await referred(catalog, app, "1"), await referred(catalog, app, "2")
    before = await catalog.apps.get(app.id)
    with pytest.raises(AlreadyExists):
        await catalog.builds.update(first.id, {"version": "2", "package_name": "com.other"})
    assert await catalog.builds.get(first.id) == first
    assert await catalog.apps.get(app.id) == before


async def test_a_rename_may_make_the_current_version_come_true(catalog: Catalog, app: App) -> None:
    build = await referred(catalog, app, "1")
    await catalog.apps.update(app.id, {"current_version": "2"})
    await catalog.builds.update(build.id, {"version": "2"})
    assert (await catalog.apps.get(app.id)).current_build_id == build.id


async def test_a_deleted_version_may_be_uploaded_again(catalog: Catalog, app: App) -> None:
    """The app's newest build is then the one before it, until it comes again."""
    first = await referred(catalog, app, "1")
    catalog.clock.minutes = 1
    second = await uploaded(catalog, app, "2")
    await catalog.builds.delete(second.id)
    now = await catalog.apps.get(app.id)
    assert (now.versions_count, now.latest_build_id) == (1, first.id)
    with pytest.raises(NotFound, match=r"^Build not found$"):
        await catalog.builds.get(second.id)
    again = await uploaded(catalog, app, "2")
    assert again.id != second.id
    assert again.was_reused
    assert await catalog.uses(sha256(b"content").hexdigest()) == 1


async def test_foreign_builds_are_not_found(catalog: Catalog, app: App) -> None:
    build = await uploaded(catalog, app, "1")
    with context.bind(Caller(str(uuid4()))):
        for build_id in (build.id, str(uuid4())):
            calls = (
                catalog.builds.get(build_id),
                catalog.builds.update(build_id, {"version": "9"}),
                catalog.builds.delete(build_id),
                catalog.builds.download(build_id),
            )
            for call in calls:
                with pytest.raises(NotFound, match=r"^Build not found$"):
                    await call
        with pytest.raises(NotFound, match=r"^App not found$"):
            await catalog.builds.list(app.id, Page(1, 10))


async def test_a_version_that_is_taken_gets_the_suffix(catalog: Catalog, app: App) -> None:
    """Unless the client has named the version: builds of every commit may have the same one in their manifest."""
    catalog.inspector.found = Inspection("com.example", "9.9")
    new = NewBuild(app.id, version_suffix="4f2c1d9")
    assert (await catalog.upload(new, chunks(b"a"))).version == "9.9"
    assert (await catalog.upload(new, chunks(b"b"))).version == "9.9-4f2c1d9"
    with pytest.raises(AlreadyExists):
        await catalog.upload(new, chunks(b"c"))
    with pytest.raises(AlreadyExists):
        await catalog.upload(replace(new, version="9.9", version_suffix="other"), chunks(b"d"))
    listed = await catalog.builds.list(app.id, Page(1, 10), BuildFilter(sha256=sha256(b"b").hexdigest()))
    assert ([build.version for build in listed.items], listed.total) == (["9.9-4f2c1d9"], 1)
