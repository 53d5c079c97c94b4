"""Creating, listing, changing and deleting tests."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from mobiletest_automation.flows.loader import NO_FILES, Files
from services.catalog.model.attachments import detach
from services.catalog.model.tests import (
    ReadFlow,
    Step,
    Test,
    TestFilter,
    TestVersion,
    active_quarantine,
    has_other_steps,
    is_platform_compatible,
    mark_test_deleted,
    validate_tags,
)
from services.catalog.model.text import validate_name
from services.catalog.model.values import Counts, InvalidValue, ListPage, Page, Platform
from services.catalog.ports import Store, Transaction
from services.catalog.reader_ports import FlowReader
from services.catalog.usecases.apps import update_app_attachment
from services.catalog.usecases.attachments import AttachedTest, load_attachments
from services.catalog.usecases.errors import (
    invalid_argument,
    reports_violations,
    require,
    require_revision,
    validate_environment,
)
from services.catalog.usecases.storage_quota import StorageCounter, StorageQuota
from services.chassis.clock import Clock
from services.chassis.context import current
from services.chassis.ids import new_id
from services.chassis.text_search import search_pattern

# New values of name, description, platform, tags, steps (or flow, with flow_files), timeout_seconds and env.
#
# None clears what may be cleared.
TestChanges = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class NewTest:
    """The client's description of a new test: its name and steps, or a Maestro flow that has them."""

    name: str = ""
    steps: tuple[Step, ...] = ()
    description: str | None = None
    platform: Platform | None = None
    tags: tuple[str, ...] = ()
    timeout_seconds: int | None = None
    flow: str | None = None
    flow_files: Files = field(default_factory=dict)
    env: Mapping[str, object] = field(default_factory=dict, repr=False)


