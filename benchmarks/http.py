"""Requests per second of the REST API against the peer's, interleaved, in one run on one MongoDB."""

import itertools
import statistics
from dataclasses import dataclass

import orjson

from benchmarks.load import Load, Target, measure
from benchmarks.seed import Seed

ROUNDS = 3
SECONDS = 4.0
WARM_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Comparison:
    """Ours and the peer's medians over the rounds, and the median of the ratios of each round."""

    name: str
    ours: Load
    peer: Load
    ratio: float


def requests(target: Target, seed: Seed) -> dict[str, list[bytes]]:
    """What is measured: name -> requests to send round and round."""
    workflow = orjson.dumps({"workflow_id": seed.workflow["id"]})
    path = "/api/v1/execution/api/execute_workflow_id_async"
    pages = [f"/api/v1/apps/?page={page}&page_size={size}" for size in range(43, 58) for page in (1, 2, 3)]
    return {
        "list of 50 apps": [target.request("GET", "/api/v1/apps/")],
        "lists of 43 to 57 apps, 45 different pages": [target.request("GET", page) for page in pages],
        "get one app, distinct ids": [target.request("GET", f"/api/v1/apps/{app['id']}") for app in seed.apps],
        "start an execution": [target.request("POST", path, workflow)],
    }


async def compare(ours: Target, peer: Target, seed: Seed) -> list[Comparison]:
    """Measure every kind of request on both sides in turns."""
    theirs = requests(peer, seed)
    return [await _compare(name, (ours, mine), (peer, theirs[name])) for name, mine in requests(ours, seed).items()]


async def _compare(name: str, ours: tuple[Target, list[bytes]], peer: tuple[Target, list[bytes]]) -> Comparison:
    for target, load in (ours, peer):
        await measure(target, load, seconds=WARM_SECONDS)
    rounds = [
        [await measure(target, load, seconds=SECONDS) for target, load in (ours, peer)]
        for _ in itertools.repeat(None, ROUNDS)
    ]
    ratio = statistics.median(mine.requests_per_second / other.requests_per_second for mine, other in rounds)
    return Comparison(name, _median([pair[0] for pair in rounds]), _median([pair[1] for pair in rounds]), ratio)


def _median(loads: list[Load]) -> Load:
    """The load with the median throughput."""
    return sorted(loads, key=lambda load: load.requests_per_second)[len(loads) // 2]
