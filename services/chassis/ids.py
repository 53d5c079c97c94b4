"""Ids: lower-case UUID strings, random, or derived from an idempotency key; and which ids of others are accepted."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from os import urandom
from uuid import UUID, uuid5

from services.chassis.errors import AlreadyExists

ID_RULE = "1 to 100 letters (a-z, A-Z), digits, - and _"
_ID = re.compile(r"[0-9A-Za-z_-]{1,100}")
_NAMESPACE = UUID("6f1b1f0e-5b0f-4d3e-9d1c-6d1f2a7c9b10")
_RANDOM_BITS = 0xFFFFFFFF_FFFF_0FFF_3FFF_FFFFFFFFFFFF
_VERSION_4 = 0x00000000_0000_4000_8000_000000000000


def is_id(text: str) -> bool:
    """Whether the text can be an id (see ID_RULE): ids become parts of keys. The protos of events repeat this rule."""
    return _ID.fullmatch(text) is not None


class _IdSequence:
    """Derives the ids of one request: the n-th id is the same when the request is repeated."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._count = 0

    def next(self) -> str:
        self._count += 1
        return str(uuid5(_NAMESPACE, f"{self._text}\n{self._count}"))


_seed: ContextVar[_IdSequence | None] = ContextVar("seed", default=None)


def new_id() -> str:
    """A new id. With an idempotency key, the n-th id of a request is the same when the request is repeated: so call
    this outside of code that may run again, such as the work of a transaction, and for the entity itself first.
    """
    seed = _seed.get()
    return random_id() if seed is None else seed.next()


def random_id() -> str:
    """A random UUID (version 4); `str(uuid4())` takes four times as long."""
    digits = f"{int.from_bytes(urandom(16), 'big') & _RANDOM_BITS | _VERSION_4:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def idempotency_key_reused() -> AlreadyExists:
    """The error for another request with the key of an earlier one."""
    return AlreadyExists("This Idempotency-Key was used for a different request", reason="IDEMPOTENCY_KEY_REUSED")


@contextmanager
def derive_ids(org_id: str, method: str, key: str) -> Iterator[None]:
    """Inside the block `new_id` derives its ids (uuid5) from organisation, method and idempotency key."""
    token = _seed.set(_IdSequence(f"{org_id}\n{method}\n{key}"))
    try:
        yield
    finally:
        _seed.reset(token)
