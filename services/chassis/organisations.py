"""Refuses calls for organisations that do not exist."""

from collections.abc import Awaitable, Callable

from services.chassis.context import Caller

MAX_KNOWN = 10_000


class KnownOrganisations:
    """Remembers which organisations exist: none is ever deleted."""

    def __init__(self, find: Callable[[], Awaitable[object]]) -> None:
        """`find()` looks for the organisation of the current caller.

        Raises:
            NotFound: by `find`, if it does not exist.
        """
        self._find = find
        self._known: set[str] = set()

    async def check(self, caller: Caller) -> None:
        """Check that the organisation exists. Calls of the gateway pass: it has verified a key, which has one.

        Raises:
            NotFound: it does not exist.
        """
        if caller.via_gateway or not caller.org_id or caller.org_id in self._known:
            return
        await self._find()
        if len(self._known) >= MAX_KNOWN:
            self._known.clear()
        self._known.add(caller.org_id)
