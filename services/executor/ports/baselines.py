"""Ports of accepted baselines: the pictures with which assertScreenshot compares the screen."""

from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from services.chassis.byte_ranges import FilePart
from services.executor.model.baselines import Baseline


@dataclass(frozen=True, slots=True, order=True)
class TestKey:
    """A test of an organisation."""

    __test__ = False

    org_id: str
    test_id: str


class Baselines(Protocol):
    """The baselines of all tests, by the keys of `baseline_key`.

    Raises:
        Unavailable: by every method, if the storage does not answer.
    """

    async def load(self, test: TestKey, key: str) -> bytes | None:
        """The picture.

        Raises:
            TimeoutError: the store does not answer in time.
        """

    async def save(self, test: TestKey, key: str, picture: bytes, most_bytes: int | None) -> Baseline:
        """Replaces an earlier one.

        Raises:
            ResourceExhausted: the test has too many.
            PermissionDenied: those of the organisation would have more than `most_bytes`.
        """

    async def of_test(self, test: TestKey) -> Sequence[Baseline]:
        """All of the test's, by key."""

    async def find(self, test: TestKey, key: str) -> Baseline | None:
        """The baseline without its picture."""

    def read(self, baseline: Baseline, part: FilePart) -> AsyncIterator[bytes]:
        """A part of the picture in chunks.

        Raises:
            NotFound: it was replaced or deleted.
        """

    async def delete(self, test: TestKey, key: str) -> bool:
        """Whether there was one."""

    async def used_bytes(self, org_id: str) -> int:
        """The bytes of the organisation's baselines."""


class BaselinesOfTests(Protocol):
    """Baselines of all organisations, for the sweep after deleted tests."""

    async def tests(self, after: TestKey | None, limit: int) -> Sequence[TestKey]:
        """At most `limit` tests that have baselines, in order, from the first one after `after`."""

    async def delete_of_test(self, test: TestKey) -> int:
        """Delete all of the test's; how many there were."""


class ExistingTests(Protocol):
    """What the catalog knows."""

    async def existing_tests(self, org_id: str, test_ids: Collection[str]) -> Collection[str]:
        """Those of at most 500 tests that are not deleted.

        Raises:
            Unavailable: the catalog does not answer.
        """
