"""How many requests of a kind an organisation may have under way in this process: uploads, event streams."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from services.chassis.limit_refusals import limit_reached
from services.gateway.http.request_context import RequestContext

RETRY_SECONDS = 5.0


class ConcurrencyLimit:
    """Counts by organisation; one that has none under way is not remembered."""

    def __init__(self, name: str) -> None:
        """`name` is that of the limit in RequestLimits."""
        self.name = name
        self._under_way: Counter[str] = Counter()

    def used(self, org_id: str) -> int:
        """How many the organisation has under way."""
        return self._under_way[org_id]

    @contextmanager
    def enter(self, context: RequestContext) -> Iterator[None]:
        """Inside the block one more is under way.

        Raises:
            ResourceExhausted: there are as many as allowed.
        """
        org_id, limit = context.caller.org_id, int(getattr(context.limits, self.name))
        if self._under_way[org_id] >= limit:
            raise limit_reached(self.name, limit, "wait until one of them has ended", retry_after=RETRY_SECONDS)
        self._under_way[org_id] += 1
        try:
            yield
        finally:
            self._under_way[org_id] -= 1
            if not self._under_way[org_id]:
                del self._under_way[org_id]
