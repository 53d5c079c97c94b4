"""What the largest reports cost: the gate over 10,000 failing tests, and a matrix of 1,000 cells.

`python -m benchmarks.reports` fills two databases of one mongod (see benchmarks/breakages.py, history.py) and asks in
this process, with the collector of the services: the use-case, its lookups, and the bytes of the answer.
"""

import gc
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median

import uvloop

from benchmarks import breakages, views
from benchmarks.goals import Goal, show
from benchmarks.history import fill
from deploy.local.mongod import mongod
from services.chassis.context import Caller, bind
from services.chassis.lifecycle import COLLECT_EVERY
from services.chassis.mongo import Mongo

FAILING, BUILDS = 10_000, 12
GATES, MATRICES = 5, 60
GATE_SECONDS, MATRIX_MILLISECONDS = 1.0, 20.0


async def goals() -> list[Goal]:
    """Medians; CPU is that of this process alone, without MongoDB."""
    before = gc.get_threshold()
    gc.set_threshold(*COLLECT_EVERY)
    try:
        with tempfile.TemporaryDirectory() as folder, bind(Caller(breakages.ORG)):
            async with mongod(Path(folder) / "mongod") as server:
                return [await _gate(server.uri), await _matrix(server.uri)]
    finally:
        gc.set_threshold(*before)


async def _gate(uri: str) -> Goal:
    mongo = await Mongo.connect(uri, "gate")
    history = breakages.History(mongo, await breakages.fill(mongo, BUILDS, FAILING), FAILING)
    seconds, cpu = await _medians(history.gate, GATES)
    await mongo.close()
    figures = f"the use-case, {FAILING:,} tests on {BUILDS} builds; {cpu:.2f} s of CPU"
    return Goal("gate over 10,000 failing tests", seconds, GATE_SECONDS, "s", at_most=True, figures=figures)


async def _matrix(uri: str) -> Goal:
    await fill(uri, "matrix", views.SMALL.rounds, 0)
    mongo = await Mongo.connect(uri, "matrix")
    seconds, cpu = await _medians(views.Views(mongo).matrix, MATRICES)
    await mongo.close()
    figures = f"the use-case, 10 builds of 100 tests; {cpu * 1000:.1f} ms of CPU"
    return Goal("matrix of 1,000 cells", seconds * 1000, MATRIX_MILLISECONDS, "ms", at_most=True, figures=figures)


async def _medians(ask: Callable[[], Awaitable[object]], times: int) -> tuple[float, float]:
    """Seconds until the answer and of CPU, after the first answer."""
    await ask()
    taken: list[tuple[float, float]] = []
    for _ in range(times):
        began, cpu = time.perf_counter(), time.process_time()
        await ask()
        taken.append((time.perf_counter() - began, time.process_time() - cpu))
    return median(wall for wall, _ in taken), median(cpu for _, cpu in taken)


async def main() -> None:
    show("Reports", await goals())


if __name__ == "__main__":
    uvloop.run(main())
