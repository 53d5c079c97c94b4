"""The store as a whole: what is kept, and changes of it that happen wholly or not at all."""

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

from services.catalog.model.facts import Fact
from services.catalog.ports.apps import Apps, Counters
from services.catalog.ports.builds import Artifacts, Builds
from services.catalog.ports.keys import Keys
from services.catalog.ports.tests import Attachments, Tests
from services.catalog.ports.workflows import Workflows

T = TypeVar("T")


class Taken(Exception):
    """A unique value is in use; `what` is "id" or "version"."""

    def __init__(self, what: str) -> None:
        super().__init__(f"the {what} is in use")
        self.what = what


class Records(Protocol):
    """All that is kept, to be read."""

    @property
    def apps(self) -> Apps: ...
    @property
    def counters(self) -> Counters: ...
    @property
    def builds(self) -> Builds: ...
    @property
    def artifacts(self) -> Artifacts: ...
    @property
    def tests(self) -> Tests: ...
    @property
    def attachments(self) -> Attachments: ...
    @property
    def workflows(self) -> Workflows: ...
    @property
    def keys(self) -> Keys: ...


class Change(Records, Protocol):
    """All that is kept, inside of one change: what is read is what will still be true when it is written."""

    def announce(self, *facts: Fact) -> None:
        """Publish these facts, in this order, once the change is done; not at all if it is not done."""


class Store(Records, Protocol):
    """All that is kept."""

    async def change(self, work: Callable[[Change], Awaitable[T]], *, of: str | None = None) -> T:
        """Do the work wholly or not at all. It may be run again, so it must have no effect outside of the change.

        Changes `of` the same thing (an app's id, say) are right in any case, but faster when they take turns.
        """
