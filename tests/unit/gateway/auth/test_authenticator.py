"""Authentication: keys that are rejected at once, answers that are cached, and for how long."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from services.chassis.errors import DeadlineExceeded, Unauthenticated, Unavailable
from services.gateway.auth.api_keys import KeyHolder, checksum, expired_api_key, is_well_formed
from services.gateway.auth.authenticator import Authenticator
from services.gateway.auth.key_cache import KeyCache
from tests.fakes.chassis import FakeClock
from tests.fakes.gateway import FakeApiKeys, new_key

NOW = datetime(2026, 1, 1, tzinfo=UTC)
HOLDER = KeyHolder("key-1", "org-1", frozenset({"read"}))


class World:
    """An authenticator with fake keys and a fake clock."""

    def __init__(self, max_keys: int = 100) -> None:
        self.clock = FakeClock(NOW)
        self.keys = FakeApiKeys()
        self.cache = KeyCache(max_keys)
        self.revocations_arrive = True
        self.authenticator = Authenticator(
            self.keys, self.cache, self.clock, revocations_arrive=lambda: self.revocations_arrive
        )

    def add_key(self, holder: KeyHolder = HOLDER) -> str:
        key = new_key()
        self.keys.holders[key] = holder
        return key

    async def authenticate(self, key: str) -> KeyHolder:
        return await self.authenticator.holder([f"Bearer {key}"])


@pytest.mark.parametrize(
    "headers",
    [
        [],
        ["Basic {}"],
        ["{}"],
        ["Bearer{}"],
        ["Bearer {}x"],
        [""],
        ["Bearer"],
        ["Bearer {}", "Bearer {}"],
    ],
)
async def test_malformed_headers_are_invalid_without_a_verification(headers: list[str]) -> None:
    world = World()
    key = world.add_key()
    with pytest.raises(Unauthenticated, match="Invalid API key" if headers else "Authorization header missing"):
        await world.authenticator.holder([header.format(key) for header in headers])
    assert world.keys.verified == []


def test_the_checksum_is_crc32_in_base62_with_leading_zeros() -> None:
    assert checksum("") == "000000"
    assert len(checksum("x" * 100)) == 6
    assert checksum("123456789") == "3jZRME"


def test_a_typo_breaks_the_checksum() -> None:
    key = new_key()
    assert is_well_formed(key)
    for position in range(3, len(key)):
        if key[position] != "_":
            typo = key[:position] + ("A" if key[position] != "A" else "B") + key[position + 1 :]
            assert not is_well_formed(typo)
    assert not is_well_formed(key.upper())
    assert not is_well_formed(key + "\n")


async def test_a_valid_key_is_cached_for_30_seconds() -> None:
    world = World()
    key = world.add_key()
    for seconds in (0.0, 29.9):
        world.clock.seconds = seconds
        assert await world.authenticate(key) == HOLDER
    assert len(world.keys.verified) == 1
    world.clock.seconds = 30.0
    await world.authenticate(key)
    assert len(world.keys.verified) == 2


async def test_an_invalid_key_is_cached_for_5_seconds() -> None:
    world = World()
    key = new_key()
    for seconds in (0.0, 4.9, 5.0):
        world.clock.seconds = seconds
        with pytest.raises(Unauthenticated, match="Invalid API key"):
            await world.authenticate(key)
    assert len(world.keys.verified) == 2


async def test_a_cached_rejection_keeps_its_reason() -> None:
    world = World()
    key = new_key()
    world.keys.holders[key] = expired_api_key()
    for _ in range(2):
        with pytest.raises(Unauthenticated, match="API key expired"):
            await world.authenticate(key)
    assert len(world.keys.verified) == 1


async def test_a_cached_key_expires_on_time() -> None:
    world = World()
    key = world.add_key(KeyHolder("k", "o", frozenset(), NOW + timedelta(seconds=10)))
    await world.authenticate(key)
    world.clock.moment = NOW + timedelta(seconds=10)
    with pytest.raises(Unauthenticated, match="API key expired"):
        await world.authenticate(key)


OUTAGES = [Unavailable("the catalog is down"), DeadlineExceeded("the catalog hangs"), TimeoutError()]


@pytest.mark.parametrize("outage", OUTAGES, ids=repr)
async def test_a_known_key_outlives_an_outage_of_the_catalog_while_revocations_arrive(outage: Exception) -> None:
    world = World()
    key = world.add_key()
    await world.authenticate(key)
    world.keys.failure = outage
    for seconds in (30.0, 34.9, 3600.0):
        world.clock.seconds = seconds
        assert await world.authenticate(key) == HOLDER
    assert len(world.keys.verified) == 3  # not for every request


async def test_no_key_outlives_an_outage_without_revocations() -> None:
    world = World()
    key = world.add_key()
    await world.authenticate(key)
    world.keys.failure, world.revocations_arrive = Unavailable("the catalog is down"), False
    world.clock.seconds = 30.0
    with pytest.raises(Unavailable):
        await world.authenticate(key)


async def test_a_key_revoked_during_an_outage_is_not_held() -> None:
    world = World()
    key = world.add_key()
    await world.authenticate(key)
    world.keys.failure = Unavailable("the catalog is down")
    world.cache.revoke(HOLDER.key_id)
    with pytest.raises(Unavailable):
        await world.authenticate(key)


async def test_a_held_key_expires_on_time() -> None:
    world = World()
    key = world.add_key(KeyHolder("k", "o", frozenset(), NOW + timedelta(seconds=40)))
    await world.authenticate(key)
    world.keys.failure = Unavailable("the catalog is down")
    world.clock.seconds, world.clock.moment = 40.0, NOW + timedelta(seconds=40)
    with pytest.raises(Unauthenticated, match="API key expired"):
        await world.authenticate(key)


async def test_a_key_revoked_during_its_verification_is_rejected() -> None:
    world = World()
    key = world.add_key()
    world.keys.hold = asyncio.Event()
    requests = asyncio.create_task(world.authenticate(key))
    await world.keys.reached.wait()
    world.cache.revoke(HOLDER.key_id)
    world.keys.hold.set()
    with pytest.raises(Unauthenticated, match="Invalid API key"):
        await requests


async def test_concurrent_requests_share_a_verification_that_outlives_a_cancelled_one() -> None:
    world = World()
    key = world.add_key()
    world.keys.hold = asyncio.Event()
    requests = [asyncio.create_task(world.authenticate(key)) for _ in range(10)]
    await world.keys.reached.wait()
    requests[0].cancel()
    world.keys.hold.set()
    assert await asyncio.gather(*requests[1:]) == [HOLDER] * 9
    assert len(world.keys.verified) == 1


async def test_errors_of_the_catalog_are_not_cached() -> None:
    world = World()

    class Down:
        async def verify(self, key: str) -> KeyHolder:
            raise Unavailable("down")

    authenticator = Authenticator(Down(), world.cache, world.clock)
    key = world.add_key()
    with pytest.raises(Unavailable):
        await authenticator.holder([f"Bearer {key}"])
    assert await world.authenticate(key) == HOLDER


async def test_the_cache_is_bounded() -> None:
    world = World(max_keys=3)
    keys = [world.add_key(KeyHolder(f"k{number}", "o", frozenset())) for number in range(5)]
    for key in keys:
        await world.authenticate(key)
    await world.authenticate(keys[4])
    assert len(world.keys.verified) == 5
    await world.authenticate(keys[0])
    assert len(world.keys.verified) == 6


async def test_the_cache_does_not_contain_the_key() -> None:
    world = World()
    key = world.add_key()
    await world.authenticate(key)
    assert key not in repr(vars(world.cache)) + repr(vars(world.cache._valid))


SESSION = KeyHolder("key-1", "org-1", frozenset({"read"}), NOW + timedelta(hours=12), session_id="session-1")


async def test_a_session_is_verified_like_a_key() -> None:
    world = World()
    token = new_key("ms_")
    world.keys.holders[token] = SESSION
    for _ in range(2):
        assert await world.authenticator.session_holder(token) == SESSION
    assert world.keys.verified == [token]
    world.cache.revoke("session-1")
    with pytest.raises(Unauthenticated, match="The session has ended; sign in again"):
        await world.authenticator.session_holder(token)


async def test_a_session_ends_on_time() -> None:
    world = World()
    token = new_key("ms_")
    world.keys.holders[token] = SESSION
    await world.authenticator.session_holder(token)
    world.clock.moment = NOW + timedelta(hours=12)
    with pytest.raises(Unauthenticated, match="The session has ended"):
        await world.authenticator.session_holder(token)


async def test_session_tokens_and_keys_are_not_interchangeable() -> None:
    world = World()
    world.keys.holders[token := new_key("ms_")] = SESSION
    with pytest.raises(Unauthenticated, match="Invalid API key"):
        await world.authenticate(token)
    for text in (world.add_key(), "ms_nonsense", ""):
        with pytest.raises(Unauthenticated, match="The session has ended"):
            await world.authenticator.session_holder(text)
    assert world.keys.verified == []
