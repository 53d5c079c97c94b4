"""The API keys and the organisations that they belong to."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from services.catalog.model.keys import ApiKey
from services.catalog.model.organisations import Organisation
from services.catalog.model.pages import Page


class Keys(Protocol):
    """The API keys that are not deleted."""

    async def get(self, key_id: str) -> ApiKey | None:
        """The key; None when it is unknown or deleted."""

    async def page(self, page: Page) -> Sequence[ApiKey]:
        """One page of the keys, newest first, ids breaking ties."""

    async def count(self) -> int:
        """How many keys there are."""

    async def add(self, key: ApiKey) -> None:
        """Keep a new key. Taken: its id or lookup id is in use."""

    async def replace(self, key: ApiKey) -> None:
        """Keep a changed, perhaps deleted, key."""


class KeyRing(Protocol):
    """The keys of all organisations: for the one question that comes before there is a caller."""

    async def find(self, lookup: str) -> ApiKey | None:
        """The key with this lookup id; None when it is unknown or deleted."""

    async def used(self, key: ApiKey, at: datetime) -> None:
        """Note that the key was used; not a change that raises its revision."""


class Organisations(Protocol):
    """The tenants."""

    async def add(self, organisation: Organisation) -> None:
        """Keep a new organisation."""
