"""The catalog's tables in memory, by resource."""

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Generic, TypeVar

from services.catalog.model.apps import App, AppFilter
from services.catalog.model.attachments import Attachment, detach
from services.catalog.model.builds import ALL_BUILDS, Build, BuildFilter
from services.catalog.model.keys import ApiKey, Session
from services.catalog.model.tests import (
    PLAN_BYTES,
    Quarantine,
    Test,
    TestFilter,
    TestVersion,
    active_quarantine,
)
from services.catalog.model.text import fold_case
from services.catalog.model.values import Counts, Page, Platform
from services.catalog.model.workflows import Workflow
from services.catalog.ports import DuplicateValue
from services.chassis import context
from services.chassis.error_status import TOO_LARGE
from services.chassis.errors import InvalidArgument

R = TypeVar("R", App, Build, Test, Workflow, ApiKey, Session)


T = TypeVar("T")


def _org() -> str:
    return context.current().org_id


def _cut(rows: Sequence[T], page: Page) -> list[T]:
    return list(rows[page.offset : page.offset + page.size])


def _newest_first(rows: Iterable[Any], moment: str = "created_at") -> list[Any]:
    return sorted(rows, key=lambda row: (getattr(row, moment), row.id), reverse=True)


def _named(name: str, pattern: str | None) -> bool:
    return pattern is None or re.search(pattern, fold_case(name)) is not None


class _Table(Generic[R]):
    """Rows by id. Only live ones of the caller's organisation are seen."""

    def __init__(self) -> None:
        self.rows: dict[str, R] = {}

    def live(self) -> list[R]:
        return [row for row in self.rows.values() if row.org_id == _org() and row.deleted_at is None]

    async def get(self, id: str) -> R | None:
        return next((row for row in self.live() if row.id == id), None)

    async def many(self, ids: Collection[str]) -> Sequence[R]:
        return [row for row in self.live() if row.id in ids]

    async def add(self, entity: R) -> None:
        if entity.id in self.rows:
            raise DuplicateValue
        await self.replace(entity)

    async def replace(self, entity: R) -> None:
        self.rows[entity.id] = entity


class FakeApps(_Table[App]):
    async def page(self, filter: AppFilter, page: Page) -> Sequence[App]:
        return _cut(_newest_first(self._fitting(filter)), page)

    async def count(self, filter: AppFilter) -> int:
        return len(self._fitting(filter))

    def _fitting(self, filter: AppFilter) -> list[App]:
        of_platform = [a for a in self.live() if filter.platform in (None, a.platform)]
        return [app for app in of_platform if _named(app.name, filter.pattern)]


class FakeCounters:
    def __init__(self) -> None:
        self.counts: dict[str, Counts] = {}

    async def get(self) -> Counts:
        return self.counts.get(_org(), Counts())

    async def add(self, change: Counts) -> None:
        now = await self.get()
        self.counts[_org()] = Counts(
            now.ios + change.ios,
            now.android + change.android,
            now.tests + change.tests,
            now.workflows + change.workflows,
        )


class FakeBuilds(_Table[Build]):
    async def page(self, app_id: str, page: Page, filter: BuildFilter = ALL_BUILDS) -> Sequence[Build]:
        return _cut(_newest_first(await self._fitting(app_id, filter), "uploaded_at"), page)

    async def count(self, app_id: str, filter: BuildFilter) -> int:
        return len(await self._fitting(app_id, filter))

    async def _fitting(self, app_id: str, filter: BuildFilter) -> Sequence[Build]:
        return [
            build
            for build in await self.of_app(app_id)
            if filter.sha256 in (None, build.sha256) and filter.version in (None, build.version)
        ]

    async def newest(self, app_id: str) -> Build | None:
        return next(iter(await self.page(app_id, Page(1, 1))), None)

    async def of_version(self, app_id: str, version: str) -> Build | None:
        return next(iter(await self.of_versions({app_id}, {version})), None)

    async def of_versions(self, app_ids: Collection[str], versions: Collection[str]) -> Sequence[Build]:
        return [build for build in self.live() if build.app_id in app_ids and build.version in versions]

    async def of_app(self, app_id: str) -> Sequence[Build]:
        return [build for build in self.live() if build.app_id == app_id]

    async def replace(self, entity: Build) -> None:
        same = await self.of_version(entity.app_id, entity.version)
        if entity.deleted_at is None and same is not None and same.id != entity.id:
            raise DuplicateValue
        await super().replace(entity)

    async def delete_all(self, app_id: str, at: datetime) -> None:
        for build in await self.of_app(app_id):
            await self.replace(replace(build, deleted_at=at, revision=build.revision + 1))


