"""Organisations: whose everything is."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Organisation:
    """A tenant; all that one sees is its own."""

    id: str
    name: str
    created_at: datetime
