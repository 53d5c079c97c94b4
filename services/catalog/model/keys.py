"""API keys and session tokens: their format, generation and verification; and the organisations that own keys.

A key is `mt_<12 id>_<32 secret><6 checksum>`, all base62; a session token has `ms_` and the same parts. The checksum is
the CRC32 of everything before it, so that a typo is refused without a look at the database and a secret scanner can be
exact (the format of GitHub's tokens). Only the SHA-256 of the secret is kept: a random secret of 190 bits cannot be
guessed, so a slow hash would buy nothing.
"""

import hashlib
import hmac
import re
import secrets
import string
import zlib
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

ALPHABET = string.digits + string.ascii_uppercase + string.ascii_lowercase
ID_LENGTH = 12
SECRET_LENGTH = 32
CHECKSUM_LENGTH = 6
USE_RESOLUTION = timedelta(minutes=1)
KEY_PREFIX, SESSION_PREFIX = "mt_", "ms_"
_FORMAT = re.compile(r"(m[ts]_)([0-9A-Za-z]{12})_([0-9A-Za-z]{32})([0-9A-Za-z]{6})", re.ASCII)


class Scope(StrEnum):
    """What a key may do."""

    READ = "read"
    WRITE = "write"
    EXECUTE = "execute"
    ADMIN = "admin"


ALL_SCOPES = tuple(Scope)


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A stored key: never its secret, only the secret's SHA-256 (hexadecimal)."""

    id: str
    org_id: str
    lookup: str
    secret_sha256: str = field(repr=False)
    name: str
    scopes: tuple[Scope, ...]
    created_at: datetime
    expires_at: datetime | None = None
    last_used_at: datetime | None = None
    revision: int = 1
    deleted_at: datetime | None = None

    @property
    def prefix(self) -> str:
        """The part of the key that may be shown."""
        return f"{KEY_PREFIX}{self.lookup}"


@dataclass(frozen=True, slots=True)
class KeySession:
    """Somebody who has signed in with a key; its end is not postponed by use."""

    id: str
    org_id: str
    api_key_id: str
    lookup: str
    secret_sha256: str = field(repr=False)
    created_at: datetime
    expires_at: datetime
    revision: int = 1
    deleted_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class PresentedKey:
    """The parts of a well-formed key: the id to look it up by, and its secret."""

    lookup: str
    secret: str = field(repr=False)


def new_secret() -> PresentedKey:
    """A fresh lookup id and secret from the system's randomness."""
    return PresentedKey(lookup=_random(ID_LENGTH), secret=_random(SECRET_LENGTH))


def format_key(offered: PresentedKey, prefix: str = KEY_PREFIX) -> str:
    """The full text of a key or token, which is shown only once, when it is created."""
    body = f"{prefix}{offered.lookup}_{offered.secret}"
    return body + _checksum(body)


def parse_key(key: str, prefix: str = KEY_PREFIX) -> PresentedKey | None:
    """The parts of a well-formed key or token whose checksum fits; None for anything else."""
    match = _FORMAT.fullmatch(key)
    if match is None or match[1] != prefix:
        return None
    if not hmac.compare_digest(_checksum(key[:-CHECKSUM_LENGTH]), match[4]):
        return None
    return PresentedKey(lookup=match[2], secret=match[3])


def secret_digest(secret: str) -> str:
    """The SHA-256 of a secret, hexadecimal."""
    return hashlib.sha256(secret.encode()).hexdigest()


def has_secret(stored: ApiKey | KeySession, offered: PresentedKey) -> bool:
    """Whether the presented secret is that of the stored key or session."""
    return hmac.compare_digest(secret_digest(offered.secret), stored.secret_sha256)


def is_use_due(key: ApiKey, now: datetime) -> bool:
    """Whether `last_used_at` is a minute old, so that a use is worth a write."""
    return key.last_used_at is None or now - key.last_used_at >= USE_RESOLUTION


def _random(length: int) -> str:
    return "".join(secrets.choice(ALPHABET) for _ in range(length))


def _checksum(body: str) -> str:
    number = zlib.crc32(body.encode())
    digits = ""
    for _ in range(CHECKSUM_LENGTH):
        number, digit = divmod(number, len(ALPHABET))
        digits = ALPHABET[digit] + digits
    return digits


@dataclass(frozen=True, slots=True)
class Organisation:
    """A tenant, which only sees its own data."""

    id: str
    name: str
    created_at: datetime
