"""Keys: what is refused at sight, what is remembered, and for how long."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from services.chassis.errors import Unauthenticated, Unavailable
from services.gateway.auth.api_keys import KeyHolder, expired_api_key
from services.gateway.auth.authenticator import Authenticator
from services.gateway.auth.key_cache import KeyCache
from services.gateway.auth.key_format import checksum, is_well_formed
from tests.fakes.gateway import FakeApiKeys, FakeClock, new_key

NOW = datetime(2026, 1, 1, tzinfo=UTC)
HOLDER = KeyHolder("key-1", "org-1", frozenset({"read"}))


class World:
    """An authenticator with everything around it in memory."""

    def __init__(self, most: int = 100) -> None:
        self.clock = FakeClock(NOW)
        self.keys = FakeApiKeys()
        self.memory = KeyCache(most)
        self.authenticator = Authenticator(self.keys, self.memory, self.clock)

    def holding(self, holder: KeyHolder = HOLDER) -> str:
        key = new_key()
        self.keys.holders[key] = holder
        return key

    async def ask(self, key: str) -> KeyHolder:
        return await self.authenticator.holder([f"Bearer {key}"])


async def test_no_header() -> None:
    with pytest.raises(Unauthenticated, match="Authorization header missing"):
        await World().authenticator.holder([])


@pytest.mark.parametrize("scheme", ["Basic {}", "{}", "Bearer{}", "Bearer x {}", "Bearer {}x", "", "Bearer"])
async def test_any_other_form_is_invalid_and_asks_nobody(scheme: str) -> None:
    world = World()
    with pytest.raises(Unauthenticated, match="Invalid API key"):
        await world.authenticator.holder([scheme.format(world.holding())])
    assert world.keys.asked == []


async def test_two_headers_are_invalid() -> None:
    world = World()
    header = f"Bearer {world.holding()}"
    with pytest.raises(Unauthenticated, match="Invalid API key"):
        await world.authenticator.holder([header, header])


def test_the_checksum_is_crc32_in_base62_with_leading_zeros() -> None:
    assert checksum("") == "000000"
    assert len(checksum("x" * 100)) == 6
    assert checksum("123456789") == "3jZRME"


def test_a_typo_anywhere_is_noticed() -> None:
    key = new_key()
    assert is_well_formed(key)
    for place in range(3, len(key)):
        if key[place] != "_":
            typo = key[:place] + ("A" if key[place] != "A" else "B") + key[place + 1 :]
            assert not is_well_formed(typo)
    assert not is_well_formed(key.upper())
    assert not is_well_formed(key + "\n")


async def test_a_valid_key_is_believed_for_30_seconds() -> None:
    world = World()
    key = world.holding()
    for seconds in (0.0, 29.9):
        world.clock.seconds = seconds
        assert await world.ask(key) == HOLDER
    assert len(world.keys.asked) == 1
    world.clock.seconds = 30.0
    await world.ask(key)
    assert len(world.keys.asked) == 2


async def test_a_refusal_is_believed_for_5_seconds() -> None:
    world = World()
    key = new_key()
    for seconds in (0.0, 4.9, 5.0):
        world.clock.seconds = seconds
        with pytest.raises(Unauthenticated, match="Invalid API key"):
            await world.ask(key)
    assert len(world.keys.asked) == 2


async def test_an_expired_key_keeps_saying_so_while_it_is_remembered() -> None:
    world = World()
    key = new_key()
    world.keys.holders[key] = expired_api_key()
    for _ in range(2):
        with pytest.raises(Unauthenticated, match="API key expired"):
            await world.ask(key)
    assert len(world.keys.asked) == 1


async def test_a_remembered_key_still_expires_on_time() -> None:
    world = World()
    key = world.holding(KeyHolder("k", "o", frozenset(), NOW + timedelta(seconds=10)))
    await world.ask(key)
    world.clock.moment = NOW + timedelta(seconds=10)
    with pytest.raises(Unauthenticated, match="API key expired"):
        await world.ask(key)


async def test_a_forgotten_key_is_asked_about_again() -> None:
    world = World()
    key = world.holding()
    await world.ask(key)
    world.memory.revoke(HOLDER.key_id)
    world.keys.holders.pop(key)
    with pytest.raises(Unauthenticated, match="Invalid API key"):
        await world.ask(key)


async def test_a_key_that_is_deleted_while_it_is_asked_about_is_refused() -> None:
    world = World()
    key = world.holding()
    world.keys.hold = asyncio.Event()
    asking = asyncio.create_task(world.ask(key))
    await world.keys.reached.wait()
    world.memory.revoke(HOLDER.key_id)
    world.keys.hold.set()
    with pytest.raises(Unauthenticated, match="Invalid API key"):
        await asking


async def test_many_requests_with_one_key_ask_once_and_one_that_goes_leaves_the_others_alone() -> None:
    world = World()
    key = world.holding()
    world.keys.hold = asyncio.Event()
    asking = [asyncio.create_task(world.ask(key)) for _ in range(10)]
    await world.keys.reached.wait()
    asking[0].cancel()
    world.keys.hold.set()
    assert await asyncio.gather(*asking[1:]) == [HOLDER] * 9
    assert len(world.keys.asked) == 1


async def test_a_catalog_that_is_down_is_not_remembered() -> None:
    world = World()

    class Down:
        async def verify(self, key: str) -> KeyHolder:
            raise Unavailable("down")

    authenticator = Authenticator(Down(), world.memory, world.clock)
    key = world.holding()
    with pytest.raises(Unavailable):
        await authenticator.holder([f"Bearer {key}"])
    assert await world.ask(key) == HOLDER


async def test_memory_is_bounded() -> None:
    world = World(most=3)
    keys = [world.holding(KeyHolder(f"k{number}", "o", frozenset())) for number in range(5)]
    for key in keys:
        await world.ask(key)
    await world.ask(keys[4])
    assert len(world.keys.asked) == 5
    await world.ask(keys[0])
    assert len(world.keys.asked) == 6


async def test_nothing_that_is_kept_shows_the_key() -> None:
    world = World()
    key = world.holding()
    await world.ask(key)
    assert key not in repr(vars(world.memory)) + repr(vars(world.memory._valid))
