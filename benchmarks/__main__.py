"""Runs every benchmark on a fresh stack and prints the tables of docs/performance.md."""

import os
import platform
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import uvloop

from benchmarks import claims, folding, http, limits
from benchmarks.claims import Claims
from benchmarks.folding import Rates
from benchmarks.http import Comparison
from benchmarks.load import Target
from benchmarks.peers import process
from benchmarks.seed import plant
from deploy.local import stack
from examples.client import Client


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with stack.run_stack(Path(folder), extra_env=limits.ENVIRONMENT) as running:
            target = Target(running.url, running.api_key)
            async with Client(running.url, running.api_key) as client:
                seed = await plant(client)
                claimed = await claims.measure(client, seed)
            await running.stop("worker-1")
            async with process.running(running.mongo_uri, seed, running.api_key) as peer:
                compared = await http.compare(target, peer, seed)
    show(compared, claimed, await folding.compare())


def show(compared: Sequence[Comparison], claimed: Claims, folded: Rates) -> None:
    """Print Markdown: the machine, then ratios first, absolute figures after."""
    print(f"Python {platform.python_version()}, {os.cpu_count()} shared cores, everything on them.\n")
    print("| 32 connections | ratio to the peer | ours, requests/s | p50 / p99 ms | peer, requests/s | p50 / p99 ms |")
    print("| --- | --- | --- | --- | --- | --- |")
    for row in compared:
        ours, peer = row.ours, row.peer
        print(
            f"| {row.name} | {row.ratio:.2f} | {ours.requests_per_second:,.0f} | {ours.p50:.1f} / {ours.p99:.1f} "
            f"| {peer.requests_per_second:,.0f} | {peer.p50:.1f} / {peer.p99:.1f} |"
        )
    print("\n| start of one run on an idle stack | ms |\n| --- | --- |")
    print(f"| to its claim, p50 / p95 | {claimed.claim_p50:.0f} / {claimed.claim_p95:.0f} |")
    print(f"| to its end, p50 | {claimed.end_p50:.0f} |")
    print()
    folding.show(folded)


if __name__ == "__main__":
    sys.exit(uvloop.run(main()))
