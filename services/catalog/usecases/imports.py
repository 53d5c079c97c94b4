"""Importing workspaces: one test for each flow of a folder, known by its path."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from mobiletest_automation.flows.workspace import FoundWorkspace, WorkspaceFlow
from mobiletest_automation.flows.workspace_config import Remark
from mobiletest_automation.flows.workspace_files import InvalidFiles, check_archive
from services.catalog.model.attachments import ATTACHED_LIMIT
from services.catalog.model.tests import (
    MISSING_LIMIT,
    ImportReport,
    Test,
    batches,
    has_other_steps,
    is_platform_compatible,
    steps_digest,
    validate_tags,
    version_bytes,
)
from services.catalog.model.text import validate_name
from services.catalog.model.values import Counts, InvalidValue
from services.catalog.ports import Records, Store, Transaction
from services.catalog.reader_ports import WorkspaceReader
from services.catalog.usecases.apps import attached_limit_reached
from services.catalog.usecases.attachments import attach_unless_attached
from services.catalog.usecases.errors import reports_violations, require
from services.catalog.usecases.storage_quota import StorageCounter, StorageQuota
from services.catalog.usecases.tests import add_test, apply_change
from services.catalog.usecases.uploaded_files import Arrive, UploadedFiles
from services.catalog.usecases.workspace_files import WorkspaceFileStore
from services.chassis.clock import Clock
from services.chassis.context import current
from services.chassis.errors import Aborted
from services.chassis.ids import new_id
from services.chassis.mongo_errors import DuplicateValue

CREATED, CHANGED, UNCHANGED = "created", "changed", "unchanged"


@dataclass(frozen=True, slots=True)
class NewImport:
    """What the client says of an import; `expected_bytes` is the size of its archive or a bit more, 0 if unknown."""

    workspace: str
    app_id: str | None = None
    dry_run: bool = False
    expected_bytes: int = 0


@dataclass(slots=True)
class _Outcomes:
    """What became of each flow so far; without steps, which are large together."""

    tests: dict[str, list[Test]] = field(default_factory=lambda: {CREATED: [], CHANGED: [], UNCHANGED: []})
    notices: list[Remark] = field(default_factory=list)

    def add(self, results: "Sequence[_Result]") -> None:
        for result in results:
            self.tests[result.outcome].append(replace(result.test, steps=()))
            self.notices += result.notices


@dataclass(frozen=True, slots=True)
class _Result:
    outcome: str
    test: Test
    notices: tuple[Remark, ...] = ()
    # Whether the steps become a version of the test.
    is_version: bool = True


class ImportUseCases:
    """Creating and updating the tests of a workspace."""

    def __init__(
        self,
        store: Store,
        files: WorkspaceFileStore,
        quota: StorageQuota,
        *,
        uploads: UploadedFiles,
        workspaces: WorkspaceReader,
        clock: Clock,
    ) -> None:
        self._store = store
        self._files = files
        self._quota = quota
        self._uploads = uploads
        self._workspaces = workspaces
        self._clock = clock

    @reports_violations
    async def run(self, new: NewImport, arrive: Arrive) -> ImportReport:
        """Import the workspace in a zip archive that arrives.

        Flows with problems are refused and do not stop the others.

        Raises:
            NotFound: no such app.
            InvalidArgument: the archive or its configuration is not accepted.
            Aborted: the upload was cut, or another import of the workspace was faster.
            PermissionDenied: the organisation has as many tests or stores as many bytes, or the app has as many tests,
                as it may, and nothing is changed.
            ResourceExhausted: the organisation's own uploads take the spool.
            Unavailable: the spool is full, or the file is not in the object store.
        """
        if new.app_id is not None:
            require(await self._store.apps.get(new.app_id), "App")
        await _check_size(new.expected_bytes)
        async with (
            self._uploads.receive(arrive, _check_size, expected=new.expected_bytes) as arrived,
            arrived.open() as file,
        ):
            found_workspace = await self._workspaces.read(file.path, sentences=new.dry_run)
            flows = [flow for flow in found_workspace.flows if not flow.problems]
            if new.dry_run:
                return await self._report(new, found_workspace, await self._preview(new, flows))
            await self._check_attachments(new, flows)
            async with (
                self._quota.reserve(self._store, _most(flows), lambda: self._measure(new, flows)) as counter,
                self._files.keep(new.workspace, file.path, flows),
            ):
                return await self._report(new, found_workspace, await self._import(new, flows, counter))

    async def _import(self, new: NewImport, flows: Sequence[WorkspaceFlow], counter: StorageCounter) -> _Outcomes:
        outcomes = _Outcomes()
        for batch in batches(flows):
            outcomes.add(await self._save(new, await self._plan(new, batch), counter))
        return outcomes

    async def _preview(self, new: NewImport, flows: Sequence[WorkspaceFlow]) -> _Outcomes:
        outcomes = _Outcomes()
        async for result, _ in self._compared(new, flows):
            outcomes.add([result])
        return outcomes

    async def _measure(self, new: NewImport, flows: Sequence[WorkspaceFlow]) -> Counts:
        """What the import adds."""
        tests, versions = 0, list[WorkspaceFlow]()
        async for result, flow in self._compared(new, flows):
            tests += result.outcome == CREATED
            versions += [flow] if result.is_version else []
        contents = {steps_digest(flow.steps): len(flow.steps.encode()) for flow in versions}
        stored = await self._store.tests.stored_steps(contents)
        size = sum(size for digest, size in contents.items() if digest not in stored)
        return Counts(tests=tests, test_bytes=size + sum(map(_version_bytes, versions)))

    async def _check_attachments(self, new: NewImport, flows: Sequence[WorkspaceFlow]) -> None:
        """PermissionDenied: the import would attach more tests to the app than it may have."""
        app = None if new.app_id is None else require(await self._store.apps.get(new.app_id), "App")
        if app is None or app.attached_tests + len(flows) <= ATTACHED_LIMIT:
            return
        attached = {attachment.test_id for attachment in await self._store.attachments.of_app(app.id)}
        added = 0
        async for result, _ in self._compared(new, flows):
            added += result.test.id not in attached and is_platform_compatible(result.test.platform, app.platform)
        if added and app.attached_tests + added > ATTACHED_LIMIT:
            raise attached_limit_reached()

    async def _compared(
        self, new: NewImport, flows: Sequence[WorkspaceFlow]
    ) -> AsyncIterator[tuple["_Result", WorkspaceFlow]]:
        """What would become of each flow."""
        for batch in batches(flows):
            planned = await self._plan(new, batch)
            before = await _tests_before(self._store, planned)
            for test, flow in zip(planned, batch, strict=True):
                yield _compare(before.get(test.source_path), test), flow

    async def _plan(self, new: NewImport, flows: Sequence[WorkspaceFlow]) -> list[Test]:
        """The tests that the flows would be if all were new."""
        now, org_id, planned = self._clock.now(), current().org_id, []
        for flow in flows:
            await asyncio.sleep(0)  # half a megabyte of steps takes long to decode
            planned.append(_new_test(flow, new.workspace, org_id, now))
        return planned

    async def _save(self, new: NewImport, planned: Sequence[Test], counter: StorageCounter) -> Sequence[_Result]:
        now = self._clock.now()

        async def work(change: Transaction) -> Sequence[_Result]:
            before = await _tests_before(change, planned)
            results = [await _store_test(change, before.get(test.source_path), test, now, counter) for test in planned]
            return results if new.app_id is None else await _attach(change, new.app_id, results, now)

        try:
            return await self._store.change(work, of=new.app_id or f"{current().org_id}/{new.workspace}")
        except DuplicateValue as taken:
            message = "Another import of this workspace was faster: send it again"
            raise Aborted(message, reason="IMPORT_CONFLICT") from taken

    async def _report(self, new: NewImport, workspace: FoundWorkspace, outcomes: _Outcomes) -> ImportReport:
        paths = {flow.path for flow in workspace.flows}
        missing = () if workspace.is_part else await self._store.tests.elsewhere(new.workspace, paths, MISSING_LIMIT)
        refused = {flow.path: flow.problems for flow in workspace.flows if flow.problems}
        return ImportReport(
            workspace=new.workspace,
            dry_run=new.dry_run,
            contents=workspace,
            created=tuple(outcomes.tests[CREATED]),
            changed=tuple(outcomes.tests[CHANGED]),
            unchanged=tuple(outcomes.tests[UNCHANGED]),
            refused=tuple(sorted(refused.items())),
            missing=tuple(missing),
            notices=(*workspace.notices, *outcomes.notices),
        )


def _most(flows: Sequence[WorkspaceFlow]) -> Counts:
    """What an import of the flows adds at most."""
    size = sum(_version_bytes(flow) + len(flow.steps.encode()) for flow in flows)
    return Counts(tests=len(flows), test_bytes=size)


def _version_bytes(flow: WorkspaceFlow) -> int:
    return version_bytes(flow.positions, flow.files)


async def _check_size(size: int) -> None:
    try:
        check_archive(size)
    except InvalidFiles as problem:
        raise InvalidValue("file", str(problem), "too_large") from None


def _new_test(flow: WorkspaceFlow, workspace: str, org_id: str, now: datetime) -> Test:
    return Test(
        id=new_id(),
        org_id=org_id,
        name=validate_name(flow.name),
        created_at=now,
        updated_at=now,
        tags=validate_tags(flow.tags),
        steps=tuple(json.loads(flow.steps)),
        workspace=workspace,
        source_path=flow.path,
        files=flow.files,
        positions=flow.positions,
    )


async def _tests_before(records: Records, planned: Sequence[Test]) -> Mapping[str | None, Test]:
    """The tests that there are already, by path."""
    if not planned:
        return {}
    tests = await records.tests.at_paths(planned[0].workspace or "", [test.source_path or "" for test in planned])
    return {test.source_path: test for test in tests}


def _compare(before: Test | None, planned: Test) -> _Result:
    """What becomes of the test of a flow: only its name, tags, steps with their positions and files are the flow's."""
    if before is None:
        return _Result(CREATED, planned)
    after = replace(
        before,
        name=planned.name,
        tags=planned.tags,
        steps=planned.steps,
        files=planned.files,
        positions=planned.positions,
    )
    return _Result(UNCHANGED if after == before else CHANGED, after, is_version=has_other_steps(before, after))


async def _store_test(
    change: Transaction, before: Test | None, planned: Test, now: datetime, counter: StorageCounter
) -> _Result:
    result = _compare(before, planned)
    if before is None:
        await add_test(change, planned, counter)
    elif result.outcome == CHANGED:
        return replace(result, test=await apply_change(change, before, result.test, now, counter))
    elif result.test.positions != before.positions:
        await change.tests.move_steps(result.test)
    return result


async def _attach(change: Transaction, app_id: str, results: Sequence[_Result], now: datetime) -> Sequence[_Result]:
    """The results, with a notice for each test that cannot be attached to the app."""
    app, attached = require(await change.apps.get(app_id), "App"), []
    for result in results:
        try:
            app = await attach_unless_attached(change, app, result.test, now)
            attached.append(result)
        except InvalidValue as wrong:
            notice = Remark(result.test.source_path or "", None, None, f"not attached to the app: {wrong.message}")
            attached.append(replace(result, notices=(notice,)))
    return attached
