"""SIGINT and SIGTERM as an exception: the first asks to stop, the second stops at once."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from mobiletest_cli.errors import CliError

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupted(CliError):
    """The process was asked to stop; the exit code is 128 and the number of the signal."""

    def __init__(self, number: int) -> None:
        super().__init__(f"stopped by {signal.Signals(number).name}", 128 + number)
        self.number = number


class Interruption:
    """What signals do while it is installed."""

    def __init__(self) -> None:
        self._deferred = False
        self._received: int | None = None

    def receive(self, number: int, _: FrameType | None) -> None:
        """Handle a signal; leave at the second.

        Raises:
            Interrupted: for the first signal, now or after what is deferred.
        """
        if self._received is not None:
            os._exit(128 + number)
        self._received = number
        if not self._deferred:
            raise Interrupted(number)
        os.write(2, b"Waiting for the answer of the server, to cancel what it starts; again to leave at once.\n")

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """A signal during the block raises Interrupted at its end: for a request whose answer must not be lost."""
        self._deferred = True
        try:
            yield
        finally:
            self._deferred = False
        if self._received is not None:
            raise Interrupted(self._received)


@contextmanager
def interruption() -> Iterator[Interruption]:
    """Raise Interrupted instead of KeyboardInterrupt, and for SIGTERM, during the block."""
    guard = Interruption()
    if threading.current_thread() is not threading.main_thread():
        yield guard
        return
    earlier = {number: signal.signal(number, guard.receive) for number in _SIGNALS}
    try:
        yield guard
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)
