"""Token buckets by an injected clock: per key and per organisation, in bounded memory."""

from dataclasses import replace

import pytest
from mobiletest.types.v1 import limits_pb2

from services.chassis.errors import ResourceExhausted
from services.gateway.auth.api_keys import KeyHolder
from services.gateway.auth.rate_limits import IDLE_SECONDS, RateLimiter, RequestLimits
from tests.fakes.chassis import FakeClock

LIMITS = RequestLimits(
    requests_per_second=10,
    request_burst=6,
    key_requests_per_second=2,
    key_request_burst=4,
    uploads=1,
    streams=1,
)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def limiter(clock: FakeClock) -> RateLimiter:
    return RateLimiter(clock)


def holder(key: str = "key", org: str = "org", limits: RequestLimits = LIMITS) -> KeyHolder:
    return KeyHolder(key, org, frozenset({"read"}), limits=limits)


def take(limiter: RateLimiter, who: KeyHolder) -> dict[str, str]:
    """The headers of the response to one more request."""
    headers: dict[str, str] = {}
    limiter.take(who, headers)
    return headers


def admitted(limiter: RateLimiter, who: KeyHolder, tries: int = 50) -> int:
    """How many requests are admitted at once."""
    for number in range(tries):
        try:
            take(limiter, who)
        except ResourceExhausted:
            return number
    return tries


def test_a_key_may_send_its_burst_and_then_its_rate(limiter: RateLimiter, clock: FakeClock) -> None:
    assert admitted(limiter, holder()) == 4
    clock.advance(0.4)
    assert admitted(limiter, holder()) == 0
    clock.advance(0.1)
    assert admitted(limiter, holder()) == 1
    clock.advance(3600)
    assert admitted(limiter, holder()) == 4


def test_the_keys_of_an_organisation_share_its_bucket(limiter: RateLimiter) -> None:
    assert [admitted(limiter, holder(key)) for key in ("a", "b", "c")] == [4, 2, 0]
    assert admitted(limiter, holder("d", org="another")) == 4


def test_a_refused_request_takes_nothing(limiter: RateLimiter, clock: FakeClock) -> None:
    """Who is refused and goes on is served as soon as anyone who waited."""
    admitted(limiter, holder())
    for _ in range(100):
        assert admitted(limiter, holder(), tries=1) == 0
    clock.advance(0.5)
    assert admitted(limiter, holder()) == 1


def test_a_refusal_names_the_limit_and_when_to_come_again(limiter: RateLimiter, clock: FakeClock) -> None:
    admitted(limiter, holder())
    clock.advance(0.1)
    headers: dict[str, str] = {}
    with pytest.raises(ResourceExhausted, match=r"key_requests_per_second \(2\)") as refusal:
        limiter.take(holder(), headers)
    assert refusal.value.retry_after == pytest.approx(0.4)
    assert refusal.value.metadata == {"limit": "key_requests_per_second", "value": "2"}
    assert headers == {"RateLimit-Limit": "4", "RateLimit-Remaining": "0", "RateLimit-Reset": "2"}
    admitted(limiter, holder("b"))
    with pytest.raises(ResourceExhausted, match=r"limit requests_per_second \(10\)"):
        take(limiter, holder("c"))


def test_headers_are_those_of_the_emptier_bucket(limiter: RateLimiter) -> None:
    first = take(limiter, holder())
    assert first == {"RateLimit-Limit": "4", "RateLimit-Remaining": "3", "RateLimit-Reset": "1"}
    for key in ("b", "c", "d"):
        take(limiter, holder(key))
    other = take(limiter, holder("e"))
    assert other == {"RateLimit-Limit": "6", "RateLimit-Remaining": "1", "RateLimit-Reset": "1"}


def test_new_limits_hold_at_once(limiter: RateLimiter, clock: FakeClock) -> None:
    assert admitted(limiter, holder()) == 4
    clock.advance(10)
    smaller = replace(LIMITS, key_request_burst=1)
    assert admitted(limiter, holder(limits=smaller)) == 1


def test_idle_buckets_are_dropped(clock: FakeClock) -> None:
    limiter = RateLimiter(clock, max_buckets=1000)
    for number in range(500):
        take(limiter, holder(f"key {number}", f"org {number}"))
    clock.advance(IDLE_SECONDS)
    for number in range(250):
        take(limiter, holder(f"new key {number}", f"new org {number}"))
    assert (len(limiter._keys), len(limiter._organisations)) == (250, 250)


def test_there_are_never_more_buckets_than_allowed(clock: FakeClock) -> None:
    limiter = RateLimiter(clock, max_buckets=100)
    for number in range(1000):
        take(limiter, holder(f"key {number}", f"org {number}"))
    assert (len(limiter._keys), len(limiter._organisations)) == (100, 100)


class TestOverrides:
    def test_without_any_the_defaults_hold(self) -> None:
        assert LIMITS.with_overrides(limits_pb2.OrganisationLimits(api_keys=3)) is LIMITS

    def test_what_is_set_replaces_the_default(self) -> None:
        overrides = limits_pb2.OrganisationLimits(uploads=0, key_requests_per_second=7, key_request_burst=8)
        assert LIMITS.with_overrides(overrides) == replace(
            LIMITS, uploads=0, key_requests_per_second=7, key_request_burst=8
        )

    def test_a_rate_without_a_burst_gets_twice_itself(self) -> None:
        overrides = limits_pb2.OrganisationLimits(requests_per_second=3)
        assert LIMITS.with_overrides(overrides) == replace(LIMITS, requests_per_second=3, request_burst=6)
