"""Runs every benchmark on a fresh stack and prints docs/performance.md's table."""

import sys
import tempfile
from pathlib import Path

import uvloop

from benchmarks import claims, folding, http, report
from benchmarks.load import Target
from benchmarks.peers import process
from benchmarks.seed import plant
from deploy.local import stack
from examples.client import Address, Client


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with stack.run_stack(Path(folder)) as running:
            target = Target(running.url, running.api_key)
            async with Client(Address(running.url, running.api_key)) as client:
                seed = await plant(client)
                claimed = await claims.measure(client, seed)
            await running.stop("worker-1")
            async with process.running(running.mongo_uri, seed, running.api_key) as peer:
                compared = await http.compare(target, peer, seed)
    report.show(compared, claimed, await folding.compare())


if __name__ == "__main__":
    sys.exit(uvloop.run(main()))
