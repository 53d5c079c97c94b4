"""The folder of waiting artifacts: bounded, with complete files only, and readable by the next process."""

import os
from pathlib import Path

import pytest

from services.chassis.errors import Unavailable
from services.executor.worker.spool import ArtifactSpool, is_owned_by

KEY = "runs/6f1b1f0e/1/attempt-1-step-000.png"


async def test_spooled_artifacts_are_visible_to_other_processes(tmp_path: Path) -> None:
    """In a folder for this user alone, which is created with the first artifact."""
    spool = ArtifactSpool(tmp_path / "spool", 100)
    assert (await spool.waiting(), os.listdir(tmp_path)) == ([], [])
    await ArtifactSpool(tmp_path / "spool", 100).add(KEY, b"picture")
    assert (tmp_path / "spool").stat().st_mode & 0o777 == 0o700
    [item] = await spool.waiting()
    assert (item.key, item.size, item.path.read_bytes()) == (KEY, 7, b"picture")
    assert 0 <= item.age() < 60
    await spool.remove(item)
    await spool.remove(item)
    assert await spool.waiting() == []


async def test_the_oldest_comes_first(tmp_path: Path) -> None:
    spool = ArtifactSpool(tmp_path, 100)
    for number, since in (("1", 300), ("2", 100), ("3", 200)):
        await spool.add(number, b"x")
        os.utime(tmp_path / f"{number}.artifact", (since, since))
    assert [item.key for item in await spool.waiting()] == ["2", "3", "1"]


async def test_the_spool_is_bounded(tmp_path: Path) -> None:
    spool = ArtifactSpool(tmp_path, 10)
    await spool.add("a", b"123456")
    with pytest.raises(Unavailable, match="spool is full"):
        await spool.add("b", b"12345")
    await spool.add("c", b"1234")
    assert [item.key for item in await spool.waiting()] == ["a", "c"]


async def test_artifact_names_cannot_escape_the_folder(tmp_path: Path) -> None:
    spool = ArtifactSpool(tmp_path / "spool", 100)
    await spool.add("runs/../../../out/1/é ~%2F.png", b"x")
    [item] = await spool.waiting()
    assert item.path.parent == tmp_path / "spool"
    assert item.key == "runs/../../../out/1/é ~%2F.png"


async def test_a_symbolic_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "spool").symlink_to(tmp_path / "theirs")
    with pytest.raises(Unavailable):
        await ArtifactSpool(tmp_path / "spool", 100).add("a", b"x")
    assert list((tmp_path / "theirs").iterdir()) == []


async def test_a_read_only_folder_raises_unavailable(tmp_path: Path) -> None:
    (tmp_path / "spool").write_text("a file")
    with pytest.raises(Unavailable):
        await ArtifactSpool(tmp_path / "spool", 100).add("a", b"x")


async def test_half_written_files_are_not_uploaded(tmp_path: Path) -> None:
    """They are removed some time after their process ended."""
    young, old = tmp_path / "1234.part", tmp_path / "5678.part"
    for half in (young, old):
        half.write_bytes(b"half")
    os.utime(old, (0, 0))
    assert await ArtifactSpool(tmp_path, 100).waiting() == []
    assert os.listdir(tmp_path) == ["1234.part"]


async def test_files_of_another_user_are_not_uploaded(tmp_path: Path) -> None:
    """Neither a link to a folder nor a link in the folder is used: both could point to any file."""
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    await ArtifactSpool(theirs, 100).add("runs/1/1/theirs.png", b"x")
    (theirs / "half.part").write_bytes(b"x")
    os.utime(theirs / "half.part", (0, 0))
    (tmp_path / "spool").symlink_to(theirs)
    assert await ArtifactSpool(tmp_path / "spool", 100).waiting() == []
    assert (theirs / "half.part").exists()
    ours.mkdir()
    (ours / "runs%2F1%2F1%2Fsecret.artifact").symlink_to(tmp_path / "secret")
    (ours / "runs%2F1%2F1%2Ffolder.artifact").mkdir()
    assert await ArtifactSpool(ours, 100).waiting() == []


def test_a_folder_of_root_is_used_and_one_of_another_user_is_not(tmp_path: Path) -> None:
    if os.getuid() == 0:
        os.chown(tmp_path, 54321, -1)
    assert is_owned_by(Path("/"), 12345)
    assert not is_owned_by(tmp_path, 12345)
    assert not is_owned_by(tmp_path / "none", 12345)
