"""Pages of lists."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Page:
    """Which page of a list: the number from 1, and how many items one has."""

    number: int
    size: int

    @property
    def offset(self) -> int:
        """How many items come before the page."""
        return (self.number - 1) * self.size


@dataclass(frozen=True, slots=True)
class Listed(Generic[T]):
    """The items of one page, and how many there are on all pages."""

    items: Sequence[T]
    total: int
