"""Starts dead children of a stack again, with backoff, until one of them dies too often."""

import asyncio
from collections import deque
from time import monotonic

from deploy.local.child import Child, ChildDied, run_together
from deploy.local.commands import CommandFailed
from deploy.local.stack import Report, Stack

MOST_DEATHS = 5
WITHIN_SECONDS = 60.0
FIRST_PAUSE_SECONDS = 0.5
_WATCH_SECONDS = 0.2


async def keep_alive(stack: Stack, report: Report, *, pause: float = FIRST_PAUSE_SECONDS) -> None:
    """Start each part that dies again, until cancelled; `report` gets a line for each death. `pause` is in seconds: how
    long to wait after the first death, and twice as long after each further one.

    Raises:
        ChildDied: with its last log lines, when one has died MOST_DEATHS times WITHIN_SECONDS.
    """
    await run_together(*(_keep_part_alive(stack, name, report, pause) for name in stack.parts))


async def _keep_part_alive(stack: Stack, name: str, report: Report, first_pause: float) -> None:
    deaths: deque[float] = deque(maxlen=MOST_DEATHS)
    failure: Exception | None = None
    while True:
        failure = failure or await _death(stack.parts[name].child)
        deaths.append(monotonic())
        recent = sum(deaths[-1] - death < WITHIN_SECONDS for death in deaths)
        if recent == MOST_DEATHS:
            raise ChildDied(f"{MOST_DEATHS} times within {WITHIN_SECONDS:.0f} s: {failure}") from failure
        pause = first_pause * 2 ** (recent - 1)
        report(f"{str(failure).splitlines()[0]}: starting {name} again in {pause:g} s")
        await asyncio.sleep(pause)
        failure = await _restart(stack, name, report)


async def _death(child: Child) -> ChildDied:
    while True:
        try:
            if not child.changing.locked():
                child.check()
        except ChildDied as death:
            return death
        await asyncio.sleep(_WATCH_SECONDS)


async def _restart(stack: Stack, name: str, report: Report) -> Exception | None:
    """The failure after which it must be started once more; one that is not ready yet may wait for another part."""
    child = stack.parts[name].child
    try:
        async with child.changing:
            if child.expected_to_run:
                await stack.restart(name)
    except (ChildDied, CommandFailed) as failure:
        return failure
    except TimeoutError as late:
        report(str(late).splitlines()[0])
    return None
