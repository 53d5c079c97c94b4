"""The slots of a worker: claims runs while slots are free, executes them, and releases them on shutdown."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence

from mobiletest_automation.model.devices import Platform
from services.chassis import logs
from services.executor import telemetry
from services.executor.ports.runs import Attempts, Claim, RunKey, Runs, StopReason
from services.executor.worker.run_executor import ActiveRun, RunExecutor

HAND_BACK_SECONDS = 3.0

log = logs.get(__name__)


class Worker:
    """Holds up to `slots` runs at once, each in a task of its own."""

    def __init__(
        self, runs: Runs, attempts: Attempts, *, name: str, slots: int, can_execute: Callable[[], bool] = lambda: True
    ) -> None:
        """While `can_execute` is false nothing is claimed: something that runs need cannot be reached."""
        self._runs = runs
        self._attempts = attempts
        self._name = name
        self._slots = slots
        self._can_execute = can_execute
        self._executor = RunExecutor(runs, attempts, name)
        self._claiming: Counter[Platform] = Counter()
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._on_free_slot: list[Callable[[], None]] = []
        self._draining = False
        self._handing_back = False
        self.active: dict[str, ActiveRun] = {}
        self.failed: asyncio.Future[BaseException] = asyncio.get_running_loop().create_future()
        telemetry.slots.set(slots)
        telemetry.running.set_function(lambda: len(self.active))

    @property
    def is_draining(self) -> bool:
        """Whether it claims nothing more."""
        return self._draining

    @property
    def platforms(self) -> Sequence[Platform]:
        return self._attempts.platforms

    def accepts(self, platform: Platform, org_id: str) -> bool:
        """Whether this worker claims runs of the organisation for the platform."""
        return self._attempts.accepts(platform, org_id)

    def on_free_slot(self, call: Callable[[], None]) -> None:
        """Call this whenever a slot becomes free."""
        self._on_free_slot.append(call)

    def notify_free_slot(self) -> None:
        """Make those who look for runs look again."""
        for call in self._on_free_slot:
            call()

    def free_slots(self, platform: Platform) -> int:
        """How many runs of the platform can be claimed now."""
        if self._draining or not self._can_execute():
            return 0
        devices = self._attempts.places(platform) - self._held(platform)
        return max(0, min(self._slots - len(self.active) - self._claiming.total(), devices))

    def _held(self, platform: Platform) -> int:
        """How many runs of the platform are held or being claimed."""
        busy = sum(active.claim.run.target.platform is platform for active in self.active.values())
        return busy + self._claiming[platform]

    async def claim(self, keys: Sequence[RunKey], platform: Platform) -> int:
        """Claim as many of these runs as there are free slots and start to execute them; returns how many.

        A storage error is raised after the runs that were claimed have been started. A run that was lost but is still
        being released by this worker is left alone until that is done.
        """
        chosen = [key for key in keys if key.run_id not in self.active][: self.free_slots(platform)]
        # Before the first await, so that a claim that begins meanwhile does not take the same slots.
        self._claiming[platform] += len(chosen)
        claimed: list[Claim] = []
        try:
            claims = (self._runs.claim(key, self._name) for key in await self._with_devices(chosen, platform))
            answers = await asyncio.gather(*claims, return_exceptions=True)
            claimed = [answer for answer in answers if isinstance(answer, Claim)]
        finally:
            self._claiming[platform] -= len(chosen)
            for claim in claimed:
                self._start(claim)
            self._attempts.settle(platform, self._held(platform))
        for error in answers:
            if isinstance(error, BaseException):
                raise error
        return len(claimed)

    async def _with_devices(self, keys: Sequence[RunKey], platform: Platform) -> Sequence[RunKey]:
        """As many of the keys as there are devices for, now that all of them are being claimed."""
        held = self._held(platform)
        missing = max(0, held - await self._attempts.reserve(platform, held))
        return keys[: max(0, len(keys) - missing)]

    def _start(self, claim: Claim) -> None:
        active = ActiveRun(claim)
        self.active[claim.run.id] = active
        context = logs.masked_context()  # also of what is logged about the task when it has ended
        task = asyncio.create_task(self._executor.execute(active), name=f"run {claim.run.id}", context=context)
        self._tasks[claim.run.id] = task
        task.add_done_callback(lambda done: self._release(claim.run.id, done), context=context)
        # It was claimed while `drain` stopped the others.
        if self._handing_back:
            active.stop(StopReason.DRAIN)

    def _release(self, run_id: str, task: "asyncio.Task[None]") -> None:
        platform = self.active.pop(run_id).claim.run.target.platform
        del self._tasks[run_id]
        if platform is not None:
            self._attempts.settle(platform, self._held(platform))
        error = None if task.cancelled() else task.exception()
        if error is not None and not self.failed.done():
            log.error("work_failed", run_id=run_id, exc_info=error)
            self.failed.set_result(error)
        self.notify_free_slot()

    async def watch(self) -> None:
        """Runs forever; raises the first unexpected error of a run's task."""
        raise await self.failed

    def stop_claiming(self) -> None:
        """Claim nothing more."""
        self._draining = True

    async def drain(self, grace: float) -> None:
        """Wait up to `grace` seconds for runs to end, then hand the rest back."""
        self.stop_claiming()
        if tasks := list(self._tasks.values()):
            await asyncio.wait(tasks, timeout=grace)
        self._handing_back = True
        for active in self.active.values():
            active.stop(StopReason.DRAIN)
        if tasks := list(self._tasks.values()):
            log.info("handing_back", runs=len(tasks))
            await asyncio.wait(tasks, timeout=HAND_BACK_SECONDS)
