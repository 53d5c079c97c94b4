"""Fakes of the executor's ports of baselines."""

from collections.abc import AsyncIterator, Collection, Sequence
from datetime import UTC, datetime
from hashlib import sha256

from services.chassis.byte_ranges import FilePart
from services.chassis.errors import PermissionDenied, ResourceExhausted
from services.executor.model.baselines import BASELINES_LIMIT, Baseline
from services.executor.model.limits import UNLIMITED, OrganisationLimits
from services.executor.ports.baselines import TestKey


class FakeBaselines:
    """Baselines in memory."""

    def __init__(self) -> None:
        self.kept: dict[tuple[TestKey, str], bytes] = {}

    async def load(self, test: TestKey, key: str) -> bytes | None:
        return self.kept.get((test, key))

    async def save(self, test: TestKey, key: str, picture: bytes, most_bytes: int | None) -> Baseline:
        others = {name: kept for name, kept in self.kept.items() if name != (test, key)}
        if sum(owner == test for owner, _ in others) >= BASELINES_LIMIT:
            raise ResourceExhausted("too many")
        used = sum(len(kept) for (owner, _), kept in others.items() if owner.org_id == test.org_id)
        if most_bytes is not None and used + len(picture) > most_bytes:
            raise PermissionDenied("limit baseline_bytes")
        self.kept[test, key] = picture
        return self._baseline(test, key)

    async def of_test(self, test: TestKey) -> Sequence[Baseline]:
        return [self._baseline(owner, key) for owner, key in sorted(self.kept) if owner == test]

    async def find(self, test: TestKey, key: str) -> Baseline | None:
        return self._baseline(test, key) if (test, key) in self.kept else None

    async def read(self, baseline: Baseline, part: FilePart) -> AsyncIterator[bytes]:
        yield self.kept[TestKey(baseline.org_id, baseline.test_id), baseline.key][part.start : part.end]

    async def delete(self, test: TestKey, key: str) -> bool:
        return self.kept.pop((test, key), None) is not None

    async def used_bytes(self, org_id: str) -> int:
        return sum(len(kept) for (owner, _), kept in self.kept.items() if owner.org_id == org_id)

    async def tests(self, after: TestKey | None, limit: int) -> Sequence[TestKey]:
        found = sorted({owner for owner, _ in self.kept if after is None or owner > after})
        return found[:limit]

    async def delete_of_test(self, test: TestKey) -> int:
        keys = [name for name in self.kept if name[0] == test]
        for name in keys:
            del self.kept[name]
        return len(keys)

    def _baseline(self, test: TestKey, key: str) -> Baseline:
        picture = self.kept[test, key]
        accepted_at = datetime(2026, 1, 2, tzinfo=UTC)
        return Baseline(test.org_id, test.test_id, key, len(picture), sha256(picture).hexdigest(), accepted_at)


class FakeExistingTests:
    """The catalog has these tests; `error` is raised instead of an answer."""

    def __init__(self, *tests: TestKey) -> None:
        self.tests = set(tests)
        self.error: Exception | None = None

    async def existing_tests(self, org_id: str, test_ids: Collection[str]) -> Collection[str]:
        if self.error is not None:
            raise self.error
        return [test_id for test_id in test_ids if TestKey(org_id, test_id) in self.tests]


class FakeLimitsSource:
    """Every organisation has these limits."""

    def __init__(self, limits: OrganisationLimits = UNLIMITED) -> None:
        self.limits = limits

    async def get(self, org_id: str) -> OrganisationLimits:
        return self.limits
