"""deploy/images/left_folders.sh, which with-docker.sh calls before it starts a daemon."""

import os
import subprocess
from pathlib import Path

from tests.images.docker import ROOT


def remove_left_folders(parent: Path) -> None:
    command = "set -euo pipefail; source deploy/images/left_folders.sh; remove_left_folders"
    subprocess.run(["bash", "-c", command], cwd=ROOT, env={**os.environ, "TMPDIR": str(parent)}, check=True)


def ended_pid() -> int:
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


def a_folder(parent: Path, owner: int, daemon: int) -> Path:
    """As a daemon leaves it that was killed while a container ran: its network is mounted."""
    folder = parent / f"mobiletest-docker-{owner}-x7Yz"
    network = folder / "run" / "netns" / "9dc0a849758a"
    network.parent.mkdir(parents=True)
    network.touch()
    (folder / "pid").write_text(f"{daemon}\n")
    subprocess.run(["unshare", f"--net={network}", "true"], check=True)
    return folder


def mounts_below(folder: Path) -> list[str]:
    return [line for line in Path("/proc/mounts").read_text().splitlines() if f" {folder}/" in line]


def test_folders_of_killed_daemons_are_removed_with_their_networks(tmp_path: Path) -> None:
    folder = a_folder(tmp_path, owner=ended_pid(), daemon=ended_pid())
    assert mounts_below(folder)
    remove_left_folders(tmp_path)
    assert (mounts_below(folder), folder.exists()) == ([], False)


def test_folders_of_running_processes_stay(tmp_path: Path) -> None:
    of_script = a_folder(tmp_path, owner=os.getpid(), daemon=ended_pid())
    of_daemon = a_folder(tmp_path, owner=ended_pid(), daemon=os.getpid())
    try:
        remove_left_folders(tmp_path)
        assert mounts_below(of_script)
        assert mounts_below(of_daemon)
    finally:
        for folder in (of_script, of_daemon):
            subprocess.run(["umount", *folder.glob("run/netns/*")], check=True)


def test_without_folders_nothing_happens(tmp_path: Path) -> None:
    remove_left_folders(tmp_path)
    assert list(tmp_path.iterdir()) == []
