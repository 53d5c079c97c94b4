"""The inspection in its own process: limits hold, and no artifact harms the service or delays another organisation."""

import asyncio
import gzip
import tarfile
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from services.catalog.inspector import LIMITS, ProcessInspector
from services.catalog.model.builds import Inspection, RejectedArtifact
from services.catalog.model.values import Platform
from services.chassis import context
from services.chassis.errors import ResourceExhausted
from tests.fakes.artifacts import apk, archive, ipa


@pytest.fixture(autouse=True)
def caller() -> Iterator[None]:
    with context.bind(context.Caller("one")):
        yield


def written(folder: Path, content: bytes, name: str = "artifact") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


@cache
def busy_archive() -> bytes:
    """Some 300 KB, in which 60,000 empty files take seconds to read."""
    return gzip.compress(tarfile.TarInfo("empty").tobuf() * 60_000, 1)


@pytest.mark.parametrize("platform", [Platform.ANDROID, Platform.IOS])
async def test_the_child_reads_the_manifest(tmp_path: Path, platform: Platform) -> None:
    content = (apk if platform is Platform.ANDROID else ipa)("com.example", "1.2")
    inspection = await ProcessInspector().inspect(written(tmp_path, content))
    assert inspection == Inspection(package_name="com.example", version="1.2", platform=platform)


@pytest.mark.parametrize(
    ("content", "kind"),
    [(b"name: Shop\nscreens: []\n", "a text"), (b"", "empty"), (b"P", "a text"), (bytes(range(256)), "not an archive")],
)
async def test_a_file_that_is_not_an_archive_is_inspected_without_a_child_process(
    tmp_path: Path, content: bytes, kind: str
) -> None:
    """Such as a simulated app's model: the answer is there although no child may take any time."""
    inspector = ProcessInspector(replace(LIMITS, wall_seconds=0))
    assert await inspector.inspect(written(tmp_path, content)) == Inspection(kind=kind)


async def test_an_unreadable_artifact_is_an_error_of_its_own(tmp_path: Path) -> None:
    inspection = await ProcessInspector().inspect(written(tmp_path, apk()[:100]))
    assert isinstance(inspection, Inspection)
    assert inspection.error is not None


async def test_a_hostile_artifact_is_rejected(tmp_path: Path) -> None:
    inspection = await ProcessInspector().inspect(written(tmp_path, archive({"../x": b""})))
    assert inspection == RejectedArtifact(
        "not a plausible app file: it has an entry whose name leads out of the archive"
    )


async def test_a_child_that_takes_too_much_cpu_is_ended_without_logs(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    inspector = ProcessInspector(replace(LIMITS, cpu_seconds=0.2, wall_seconds=60))
    inspection = await inspector.inspect(written(tmp_path, busy_archive()))
    assert inspection == Inspection(error="the inspection failed: it takes more than 0.2 s of CPU")
    assert capfd.readouterr().err == ""


async def test_an_organisation_with_many_artifacts_does_not_delay_another(tmp_path: Path) -> None:
    inspector = ProcessInspector(replace(LIMITS, cpu_seconds=0.5, wall_seconds=60))
    busy = written(tmp_path, busy_archive(), "busy")
    waiting = [asyncio.create_task(inspector.inspect(busy)) for _ in range(4)]
    await asyncio.sleep(0)
    with context.bind(context.Caller("two")):
        assert await inspector.inspect(written(tmp_path, apk())) == Inspection(
            "com.example.shop", "1.0", platform=Platform.ANDROID
        )
    assert sum(each.done() for each in waiting) < 4
    for each in waiting:
        each.cancel()
    await asyncio.wait(waiting)


async def test_too_many_artifacts_of_an_organisation_are_refused(tmp_path: Path) -> None:
    inspector, busy = ProcessInspector(), written(tmp_path, busy_archive())
    waiting = [asyncio.create_task(inspector.inspect(busy)) for _ in range(65)]
    await asyncio.sleep(0)
    with pytest.raises(ResourceExhausted):
        await inspector.inspect(busy)
    for each in waiting:
        each.cancel()
    await asyncio.wait(waiting)