@dataclass
class FakeArtifact:
    size: int
    stored: bool = False
    uses: int = 0


class FakeArtifacts:
    def __init__(self) -> None:
        self.rows: dict[tuple[str, str], FakeArtifact] = {}

    async def expect(self, sha256: str, size: int) -> bool:
        return self.rows.setdefault((_org(), sha256), FakeArtifact(size)).stored

    async def stored(self, sha256: str) -> None:
        self.rows[_org(), sha256].stored = True

    async def use(self, sha256: str, change: int) -> None:
        self.rows[_org(), sha256].uses += change

    async def release(self, sha256s: Iterable[str]) -> None:
        for sha256 in sha256s:
            await self.use(sha256, -1)


def _not_larger(tests: Sequence[Test], most_bytes: int) -> Sequence[Test]:
    if len(json.dumps([test.steps for test in tests])) > most_bytes:
        raise InvalidArgument("larger", reason=TOO_LARGE)
    return tests


class FakeTests(_Table[Test]):
    def __init__(self) -> None:
        super().__init__()
        self.kept_versions: dict[tuple[str, int], TestVersion] = {}

    async def with_deleted(self, test_ids: Collection[str], *, most_bytes: int = PLAN_BYTES) -> Sequence[Test]:
        found = [test for test in self.rows.values() if test.id in test_ids and test.org_id == _org()]
        return _not_larger(found, most_bytes)

    async def existing(self, test_ids: Collection[str]) -> Collection[str]:
        return {test.id for test in await self.many(test_ids)}

    async def quarantines(self, test_ids: Collection[str]) -> Mapping[str, Quarantine]:
        return {test.id: test.quarantine for test in await self.many(test_ids) if test.quarantine is not None}

    async def tagged(self, tags: Collection[str], *, most_bytes: int = PLAN_BYTES) -> Sequence[Test]:
        fitting = [test for test in self.live() if set(test.tags) & set(tags)]
        return _not_larger(sorted(fitting, key=lambda test: (fold_case(test.name), test.id)), most_bytes)

    async def page(self, filter: TestFilter, page: Page, *, with_steps: bool) -> Sequence[Test]:
        found = _cut(_newest_first(self._fitting(filter)), page)
        return found if with_steps else [replace(test, steps=()) for test in found]

    async def count(self, filter: TestFilter) -> int:
        return len(self._fitting(filter))

    async def count_only_on(self, platform: Platform) -> int:
        return sum(test.platform is platform for test in self.live())

    def _fitting(self, filter: TestFilter) -> list[Test]:
        return [
            test
            for test in self.live()
            if (filter.platform is None or test.platform in (None, filter.platform))
            and (filter.tag is None or filter.tag in test.tags)
            and (filter.ids is None or test.id in filter.ids)
            and _named(test.name, filter.pattern)
            and (filter.quarantined_at is None or active_quarantine(test.quarantine, filter.quarantined_at))
        ]

    async def replace(self, entity: Test) -> None:
        same = await self.at_paths(entity.workspace or "", [entity.source_path or ""])
        if entity.deleted_at is None and any(test.id != entity.id for test in same):
            raise DuplicateValue
        await super().replace(entity)

    async def elsewhere(self, workspace: str, paths: Collection[str], most: int) -> Sequence[Test]:
        own = [test for test in self.live() if test.workspace == workspace and test.source_path not in paths]
        own.sort(key=lambda test: test.source_path or "")
        return [replace(test, steps=(), env={}) for test in own[:most]]

    async def stored_files(self, workspace: str, sha256s: Collection[str]) -> Collection[str]:
        own = [test for test in self.live() if test.workspace == workspace]
        return {file.sha256 for test in own for file in test.files}.intersection(sha256s)

    async def at_paths(self, workspace: str, paths: Collection[str]) -> Sequence[Test]:
        return [test for test in self.live() if test.workspace == workspace and test.source_path in paths]

    async def add_version(self, version: TestVersion) -> None:
        self.kept_versions[version.test_id, version.version_number] = version

    async def versions(self, test_id: str, page: Page, *, with_steps: bool) -> Sequence[TestVersion]:
        own = [v for v in self.kept_versions.values() if v.test_id == test_id and v.org_id == _org()]
        found = _cut(sorted(own, key=lambda v: -v.version_number), page)
        return found if with_steps else [replace(version, steps=()) for version in found]

    async def of_versions(self, numbers: Mapping[str, int], *, most_bytes: int = PLAN_BYTES) -> Sequence[TestVersion]:
        own = [v for v in self.kept_versions.values() if v.org_id == _org()]
        return [version for version in own if numbers.get(version.test_id) == version.version_number]

    async def kept_files(self, test_id: str) -> frozenset[str]:
        own = [v for v in self.kept_versions.values() if v.test_id == test_id and v.org_id == _org()]
        return frozenset(file.sha256 for version in own for file in version.files)


