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
        """`name` is that of the limit in RequestLimits. Of all organisations together `of_all` may be under way, of one
        at most half of what the others leave, so that a few cannot take all for hours.
        """
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
            Unavailable: those of all organisations leave no place for one more.
        """
        org_id, limit = context.caller.org_id, int(getattr(context.limits, self.name))
        own = self._under_way[org_id]
        if own >= limit:
            raise limit_reached(self.name, limit, "wait until one of them has ended", retry_after=RETRY_SECONDS)
        if self._of_all is not None and 2 * own >= self._of_all - (self._under_way.total() - own):
            refusals.labels(self.name).inc()
            message = f"This server has as many {self.name} under way as it can: try again"
            raise Unavailable(message, reason=f"TOO_MANY_{self.name.upper()}", retry_after=RETRY_SECONDS)
        self._under_way[org_id] += 1
        try:
            yield
        finally:
            self._under_way[org_id] -= 1
            if not self._under_way[org_id]:
                del self._under_way[org_id]
