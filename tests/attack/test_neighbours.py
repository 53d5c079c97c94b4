"""What one organisation does does not slow another: its 99th percentile stays within three times that of an idle stack,
none of its runs is lost, and no process outgrows its memory.

Set MOBILETEST_FAULT_RECORD to a file to keep the figures (see tests/fault/counting.py).
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from deploy.local.stack import Stack
from tests.attack import attacks
from tests.attack.attacks import attacking
from tests.attack.processes import memory_of
from tests.attack.victim import SECONDS, Bench, Measured
from tests.e2e.world import World
from tests.fault.counting import record

# Noise of the machine makes a round slower than the attack alone would: the first that is fast enough counts. The first
# is compared with the idle stack before all attacks, each other one with an idle stack just before it.
ROUNDS = 3
FACTOR = 3
# Differences below this are noise of a machine on which everything shares two cores.
NOISE_SECONDS = 0.15
# The limits of deploy/k8s; of a worker with eight slots, as here, in its overlay for production.
MEMORY_MIB = {"gateway": 512, "catalog": 1024, "executor": 512, "reporting": 512, "worker-1": 2560}

pytestmark = pytest.mark.asyncio(loop_scope="module")


class Watch:
    """The largest memory of each process during an attack."""

    def __init__(self, stack: Stack) -> None:
        self._stack = stack
        self.peak: dict[str, int] = {}

    async def run(self) -> None:
        while True:
            for name, size in (await asyncio.to_thread(memory_of, self._stack)).items():
                self.peak[name] = max(size, self.peak.get(name, 0))
            await asyncio.sleep(1)  # a sample a second


async def compare(
    name: str, stack: Stack, bench: Bench, attack: Callable[[], AbstractAsyncContextManager[None]]
) -> None:
    """Every round must keep all runs, calls and limits of memory."""
    idle, victim = bench
    slow = {}
    for _ in range(ROUNDS):
        if slow:
            idle = await victim.measure(SECONDS)
        watch = Watch(stack)
        async with attack():
            watching = asyncio.create_task(watch.run())
            try:
                attacked = await victim.measure(SECONDS)
            finally:
                watching.cancel()
        _record(name, idle, attacked, watch.peak)
        stack.check()
        assert not attacked.failures, attacked.failures[:5]
        assert {name: size for name, size in watch.peak.items() if size > MEMORY_MIB[name]} == {}
        before, after = idle.p99(), attacked.p99()
        slow = {k: (before[k], after[k]) for k in after if after[k] > FACTOR * before[k] + NOISE_SECONDS}
        if not slow:
            return
    raise AssertionError(slow)


def _record(name: str, idle: Measured, attacked: Measured, peak: Mapping[str, int]) -> None:
    figures = {
        f"{kind}_p99_ms": f"{round(1000 * seconds)} -> {round(1000 * attacked.p99()[kind])}"
        for kind, seconds in idle.p99().items()
    }
    tried = sum(map(len, attacked.seconds.values()))
    record(name, "calls of a neighbour", tried=tried, survived=tried - len(attacked.failures), **figures, MiB=peak)


REPEATED = [
    ("A1 references", "resolve_references", 4),
    ("A1 fieldsets", "resolve_fieldsets", 4),
    ("A1 numbers", "numbers", 4),
    ("A3 inspections", "empty_chunks", 8),
    ("A5 requests", "flood", 32),
    ("A6 uploads", "large_uploads", 8),
    ("A8 unread documents", "unread_documents", 400),
    ("A8 half sign-ins", "half_sign_ins", 400),
]


@pytest.mark.parametrize(("name", "attack", "at_once"), REPEATED, ids=[name for name, _, _ in REPEATED])
async def test_repeated_calls_do_not_slow_a_neighbour(
    attacked: Stack, attacker: World, bench: Bench, name: str, attack: str, at_once: int
) -> None:
    await compare(name, attacked, bench, lambda: attacking(attack, attacker, at_once))


async def test_reports_on_a_large_app_do_not_slow_a_neighbour(attacked: Stack, attacker: World, bench: Bench) -> None:
    app, build = await attacks.large_app(attacker, 4_000)
    await compare("A7 reports", attacked, bench, lambda: attacking("reports", attacker, 8, app["id"], build["id"]))


async def test_unread_lists_do_not_slow_a_neighbour(attacked: Stack, attacker: World, bench: Bench) -> None:
    await attacks.large_apps(attacker)
    await compare("A8 unread lists", attacked, bench, lambda: attacking("unread_lists", attacker, 200))


@pytest.mark.parametrize("elements", [12_000, 2_000])
async def test_heavy_runs_do_not_slow_the_runs_of_a_neighbour(
    attacked: Stack, attacker: World, bench: Bench, elements: int
) -> None:
    """A service may refuse the larger model; the largest that it accepts must not matter to others."""
    workflow = await attacks.heavy_model(attacker, elements)
    if workflow is None:
        assert elements > 2_000
        return
    await compare(
        f"A2 {elements} elements", attacked, bench, lambda: attacking("run_workflow", attacker, 3, workflow["id"])
    )


async def test_urgent_runs_do_not_delay_the_runs_of_a_neighbour(attacked: Stack, attacker: World, bench: Bench) -> None:
    """Slots become free all the time, but many more urgent runs wait than they can take."""
    workflow = await attacker.slow_workflow(minutes=0.5 / 60)

    @asynccontextmanager
    async def backlog() -> AsyncIterator[None]:
        started = await attacks.urgent_runs(attacker, workflow, 400)
        yield
        assert not await attacker.stands(started[-1]["id"], "completed")  # the backlog lasted as long as the attack
        await asyncio.gather(*(attacker.api.post(f"/executions/{execution['id']}/cancel") for execution in started))

    await compare("A4 priority", attacked, bench, backlog)
