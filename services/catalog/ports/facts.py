"""The port to everything that the catalog has told, and would tell now."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from services.catalog.model.facts import Fact


@dataclass(frozen=True, slots=True)
class FactsPage:
    """Some facts, each with the token that leads behind it; an empty `token` says that there are no more after them.

    `total` is how many there are, about.
    """

    facts: Sequence[tuple[str, Fact]]
    token: str
    total: int


class Facts(Protocol):
    """Apps, builds, tests and attachments of all organisations, deleted and detached ones too."""

    async def page(self, token: str, limit: int) -> FactsPage:
        """At most `limit` facts behind the token; all of one kind, perhaps none. Whatever was told before is in them.

        InvalidArgument: no page has given this token.
        """
