"""Says of passed attempts which steps have bound another element than in their last passes."""

import asyncio
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from mobiletest_automation.model.results import BindingChange, StepResult
from mobiletest_automation.screen.identity import from_bound, identity_key
from mobiletest_automation.stored_screens.past_bindings import Bindings, StepPast, add_pass, bound_elements
from services.chassis import logs
from services.chassis.clock import Clock, SystemClock
from services.executor.model.runs import Run
from services.executor.ports.screens import BindingsKey, PastBindings

# How long a verdict waits for the storage, and how long none waits after that.
STORE_SECONDS = 1.0
AWAY_SECONDS = 30.0
# Steps of all tests together whose elements are remembered.
MOST_REMEMBERED = 50_000

log = logs.get(__name__)


@dataclass(frozen=True, slots=True)
class _Remembered:
    """Of the settled steps of a test a hash of their element, None for those that bind now this and now that."""

    day: date
    settled: Mapping[str, int | None]


class BindingAlarm:
    """Never raises. Repeated passes of a test that bind the same elements cost no query and no write."""

    def __init__(
        self, store: PastBindings, clock: Clock | None = None, *, store_seconds: float = STORE_SECONDS
    ) -> None:
        self._store = store
        self._clock = clock or SystemClock()
        self._store_seconds = store_seconds
        self._remembered: OrderedDict[BindingsKey, _Remembered] = OrderedDict()
        self._steps_remembered = 0
        self._away_until = 0.0

    async def note_pass(self, run: Run, steps: Sequence[StepResult]) -> tuple[BindingChange, ...]:
        """What has changed in this pass, which counts for later ones. Nothing if that cannot be found out."""
        target, today = run.target, self._clock.now().date()
        bindings = bound_elements(steps, target.test_version_number)
        key = BindingsKey(run.org_id, target.test_id, target.platform, target.app_id, run.variant.id)
        if not bindings or self._says_nothing_new(key, bindings, today):
            return ()
        if self._clock.monotonic() < self._away_until:
            return ()
        try:
            async with asyncio.timeout(self._store_seconds):
                return await self._compare(key, bindings, today)
        except Exception as error:
            log.warning("past_bindings_are_away", run_id=run.id, error=repr(error))
            self._away_until = self._clock.monotonic() + AWAY_SECONDS
            return ()

    async def _compare(self, key: BindingsKey, bindings: Bindings, today: date) -> tuple[BindingChange, ...]:
        past = await self._store.load(key)
        updated, changes = add_pass(past, bindings, today)
        if updated != past:
            await self._store.save(key, updated, today)
        self._remember(key, updated, today)
        return changes

    def _says_nothing_new(self, key: BindingsKey, bindings: Bindings, today: date) -> bool:
        remembered = self._remembered.get(key)
        if remembered is None or remembered.day != today:
            return False
        self._remembered.move_to_end(key)
        settled = remembered.settled
        return all(
            step in settled and settled[step] in (None, hash(identity_key(from_bound(element))))
            for step, (_, element) in bindings.items()
        )

    def _remember(self, key: BindingsKey, past: Sequence[StepPast], today: date) -> None:
        settled = {
            step.step: None if step.is_unsteady else hash(identity_key(from_bound(step.bound[0].element)))
            for step in past
            if step.is_settled
        }
        former = self._remembered.pop(key, None)
        self._steps_remembered += len(settled) - (len(former.settled) if former is not None else 0)
        self._remembered[key] = _Remembered(today, settled)
        while self._steps_remembered > MOST_REMEMBERED and len(self._remembered) > 1:
            self._steps_remembered -= len(self._remembered.popitem(last=False)[1].settled)