class TestUseCases:
    """Writing, listing, changing and deleting tests."""

    __test__ = False

    def __init__(self, store: Store, quota: StorageQuota, clock: Clock, flows: FlowReader) -> None:
        self._store = store
        self._quota = quota
        self._clock = clock
        self._flows = flows

    @reports_violations
    async def create(self, new: NewTest) -> AttachedTest:
        """A new test. A repeat with the same idempotency key gives the existing test.

        Raises:
            PermissionDenied: the organisation has as many tests, or bytes of their steps, as it may.
        """
        new, notices = await self._prepare(new)
        now, caller = self._clock.now(), current()
        test = Test(
            id=new_id(),
            org_id=caller.org_id,
            name=validate_name(new.name),
            created_at=now,
            updated_at=now,
            description=new.description,
            platform=new.platform,
            tags=validate_tags(new.tags),
            steps=new.steps,
            env=validate_environment(new.env, "env"),
            timeout_seconds=new.timeout_seconds,
        )

        async def work(change: Transaction) -> Test:
            earlier = await change.tests.get(test.id) if caller.idempotency_key else None
            if earlier is not None:
                return earlier
            await add_test(change, test, self._quota)
            return test

        kept = await self._store.change(work)
        return AttachedTest(kept, (), active_quarantine(kept.quarantine, now), notices)

    async def list(
        self,
        page: Page,
        *,
        search: str | None = None,
        app_id: str | None = None,
        platform: Platform | None = None,
        tag: str | None = None,
        ids: Sequence[str] = (),
        quarantined: bool = False,
        with_steps: bool = False,
    ) -> ListPage[AttachedTest]:
        """A page of the tests that fit, newest first; `ids` selects these instead of those of an app."""
        pattern = search_pattern(search) if search else None
        if search and pattern is None:
            return ListPage((), 0)
        selected = tuple(ids) or await self._ids_of_app(app_id)
        filter = TestFilter(platform, tag, selected, pattern, self._clock.now() if quarantined else None)
        total, tests = await asyncio.gather(
            self._total(filter), self._store.tests.page(filter, page, with_steps=with_steps)
        )
        return ListPage(await self._with_attachments(tests), total)

    async def get(self, test_id: str) -> AttachedTest:
        """The test.

        Raises:
            NotFound: it does not exist.
        """
        [test] = await self._with_attachments([await self._test(test_id)])
        return test

    async def many(self, test_ids: Sequence[str]) -> Sequence[AttachedTest]:
        """Those of the tests that exist, in the order asked for."""
        tests = {test.id: test for test in await self._store.tests.many(frozenset(test_ids))}
        return await self._with_attachments([tests[test_id] for test_id in test_ids if test_id in tests])

    async def versions(self, test_id: str, page: Page, *, with_steps: bool = False) -> ListPage[TestVersion]:
        """A page of the versions of the test's steps, newest first.

        Raises:
            NotFound: it does not exist.
        """
        test = await self._test(test_id)
        return ListPage(await self._store.tests.versions(test_id, page, with_steps=with_steps), test.version_number)

    @reports_violations
    async def update(self, test_id: str, changes: TestChanges, expected: Collection[int] = ()) -> AttachedTest:
        """The test with the changes; other steps are a new version of them.

        Raises:
            NotFound: it does not exist.
            Aborted: its revision is not expected.
            PermissionDenied: the organisation has as many bytes of steps as it may.
        """
        values, notices = await self._validate(changes)
        now = self._clock.now()

        async def work(change: Transaction) -> Test:
            test = require_revision(await change.tests.get(test_id), "Test", expected)
            own = {"env": validate_environment(values["env"], "env", test.env)} if "env" in values else {}
            changed = replace(test, **{**values, **own})
            return test if changed == test else await apply_change(change, test, changed, now, self._quota)

        [test] = await self._with_attachments([await self._store.change(work)])
        return replace(test, notices=notices)

    async def delete(self, test_id: str, expected: Collection[int] = ()) -> None:
        """Delete the test, detach it from its apps, take it out of its workflows.

        Raises:
            NotFound: it does not exist.
            Aborted: as in `update`.
        """
        now = self._clock.now()

        async def work(change: Transaction) -> None:
            test = require_revision(await change.tests.get(test_id), "Test", expected)
            for attachment in await change.attachments.of_tests([test_id]):
                app = await change.apps.get(attachment.app_id)
                if app is not None:
                    await update_app_attachment(change, app, attachment, detach(attachment), now)
            for workflow in await change.workflows.with_test(test_id):
                left = tuple(i for i in workflow.test_ids if i != test_id)
                after = replace(workflow, test_ids=left, revision=workflow.revision + 1, updated_at=now)
                await change.workflows.replace(after)
            gone = mark_test_deleted(test, now)
            await change.tests.replace(gone)
            await change.artifacts.release(await change.tests.kept_files(test_id))
            await change.counters.add(Counts(tests=-1))
            change.announce(gone)

        await self._store.change(work)

    async def _prepare(self, new: NewTest) -> tuple[NewTest, tuple[str, ...]]:
        """The new test with the steps, and what else is missing, of its flow; and the notices about the flow."""
        if new.flow is None:
            _refuse_files(new.flow_files)
            _refuse_missing(new)
            return new, await self._validate_steps(new.steps)
        if new.steps:
            raise InvalidValue("flow", "a test has either steps or a flow")
        flow = await self._load_flow(new.flow, new.flow_files)
        if not (new.name or flow.name):
            raise InvalidValue("name", "Field required: the flow has no name either", "missing")
        prepared = replace(new, name=new.name or flow.name or "", steps=flow.steps, tags=new.tags or flow.tags)
        return prepared, _sentences(flow)

    async def _load_flow(self, text: str, files: Files) -> ReadFlow:
        """The flow in a Maestro file. Raise InvalidArgument with all its problems."""
        flow = await self._flows.read(text, files)
        if flow.problems:
            raise invalid_argument([InvalidValue("flow", problem.sentence, "step") for problem in flow.problems])
        return flow

    async def _validate_steps(self, steps: Sequence[Step]) -> tuple[str, ...]:
        """The notices about the steps. Raise InvalidArgument with all their problems."""
        flow = await self._flows.read(steps)
        if flow.problems:
            raise invalid_argument([InvalidValue(problem.path, problem.message, "step") for problem in flow.problems])
        return _sentences(flow)

    async def _validate(self, changes: TestChanges) -> tuple[dict[str, Any], tuple[str, ...]]:
        """The new values, and the notices about the flow or steps among them."""
        values = dict(changes)
        if "name" in values:
            values["name"] = validate_name(values["name"] or "")
        if "tags" in values:
            values["tags"] = validate_tags(tuple(values["tags"] or ()))
        flow, files = values.pop("flow", None), values.pop("flow_files", NO_FILES)
        if flow is None:
            _refuse_files(files)
        elif "steps" in values:
            raise InvalidValue("flow", "a test has either steps or a flow")
        else:
            read = await self._load_flow(flow, files)
            return {**values, "steps": read.steps, "positions": ""}, _sentences(read)
        if "steps" in values:
            values |= {"steps": tuple(values["steps"] or ()), "positions": ""}
            return values, await self._validate_steps(values["steps"])
        return values, ()

    async def _test(self, test_id: str) -> Test:
        return require(await self._store.tests.get(test_id), "Test")

    async def _ids_of_app(self, app_id: str | None) -> tuple[str, ...] | None:
        if app_id is None:
            return None
        return tuple(attachment.test_id for attachment in await self._store.attachments.of_app(app_id))

    async def _total(self, filter: TestFilter) -> int:
        if filter != TestFilter(filter.platform):
            return await self._store.tests.count(filter)
        total = (await self._store.counters.get()).tests
        others = set(Platform) - {filter.platform} if filter.platform else ()
        for platform in others:  # MongoDB counts those of one platform by an index alone, unlike those of none
            total -= await self._store.tests.count_only_on(platform)
        return max(0, total)

    async def _with_attachments(self, tests: Sequence[Test]) -> Sequence[AttachedTest]:
        return await load_attachments(self._store, tests, self._clock.now())


