"""The slots of a worker: claims runs while there is room, works on them, and lets go of them when it stops."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence

from services.chassis import logs
from services.executor import telemetry
from services.executor.model.runs import Platform
from services.executor.ports.attempts import Attempts
from services.executor.ports.runs import Claim, RunKey, Runs
from services.executor.worker.active_run import ActiveRun, StopReason
from services.executor.worker.run_executor import RunExecutor

HAND_BACK_SECONDS = 3.0

log = logs.get(__name__)


class Worker:
    """Holds up to `slots` runs at once, each in a task of its own."""

    def __init__(self, runs: Runs, attempts: Attempts, *, name: str, slots: int) -> None:
        self._runs = runs
        self._attempts = attempts
        self._name = name
        self._slots = slots
        self._working = RunExecutor(runs, attempts, name)
        self._claiming: Counter[Platform] = Counter()
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._freed: list[Callable[[], None]] = []
        self._draining = False
        self.held: dict[str, ActiveRun] = {}
        self.failed: asyncio.Future[BaseException] = asyncio.get_running_loop().create_future()
        telemetry.slots.set(slots)
        telemetry.running.set_function(lambda: len(self.held))

    @property
    def platforms(self) -> Sequence[Platform]:
        return self._attempts.platforms

    def on_freed(self, call: Callable[[], None]) -> None:
        """Call this whenever a slot has come free."""
        self._freed.append(call)

    def announce_room(self) -> None:
        """Let those who look for runs look again."""
        for call in self._freed:
            call()

    def free(self, platform: Platform) -> int:
        """How many runs of the platform could be claimed now."""
        if self._draining:
            return 0
        busy = Counter(held.claim.run.target.platform for held in self.held.values())
        places = self._attempts.places(platform) - busy[platform] - self._claiming[platform]
        return max(0, min(self._slots - len(self.held) - self._claiming.total(), places))

    async def take(self, keys: Sequence[RunKey], platform: Platform) -> int:
        """Claim of these runs what there is room for and begin to work on them; how many were to be had.

        An error of the storage is raised once those that were claimed are begun. A run that this worker still lets
        go of, because it was taken from it, is left alone until that is done.
        """
        chosen = [key for key in keys if key.run_id not in self.held][: self.free(platform)]
        self._claiming[platform] += len(chosen)
        try:
            claims = (self._runs.claim(key, self._name) for key in chosen)
            answers = await asyncio.gather(*claims, return_exceptions=True)
        finally:
            self._claiming[platform] -= len(chosen)
        taken = [answer for answer in answers if isinstance(answer, Claim)]
        for claim in taken:
            self._begin(claim)
        for error in answers:
            if isinstance(error, BaseException):
                raise error
        return len(taken)

    def _begin(self, claim: Claim) -> None:
        held = ActiveRun(claim)
        self.held[claim.run.id] = held
        task = asyncio.create_task(self._working.through(held), name=f"run {claim.run.id}")
        self._tasks[claim.run.id] = task
        task.add_done_callback(lambda done: self._ended(claim.run.id, done))
        if self._draining:
            held.stop(StopReason.DRAIN)

    def _ended(self, run_id: str, task: "asyncio.Task[None]") -> None:
        del self.held[run_id], self._tasks[run_id]
        error = None if task.cancelled() else task.exception()
        if error is not None and not self.failed.done():
            log.error("work_failed", run_id=run_id, exc_info=error)
            self.failed.set_result(error)
        self.announce_room()

    async def watch(self) -> None:
        """Runs for ever, and dies of the first failure of ours while writing a run."""
        raise await self.failed

    def stop_claiming(self) -> None:
        """Take nothing more, from now on."""
        self._draining = True

    async def drain(self, grace: float) -> None:
        """Let end what ends within `grace` seconds; hand the rest back."""
        self.stop_claiming()
        if tasks := list(self._tasks.values()):
            await asyncio.wait(tasks, timeout=grace)
        for held in self.held.values():
            held.stop(StopReason.DRAIN)
        if tasks := list(self._tasks.values()):
            log.info("handing_back", runs=len(tasks))
            await asyncio.wait(tasks, timeout=HAND_BACK_SECONDS)
