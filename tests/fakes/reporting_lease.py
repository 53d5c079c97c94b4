"""A lease that is acquired or not."""

from dataclasses import dataclass


@dataclass
class FakeLease:
    """Acquired as often as `times` says; None: always."""

    times: int | None = None
    asked: int = 0
    released: int = 0

    async def acquire(self) -> bool:
        self.asked += 1
        if self.times is None:
            return True
        self.times -= 1
        return self.times >= 0

    async def release(self) -> None:
        self.released += 1
