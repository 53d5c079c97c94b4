"""The time from the sending of a start to the claim of its run by a worker, one at a time on an idle stack."""

import statistics
from dataclasses import dataclass
from datetime import datetime
from time import time
from typing import Any

from benchmarks.seed import Seed
from examples.client import Client

STARTS = 60


@dataclass(frozen=True, slots=True)
class Claims:
    """Milliseconds from the request to the claim, and to the ended execution."""

    claim_p50: float
    claim_p95: float
    end_p50: float


async def measure(client: Client, seed: Seed) -> Claims:
    """Start the workflow again and again, each time waiting for its end."""
    claims, ends = [], []
    for _ in range(STARTS):
        sent = time()
        path = "execution/api/execute_workflow_id_async"
        started = await client.call("POST", path, json={"workflow_id": seed.workflow["id"]})
        execution = await _ended(client, started["id"])
        ends.append(_milliseconds(sent, execution["completed_at"]))
        claims.append(_milliseconds(sent, execution["started_at"]))
    return Claims(statistics.median(claims), statistics.quantiles(claims, n=20)[-1], statistics.median(ends))


async def _ended(client: Client, execution_id: str) -> Any:
    while True:
        execution = await client.call("GET", f"executions/{execution_id}", params={"wait": 30})
        if execution["completed_at"]:
            return execution


def _milliseconds(sent: float, stamp: str) -> float:
    """From `sent` (this machine's clock) to a time that the service gave (the same machine's, in milliseconds)."""
    return (datetime.fromisoformat(stamp).timestamp() - sent) * 1000
