"""Tests and the versions of their steps."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from services.catalog.model.quarantine import Quarantine
from services.catalog.model.values import InvalidValue, Json, Platform

Step: TypeAlias = "str | Mapping[str, Json]"

TAG_LIMIT = 50
TAG_LENGTH = 100


@dataclass(frozen=True, slots=True)
class Test:
    """A test: steps in words or commands, for one platform or (None) for both.

    `version_number` rises by one with each edit of the steps, `revision` with every write. `quarantine` may be over.
    """

    __test__ = False  # not a pytest class

    id: str
    org_id: str
    name: str
    created_at: datetime
    updated_at: datetime
    description: str | None = None
    platform: Platform | None = None
    tags: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    timeout_seconds: int | None = None
    quarantine: Quarantine | None = None
    version_number: int = 1
    revision: int = 1
    deleted_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class TestVersion:
    """The steps of a test as they were from one edit to the next."""

    __test__ = False

    test_id: str
    org_id: str
    version_number: int
    steps: tuple[Step, ...]
    created_at: datetime


def validate_tags(tags: tuple[str, ...]) -> tuple[str, ...]:
    """The trimmed tags without repetitions, in the order given; InvalidValue when empty, too long or too many."""
    for position, tag in enumerate(tags):
        if not 1 <= len(tag.strip()) <= TAG_LENGTH or "\x00" in tag:
            raise InvalidValue(f"tags[{position}]", f"a tag must have 1 to {TAG_LENGTH} characters and no NUL")
    kept = tuple(dict.fromkeys(tag.strip() for tag in tags))
    if len(kept) > TAG_LIMIT:
        raise InvalidValue("tags", f"tags must have at most {TAG_LIMIT} entries", "too_long")
    return kept


def is_platform_compatible(test: Platform | None, app: Platform) -> bool:
    """Whether a test may be attached to an app: their platforms are the same, or the test is for both."""
    return test is None or test is app
