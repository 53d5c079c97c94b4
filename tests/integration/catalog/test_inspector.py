"""The inspection in its own process: limits hold, and no artifact takes the service with it."""

import asyncio
import io
import os
import sys
from pathlib import Path

import pytest

from services.catalog.inspection.inspector import ProcessInspector
from services.catalog.model.builds import Inspection, RejectedArtifact
from tests.eventually import eventually
from tests.fakes.artifacts import apk, archive, ipa


def written(folder: Path, content: bytes) -> Path:
    """A file with this content."""
    path = folder / "artifact"
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("content", [apk("com.example", "1.2"), ipa("com.example", "1.2")])
async def test_the_child_reads_the_manifest(tmp_path: Path, content: bytes) -> None:
    """Package name and version come back over its standard output."""
    found = await ProcessInspector().inspect(written(tmp_path, content))
    assert found == Inspection(package_name="com.example", version="1.2")


async def test_an_unreadable_artifact_is_an_error_of_its_own(tmp_path: Path) -> None:
    """The build is kept with this text."""
    found = await ProcessInspector().inspect(written(tmp_path, apk()[:100]))
    assert isinstance(found, Inspection)
    assert found.error is not None


async def test_a_hostile_artifact_is_rejected(tmp_path: Path) -> None:
    """The upload is refused with the reason."""
    found = await ProcessInspector().inspect(written(tmp_path, archive({"../x": b""})))
    assert found == RejectedArtifact("it has an entry whose name leads out of the archive")


async def test_a_child_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    """And the artifact counts as unreadable."""
    found = await ProcessInspector(wall_seconds=0.0).inspect(written(tmp_path, apk()))
    assert found == Inspection(error="the inspection ended with signal 9")


async def test_a_cancelled_inspection_leaves_no_process(tmp_path: Path) -> None:
    """The child ends with its request, and the next inspection starts."""
    inspector, pipe = ProcessInspector(at_once=1), tmp_path / "pipe"
    os.mkfifo(pipe)
    inspecting = asyncio.create_task(inspector.inspect(pipe))
    writer = await eventually(lambda: writer_of(pipe))  # the child has opened it, and waits for what never comes
    inspecting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await inspecting
    with pytest.raises(BrokenPipeError):
        writer.write(b"x")
    writer.close()
    assert await inspector.inspect(written(tmp_path, apk())) == Inspection("com.example.shop", "1.0")


def writer_of(pipe: Path) -> io.FileIO | None:
    """The pipe, open for writing; None while nobody reads it."""
    try:
        return io.FileIO(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK), "w")
    except OSError:
        return None


HOG = "from services.catalog.inspection.manifest_reader import limit; limit(); bytearray(600 * 1024 * 1024)"
WRITER = """
from pathlib import Path
from services.catalog.inspection.manifest_reader import limit
limit()
Path({path!r}).write_text("x")
"""


async def failing(code: str) -> bool:
    """Whether the code fails in a process of its own."""
    child = await asyncio.create_subprocess_exec(sys.executable, "-c", code, stderr=asyncio.subprocess.DEVNULL)
    return await child.wait() != 0


@pytest.mark.skipif(sys.platform == "darwin", reason="macOS does not limit the address space")
async def test_the_child_cannot_have_more_than_its_memory() -> None:
    """512 MiB of address space."""
    assert await failing(HOG)


async def test_the_child_cannot_write_files(tmp_path: Path) -> None:
    """Its file size limit is zero."""
    assert await failing(WRITER.format(path=str(tmp_path / "out")))
