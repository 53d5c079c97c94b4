"""API keys: the format, what is refused without a database lookup, and when a use is written."""

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.catalog.model.keys import (
    ALL_SCOPES,
    ALPHABET,
    ApiKey,
    PresentedKey,
    format_key,
    has_secret,
    is_use_due,
    new_secret,
    parse_key,
    secret_digest,
)
from services.catalog.usecases.keys import KeyUseCases
from services.catalog.usecases.sessions import SessionUseCases
from services.chassis.errors import Unauthenticated
from tests.fakes.catalog_samples import ORG, at
from tests.fakes.chassis import FakeClock

OFFERED = PresentedKey("abcdefghijkl", "S" * 32)
KEY = ApiKey("id", ORG, OFFERED.lookup, secret_digest(OFFERED.secret), "ci", ALL_SCOPES, created_at=at(0))


def test_a_new_key_has_the_documented_format() -> None:
    """mt_<12 id>_<32 base62 secret><6 base62 CRC32>."""
    key = format_key(new_secret())
    assert re.fullmatch(r"mt_[0-9A-Za-z]{12}_[0-9A-Za-z]{38}", key)


def test_a_key_is_known_by_its_parts() -> None:
    first, second = new_secret(), new_secret()
    assert parse_key(format_key(first)) == first != second


def test_the_checksum_is_stable() -> None:
    """Keys in use stay valid from release to release."""
    assert format_key(OFFERED) == "mt_abcdefghijkl_SSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSS2iUgZr"


MALFORMED = [
    "",
    "mt_",
    "mt_abcdefghijkl_" + "S" * 38,
    format_key(OFFERED)[:-1],
    format_key(OFFERED) + "0",
    format_key(OFFERED) + "\n",
    " " + format_key(OFFERED),
    format_key(OFFERED).replace("mt_", "MT_"),
    format_key(OFFERED).replace("S", "\u017f", 1),
    "x" * 8192,
    "mt_abcdefghijkl_\x00" + "S" * 37,
]


@pytest.mark.parametrize("key", MALFORMED)
async def test_a_malformed_key_is_refused_without_a_query(key: str) -> None:
    assert parse_key(key) is None
    nothing: Any = None
    with pytest.raises(Unauthenticated, match=r"^Invalid API key$") as refusal:
        await KeyUseCases(nothing, nothing, nothing, FakeClock()).verify(key)
    assert refusal.value.reason == "INVALID_API_KEY"
    sessions = SessionUseCases(nothing, nothing, nothing, FakeClock())
    token = key.replace("mt_", "ms_")
    with pytest.raises(Unauthenticated, match=r"^The session has ended; sign in again$"):
        await sessions.verify(token)
    await sessions.end(token)


@given(st.integers(0, 53), st.sampled_from(ALPHABET))
def test_a_typo_is_refused(position: int, letter: str) -> None:
    key = format_key(OFFERED)
    typo = key[:position] + letter + key[position + 1 :]
    assert typo == key or parse_key(typo) is None


def test_a_key_has_one_secret() -> None:
    assert has_secret(KEY, OFFERED)
    assert not has_secret(KEY, replace(OFFERED, secret="T" * 32))


def test_a_use_is_written_once_a_minute() -> None:
    assert is_use_due(KEY, at(0))
    used = replace(KEY, last_used_at=at(1))
    assert not is_use_due(used, at(1))
    assert is_use_due(used, at(2))


def test_secrets_do_not_show() -> None:
    assert OFFERED.secret not in repr(OFFERED)
    assert KEY.secret_sha256 not in repr(KEY)
    assert KEY.prefix == "mt_abcdefghijkl"
