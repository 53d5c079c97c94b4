"""The report of a run without a server: one HTML file among its artifacts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from mobiletest_automation.html_report import LOG_BYTES, ReportedRun, Shot, StoredPicture, render
from mobiletest_cli.local_run.results import REPORT, EvidenceFolder, LocalRun

SCREEN_BYTES = 64 * 1024 * 1024


class HeldScreens:
    """The port ScreenStore: what the failed attempts of one run saw, in memory until its report is written."""

    def __init__(self) -> None:
        self.stored: dict[str, tuple[bytes, str]] = {}
        self._bytes = 0

    async def picture_of(self, state: str) -> str:
        return ""

    async def has(self, hash: str, state: str = "") -> bool:
        return hash in self.stored

    async def keep(self, hash: str, content: bytes, content_type: str, state: str = "") -> str:
        if self._bytes + len(content) > SCREEN_BYTES:
            return f"the screens of the run have more than {SCREEN_BYTES // 1024 // 1024} MiB"
        self._bytes += len(content)
        self.stored[hash] = content, content_type
        return ""


class _Pictures:
    """The port PictureSource on screens in memory and artifacts in files."""

    def __init__(self, screens: HeldScreens, folder: EvidenceFolder) -> None:
        self._screens = screens.stored
        self._folder = folder

    async def look_up(self, shots: Sequence[Shot]) -> Mapping[str, StoredPicture]:
        artifacts = [shot.artifact for shot in shots if shot.artifact is not None]
        files = {each.name: StoredPicture(each.content_type, each.size_bytes) for each in artifacts}
        return {hash_: StoredPicture(kind, len(content)) for hash_, (content, kind) in self._screens.items()} | files

    async def read(self, shots: Sequence[Shot]) -> Mapping[str, bytes]:
        return {
            shot.key: _end_of_file(self._folder.path_of(shot.key), shot.artifact.size_bytes)
            if shot.artifact is not None
            else self._screens[shot.key][0]
            for shot in shots
        }


async def write_report(run: LocalRun, screens: HeldScreens, folder: EvidenceFolder) -> None:
    """Write the report of a run that has ended; if that fails, the `problem` of the folder says so."""
    log, size = b"", 0
    for artifact in run.attempts[-1].artifacts:
        if artifact.kind == "log":
            log, size = _end_of_file(folder.path_of(artifact.name), LOG_BYTES), artifact.size_bytes
    reported = ReportedRun(
        test_name=run.name,
        platform=run.platform,
        version=run.version or "",
        status=run.status,
        success=run.success,
        failure=run.failure,
        attempts=run.attempts,
        seconds=run.seconds,
        completed_at=run.completed_at,
    )
    pieces = await render(reported, _Pictures(screens, folder), log, size)
    with suppress(OSError):
        await folder.keep(REPORT, b"".join(pieces), "text/html")


def _end_of_file(path: str, size: int) -> bytes:
    """Its last bytes; nothing if it cannot be read."""
    try:
        with Path(path).open("rb") as file:
            file.seek(max(0, Path(path).stat().st_size - size))
            return file.read(size)
    except OSError:
        return b""
