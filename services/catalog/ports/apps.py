"""The apps, and the counters that lists take their totals from."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from services.catalog.model.apps import App
from services.catalog.model.counts import Counts
from services.catalog.model.pages import Page
from services.catalog.model.platforms import Platform


@dataclass(frozen=True, slots=True)
class AppFilter:
    """Which apps: of a platform, and with a folded name that the pattern (see `text.search_pattern`) finds."""

    platform: Platform | None = None
    pattern: str | None = None


class Apps(Protocol):
    """The live apps."""

    async def get(self, app_id: str) -> App | None:
        """The app; None when it is unknown or deleted."""

    async def many(self, app_ids: Collection[str]) -> Sequence[App]:
        """Those of the apps that exist, in any order."""

    async def page(self, filter: AppFilter, page: Page) -> Sequence[App]:
        """One page of the apps that fit, newest first, ids breaking ties."""

    async def count(self, filter: AppFilter) -> int:
        """How many apps fit."""

    async def add(self, app: App) -> None:
        """Keep a new app. Taken: its id is in use."""

    async def replace(self, app: App) -> None:
        """Keep a changed, perhaps deleted, app."""


class Counters(Protocol):
    """How many of what the organisation has."""

    async def get(self) -> Counts:
        """The counts, as they were at most a second ago; zeros for a new organisation."""

    async def add(self, change: Counts) -> None:
        """Change the counts by these numbers."""
