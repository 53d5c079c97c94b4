"""Which screens are stored and were referred to today, so that nobody has to ask for them at each step."""

from collections import OrderedDict
from datetime import date

from services.chassis.clock import Clock
from services.executor.model.screens import ScreenKey


class KnownScreens:
    """The `most` that were used last. After a day (UTC) they are asked for again, so that they are kept for longer."""

    def __init__(self, clock: Clock, *, most: int) -> None:
        self._clock = clock
        self._most = most
        self._days: OrderedDict[ScreenKey, date] = OrderedDict()

    @property
    def today(self) -> date:
        return self._clock.now().date()

    def __contains__(self, key: ScreenKey) -> bool:
        if self._days.get(key) != self.today:
            return False
        self._days.move_to_end(key)
        return True

    def add(self, key: ScreenKey, day: date) -> None:
        """Note that it was referred to on this day, which was `today` before that took its time."""
        self._days[key] = day
        self._days.move_to_end(key)
        if len(self._days) > self._most:
            self._days.popitem(last=False)
