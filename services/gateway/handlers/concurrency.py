"""How many requests of a kind, such as uploads, an organisation and all together may have under way in this process."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from services.chassis.errors import Unavailable
from services.chassis.limit_refusals import limit_reached, refusals
from services.gateway.http.request_context import RequestContext

RETRY_SECONDS = 5.0


class ConcurrencyLimit:
    """Counts by organisation; one that has none under way is not remembered."""

    def __init__(self, name: str, *, of_all: int | None = None) -> None:
        """`name` is that of the limit in RequestLimits; `of_all` organisations together so many may be under way."""
        self.name = name
        self._of_all = of_all
        self._under_way: Counter[str] = Counter()

    def used(self, org_id: str) -> int:
        """How many the organisation has under way."""
        return self._under_way[org_id]

    @contextmanager
    def enter(self, context: RequestContext) -> Iterator[None]:
        """Inside the block one more is under way.

        Raises:
            ResourceExhausted: there are as many as allowed.
            Unavailable: those of all organisations are as many as allowed.
        """
        org_id, limit = context.caller.org_id, int(getattr(context.limits, self.name))
        if self._under_way[org_id] >= limit:
            raise limit_reached(self.name, limit, "wait until one of them has ended", retry_after=RETRY_SECONDS)
        if self._of_all is not None and self._under_way.total() >= self._of_all:
            refusals.labels(self.name).inc()
            message = f"This server has {self._of_all} {self.name} under way, as many as it can: try again"
            raise Unavailable(message, reason=f"TOO_MANY_{self.name.upper()}", retry_after=RETRY_SECONDS)
        self._under_way[org_id] += 1
        try:
            yield
        finally:
            self._under_way[org_id] -= 1
            if not self._under_way[org_id]:
                del self._under_way[org_id]
