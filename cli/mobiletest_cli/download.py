"""Writes what the server sends to a file, completely or not at all."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import httpx

from mobiletest_cli.api import Api
from mobiletest_cli.errors import INVALID_FILE, NOT_FOUND, UNREACHABLE, CliError
from mobiletest_cli.file_replacement import replacing
from mobiletest_cli.names import file_name, is_id, unique_name

if TYPE_CHECKING:
    from mobiletest_cli.api_types import Run

_NAME = re.compile(r'filename="([^"]+)"')
_UNNAMED = "download"


def download_to(api: Api, path: str, file: Path | None = None) -> Path:
    """Download to the file, or to one of the name that the server gives. The path that was written.

    Raises:
        CliError: the file exists already (without `file`) or cannot be written, or the connection was lost.
    """
    with api.stream(path) as response:
        match = _NAME.search(response.headers.get("Content-Disposition", ""))
        target = file or Path(file_name(match[1] if match else _UNNAMED, _UNNAMED))
        if file is None and os.path.lexists(target):
            raise CliError(f"{target}: exists already", INVALID_FILE, "Name another file with --output")
        try:
            with replacing(target) as content:
                for chunk in response.iter_bytes():
                    content.write(chunk)
        except httpx.RequestError as error:
            raise CliError(f"the download was cut: {error}", UNREACHABLE) from None
    return target


def download_artifacts(api: Api, run: Run, folder: Path) -> Iterator[Path]:
    """Download the artifacts of all attempts, and the run as one HTML file, to a folder in `folder` that is named after
    the run; the files.

    Raises:
        CliError: one cannot be downloaded or written, or the id of the run is not one, so that the folder may be
            another one.
    """
    if not is_id(run["id"]):
        raise CliError(f'the server calls a run "{run["id"]}", which is not an id', UNREACHABLE, "mobiletest doctor")
    taken: set[str] = set()
    for attempt in run["attempts"]:
        for artifact in attempt["artifacts"]:
            if artifact["url"]:
                path = f"executions/{run['execution_id']}/runs/{run['id']}/artifacts/{artifact['name']}"
                target = folder / run["id"] / unique_name(artifact["name"], taken)
                yield download_to(api, path, target)
    if run["attempts"]:
        yield from _download_report(api, run, folder / run["id"] / unique_name("report.html", taken))


def _download_report(api: Api, run: Run, target: Path) -> Iterator[Path]:
    try:
        yield download_to(api, f"executions/{run['execution_id']}/runs/{run['id']}/report.html", target)
    except CliError as error:
        if error.exit_code != NOT_FOUND:  # which is what a server says that is older than reports
            raise
