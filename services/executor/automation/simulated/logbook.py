"""What a simulated device logs: a bounded number of lines, each with the device's time."""

from collections import deque

from services.executor.automation.devices import Timer

LINES_LIMIT = 1_000
LINE_LIMIT = 500


class Logbook:
    """Lines since it was read last; of too many the oldest are dropped."""

    def __init__(self, timer: Timer) -> None:
        self._timer = timer
        self._lines: deque[str] = deque(maxlen=LINES_LIMIT)

    def add(self, line: str) -> None:
        self._lines.append(f"{self._timer.now():10.3f} {' '.join(line.split())[:LINE_LIMIT]}")

    def taken(self) -> str:
        """All the lines, which are forgotten then."""
        text = "".join(f"{line}\n" for line in self._lines)
        self._lines.clear()
        return text
