"""The tests, their versions, and their attachments to apps."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from services.catalog.model.attachments import Attachment
from services.catalog.model.pages import Page
from services.catalog.model.platforms import Platform
from services.catalog.model.quarantine import Quarantine
from services.catalog.model.tests import Test, TestVersion


@dataclass(frozen=True, slots=True)
class TestFilter:
    """Which tests: that run on a platform (of it, or of none), carry a tag, are among `ids`, fit a name pattern."""

    __test__ = False

    platform: Platform | None = None
    tag: str | None = None
    ids: tuple[str, ...] | None = None
    pattern: str | None = None


class Tests(Protocol):
    """The live tests."""

    async def get(self, test_id: str) -> Test | None:
        """The test; None when it is unknown or deleted."""

    async def many(self, test_ids: Collection[str], *, deleted: bool = False) -> Sequence[Test]:
        """Those of the tests that exist, or (`deleted`) once existed, in any order."""

    async def quarantines(self, test_ids: Collection[str]) -> Mapping[str, Quarantine]:
        """The quarantines of those of the tests that have one, by the test's id; some may be over."""

    async def tagged(self, tags: Collection[str]) -> Sequence[Test]:
        """The tests that carry any of the tags, by name, ids breaking ties."""

    async def page(self, filter: TestFilter, page: Page) -> Sequence[Test]:
        """One page of the tests that fit, newest first, ids breaking ties."""

    async def count(self, filter: TestFilter) -> int:
        """How many tests fit."""

    async def add(self, test: Test) -> None:
        """Keep a new test. Taken: its id is in use."""

    async def replace(self, test: Test) -> None:
        """Keep a changed, perhaps deleted, test."""

    async def add_version(self, version: TestVersion) -> None:
        """Keep a version of a test's steps."""

    async def versions(self, test_id: str, page: Page) -> Sequence[TestVersion]:
        """One page of the test's versions, newest first."""


class Attachments(Protocol):
    """Which tests are attached to which apps."""

    async def get(self, app_id: str, test_id: str) -> Attachment | None:
        """The attachment, be it in force or ended; None when there never was one."""

    async def of_app(self, app_id: str) -> Sequence[Attachment]:
        """The attachments in force of an app, by name, test ids breaking ties."""

    async def page(self, app_id: str, page: Page) -> Sequence[Attachment]:
        """One page of these."""

    async def of_tests(self, test_ids: Collection[str]) -> Sequence[Attachment]:
        """The attachments in force of any of the tests, oldest first."""

    async def put(self, attachments: Sequence[Attachment]) -> None:
        """Keep new or changed attachments."""

    async def detach_all(self, app_id: str) -> None:
        """Keep all attachments of the app as ended (see `detached`), however many there are."""

    async def rename_test(self, test_id: str, name: str) -> None:
        """Note the new name of a test in its attachments."""