def _sentences(flow: ReadFlow) -> tuple[str, ...]:
    return tuple(notice.sentence for notice in flow.notices)


def _refuse_files(files: Files) -> None:
    if files:
        raise InvalidValue("flow_files", "there is no flow that runs these files")


def _refuse_missing(new: NewTest) -> None:
    missing = [name for name in ("name", "steps") if not getattr(new, name)]
    if missing:
        raise invalid_argument([InvalidValue(name, "Field required", "missing") for name in missing])


async def add_test(change: Transaction, test: Test, counter: StorageCounter) -> None:
    """Store, count and announce a new test.

    Raises:
        PermissionDenied: as in `StorageCounter.add`.
    """
    size = await _add_version(change, test, test.created_at)
    await change.tests.add(test)
    await counter.add(change, Counts(tests=1, test_bytes=size))
    change.announce(test)


async def apply_change(change: Transaction, before: Test, after: Test, now: datetime, counter: StorageCounter) -> Test:
    """Store and announce the changed test; other steps or files are a new version, which is counted.

    Raises:
        InvalidValue: the platform differs.
        PermissionDenied: as in `StorageCounter.add`.
    """
    if after.platform != before.platform:
        await _check_platform(change, after)
    edited = has_other_steps(before, after)
    kept = replace(
        after, revision=before.revision + 1, version_number=before.version_number + int(edited), updated_at=now
    )
    if edited:
        await counter.add(change, Counts(test_bytes=await _add_version(change, kept, now)))
    await change.tests.replace(kept)
    if not edited and kept.positions != before.positions:
        await change.tests.move_steps(kept)
    if kept.name != before.name:
        await change.attachments.rename_test(kept.id, kept.name)
    change.announce(kept)
    return kept


async def _check_platform(change: Transaction, test: Test) -> None:
    attachments = await change.attachments.of_tests([test.id])
    for app in await change.apps.many({a.app_id for a in attachments}):
        if not is_platform_compatible(test.platform, app.platform):
            message = f'the test is attached to the {app.platform} app "{app.name}"; detach it first'
            raise InvalidValue("platform", message)


async def _add_version(change: Transaction, test: Test, now: datetime) -> int:
    """Store the version, and note the use of each file that no earlier version of the test needs; the bytes that the
    version takes.
    """
    if test.files:
        for sha256 in {file.sha256 for file in test.files} - await change.tests.kept_files(test.id):
            await change.artifacts.use(sha256, 1)
    version = TestVersion(test.id, test.org_id, test.version_number, test.steps, now, test.files, test.positions)
    return await change.tests.add_version(version)
