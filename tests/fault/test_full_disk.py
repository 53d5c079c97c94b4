"""`make run` on a disk that is too small: one line that says what to do."""

import asyncio
import os
import sys
from pathlib import Path

from deploy.local.layout import ROOT


async def test_a_disk_that_is_too_small_for_a_new_state_is_one_line(tmp_path: Path) -> None:
    output = await run_on_disk(tmp_path, 100, "true")
    needed = f"MB are free on the disk of {tmp_path}, and a new state folder needs 500 MB: free some, or choose another"
    assert needed in output[-1]


async def test_a_disk_that_is_full_is_one_line(tmp_path: Path) -> None:
    """MongoDB has its folder already, and would end with a page of its log."""
    output = await run_on_disk(tmp_path, 30, "mkdir mongod && ! head -c 29M /dev/zero > filler 2>/dev/null || true")
    assert output[-1].startswith(f"mobiletest failed: the disk of {tmp_path} is full (")
    assert output[-1].endswith("MB are free): free some space, or choose another folder by MOBILETEST_STATE_DIR")


async def run_on_disk(folder: Path, megabytes: int, prepare: str) -> list[str]:
    """What the command says, on a file system of this size that only it sees."""
    run = f"cd {ROOT} && exec {sys.executable} -m deploy.local run --no-examples"
    script = f"mount -t tmpfs -o size={megabytes}m tmpfs {folder} && cd {folder} && {prepare} && {run}"
    process = await asyncio.create_subprocess_exec(
        *("unshare", "--mount", "sh", "-c", script),
        env={**os.environ, "MOBILETEST_STATE_DIR": str(folder), "MOBILETEST_PORT": "0"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    async with asyncio.timeout(120):
        said, _ = await process.communicate()
    assert process.returncode == 1, said.decode()
    lines = said.decode().splitlines()
    assert len(lines) == 2, lines
    return lines
