"""Our side of the comparisons: a stack without workers."""

import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from benchmarks import limits
from benchmarks.comparison import Side
from benchmarks.load import Target
from deploy.local.stack import Stack, run_stack

OURS = "ours"


@asynccontextmanager
async def serving_stack() -> AsyncIterator[Stack]:
    """A fresh stack that accepts and reads executions, but runs none."""
    with tempfile.TemporaryDirectory() as folder:
        async with run_stack(Path(folder), extra_env=limits.ENVIRONMENT) as running:
            await running.stop("worker-1")
            yield running


def our_side(running: Stack) -> Side:
    processes = {name: part.child.pid for name, part in running.parts.items() if part.child.running}
    return Side(OURS, Target(running.url, running.api_key), processes)
