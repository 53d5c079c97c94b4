"""Writes a file completely or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from mobiletest_cli.errors import INVALID_FILE, CliError


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file to write, which replaces `path` when the block ends without an error; its folders are made.

    Devices and pipes are written as they are, and so are files behind links; a file that is replaced keeps its mode.

    Raises:
        CliError: it cannot be written.
    """
    target = Path(os.path.realpath(path))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists() and not target.is_file():
            with target.open("wb") as content:
                yield content
            return
        part = target.with_name(f".{target.name}.{os.getpid()}.part")
        try:
            with part.open("wb") as content:
                yield content
            if target.exists():
                shutil.copymode(target, part)
            part.replace(target)
        finally:
            with suppress(OSError):
                part.unlink(missing_ok=True)
    except OSError as error:
        raise CliError(f"{path}: cannot be written: {error.strerror}", INVALID_FILE) from None
