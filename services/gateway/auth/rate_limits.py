"""Token buckets: how many requests a key and an organisation may send to this process."""

from collections import OrderedDict
from dataclasses import dataclass, fields, replace
from math import ceil
from typing import TYPE_CHECKING

from mobiletest.types.v1 import limits_pb2
from multidict import istr

from services.chassis.clock import Clock
from services.chassis.limit_refusals import limit_reached

if TYPE_CHECKING:
    from services.gateway.auth.api_keys import KeyHolder

MAX_BUCKETS = 20_000
IDLE_SECONDS = 60.0
ADVICE = "send fewer, follow executions with ?wait or their events instead of polling, or ask the operator for more"
_LIMIT, _REMAINING, _RESET = istr("RateLimit-Limit"), istr("RateLimit-Remaining"), istr("RateLimit-Reset")


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """The limits that the gateway enforces; the protos describe each."""

    requests_per_second: int
    request_burst: int
    key_requests_per_second: int
    key_request_burst: int
    uploads: int
    streams: int

    def with_overrides(self, message: limits_pb2.OrganisationLimits) -> "RequestLimits":
        """The limits with those that an operator has set; a rate without a burst gets twice itself."""
        given = {field.name: getattr(message, field.name) for field in fields(self) if message.HasField(field.name)}
        for rate, burst in (("requests_per_second", "request_burst"), ("key_requests_per_second", "key_request_burst")):
            if rate in given:
                given.setdefault(burst, 2 * given[rate])
        return replace(self, **given) if given else self


UNLIMITED = RequestLimits(*(6 * [1_000_000_000]))


class _Bucket:
    """`tokens` are the requests that may come at once, as of `updated` (seconds of the monotonic clock)."""

    __slots__ = ("tokens", "updated")

    def __init__(self, tokens: float, updated: float) -> None:
        self.tokens = tokens
        self.updated = updated


class _Buckets:
    """The buckets of those who sent requests of late; a new one is full, so an idle one can be dropped."""

    def __init__(self, max_buckets: int) -> None:
        self._max_buckets = max_buckets
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def __len__(self) -> int:
        return len(self._buckets)

    def refill(self, owner: str, rate: int, burst: int, now: float) -> _Bucket:
        """The owner's bucket, with what has been added since its last request."""
        bucket = self._buckets.get(owner)
        if bucket is None:
            bucket = self._buckets[owner] = _Bucket(burst, now)
            self._drop_idle(now)
            return bucket
        self._buckets.move_to_end(owner)
        tokens = bucket.tokens + (now - bucket.updated) * rate
        bucket.tokens = tokens if tokens < burst else burst
        bucket.updated = now
        return bucket

    def _drop_idle(self, now: float) -> None:
        """Drop up to two, from the one that has been idle for longest; beyond the maximum one that is not idle."""
        for _ in range(2):
            owner, oldest = next(iter(self._buckets.items()))
            if now - oldest.updated < IDLE_SECONDS and len(self._buckets) <= self._max_buckets:
                return
            del self._buckets[owner]


class RateLimiter:
    """Limits the requests of each key and of each organisation; only holders of valid keys have buckets."""

    def __init__(self, clock: Clock, *, max_buckets: int = MAX_BUCKETS) -> None:
        self._clock = clock
        self._keys = _Buckets(max_buckets)
        self._organisations = _Buckets(max_buckets)

    def take(self, holder: "KeyHolder", headers: dict[str, str]) -> None:
        """Count a request, and set its RateLimit headers, which are those of the bucket that is emptier.

        Raises:
            ResourceExhausted: one of the buckets is empty; nothing is counted then.
        """
        now, limits = self._clock.monotonic(), holder.limits
        rate, burst = limits.key_requests_per_second, limits.key_request_burst
        key = bucket = self._keys.refill(holder.key_id, rate, burst, now)
        shared = self._organisations.refill(holder.org_id, limits.requests_per_second, limits.request_burst, now)
        if shared.tokens < key.tokens:
            rate, burst, bucket = limits.requests_per_second, limits.request_burst, shared
        is_refused = bucket.tokens < 1
        if not is_refused:
            key.tokens -= 1
            shared.tokens -= 1
        headers[_LIMIT] = str(burst)
        headers[_REMAINING] = str(int(bucket.tokens))
        headers[_RESET] = str(ceil((burst - bucket.tokens) / rate))
        if is_refused:
            name = "requests_per_second" if bucket is shared else "key_requests_per_second"
            raise limit_reached(name, rate, ADVICE, retry_after=(1 - bucket.tokens) / rate)