class FakeAttachments:
    def __init__(self) -> None:
        self.rows: dict[tuple[str, str], Attachment] = {}

    def _own(self) -> list[Attachment]:
        return [a for a in self.rows.values() if a.org_id == _org()]

    async def get(self, app_id: str, test_id: str) -> Attachment | None:
        return next((a for a in self._own() if (a.app_id, a.test_id) == (app_id, test_id)), None)

    async def of_app(self, app_id: str) -> Sequence[Attachment]:
        own = [a for a in self._own() if a.app_id == app_id and a.attached]
        return sorted(own, key=lambda a: (fold_case(a.test_name), a.test_id))

    async def page(self, app_id: str, page: Page) -> Sequence[Attachment]:
        return _cut(await self.of_app(app_id), page)

    async def of_tests(self, test_ids: Collection[str]) -> Sequence[Attachment]:
        own = [a for a in self._own() if a.test_id in test_ids and a.attached]
        return sorted(own, key=lambda a: (a.created_at, a.app_id, a.test_id))

    async def put(self, attachments: Sequence[Attachment]) -> None:
        self.rows |= {(a.app_id, a.test_id): a for a in attachments}

    async def detach_all(self, app_id: str) -> None:
        await self.put([detach(attachment) for attachment in await self.of_app(app_id)])

    async def rename_test(self, test_id: str, name: str) -> None:
        self.rows |= {(a.app_id, a.test_id): replace(a, test_name=name) for a in self._own() if a.test_id == test_id}


class FakeWorkflows(_Table[Workflow]):
    async def page(self, pattern: str | None, page: Page) -> Sequence[Workflow]:
        return _cut(_newest_first(w for w in self.live() if _named(w.name, pattern)), page)

    async def count(self, pattern: str | None) -> int:
        return sum(_named(workflow.name, pattern) for workflow in self.live())

    async def with_test(self, test_id: str) -> Sequence[Workflow]:
        return [workflow for workflow in self.live() if test_id in workflow.test_ids]

    async def with_version(self, app_id: str, version: str) -> Sequence[Workflow]:
        def names_it(workflow: Workflow) -> bool:
            config = workflow.build_config
            choices = (config.ios_build, config.android_build)
            return any(c and (c.app_id, c.pinned_version) == (app_id, version) for c in choices)

        return [workflow for workflow in self.live() if names_it(workflow)]


class FakeSessions(_Table[Session]):
    async def add(self, entity: Session) -> None:
        if any(session.lookup == entity.lookup for session in self.rows.values()):
            raise DuplicateValue
        await super().add(entity)

    async def count_of_key(self, key_id: str) -> int:
        return sum((row.org_id, row.api_key_id) == (_org(), key_id) for row in self.rows.values())


class FakeKeys(_Table[ApiKey]):
    async def add(self, entity: ApiKey) -> None:
        if any(key.lookup == entity.lookup for key in self.rows.values()):
            raise DuplicateValue
        await super().add(entity)

    async def page(self, page: Page) -> Sequence[ApiKey]:
        return _cut(_newest_first(self.live()), page)

    async def count(self) -> int:
        return len(self.live())
