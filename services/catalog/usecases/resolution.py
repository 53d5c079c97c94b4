"""Which runs a start means: gathers what `model.resolution` decides on."""

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from services.catalog.model.apps import App
from services.catalog.model.attachments import Attachment
from services.catalog.model.builds import Build
from services.catalog.model.resolution import (
    BuildRequest,
    Candidates,
    PlannedRun,
    Shard,
    TestSelection,
    left_out_notice,
    plan_runs,
    suitable_tests,
)
from services.catalog.model.tests import PLAN_BYTES, Test
from services.catalog.model.values import InvalidValue, Platform
from services.catalog.model.workflows import NO_BUILD_CONFIG, AppChoice, BuildConfig, Workflow, order_tests
from services.catalog.ports import Store
from services.catalog.usecases.errors import invalid_argument, reports_violations, require
from services.chassis.errors import InvalidArgument


@dataclass(frozen=True, slots=True)
class Resolved:
    """The runs of a start, and the workflow that was started; None when it was tests.

    `notice` says which tests have no run.
    """

    workflow: Workflow | None
    runs: Sequence[PlannedRun]
    notice: str = ""


@dataclass(frozen=True, slots=True)
class WorkflowStart:
    """A workflow to start on the builds that the request names; `shard`: only its tests."""

    workflow_id: str
    requested: BuildConfig = NO_BUILD_CONFIG
    override: bool = False
    shard: Shard | None = None

    def request(self, workflow: Workflow) -> BuildRequest:
        return BuildRequest(self.requested, self.override, workflow.build_config)


@dataclass(frozen=True, slots=True)
class SelectedTests:
    """The tests that workflows select."""

    # By id; those that were deleted are among them.
    listed: Mapping[str, Test]
    # Those with any of the workflows' tags, by name.
    tagged: Sequence[Test]

    def of(self, workflow: Workflow) -> list[Test]:
        """Those listed, in order, then those tagged, by name, each once."""
        return order_tests(workflow, self.listed, self.tagged)


class ResolutionUseCases:
    """Planning the runs of a workflow or of tests."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @reports_violations
    async def of_workflow(self, start: WorkflowStart, *, most_bytes: int = PLAN_BYTES) -> Resolved:
        """The runs of a workflow.

        Raises:
            NotFound: it does not exist.
            InvalidArgument: an unknown app or version is requested, no test, none in the shard (EMPTY_SHARD), or
                the tests are larger (TOO_LARGE).
        """
        workflow = require(await self._store.workflows.get(start.workflow_id), "Workflow")
        selection, candidates = await self._gathered({workflow.id: workflow}, [start], most_bytes)
        return _resolved(start, workflow, selection, candidates)

    async def of_workflows(self, starts: Sequence[WorkflowStart], *, most_bytes: int) -> list[Resolved | None]:
        """The runs of each start, None where `of_workflow` says why there are none.

        Raises:
            InvalidArgument: all tests together are larger (TOO_LARGE).
        """
        stored = await self._store.workflows.many({start.workflow_id for start in starts})
        workflows = {workflow.id: workflow for workflow in stored}
        known = [start for start in starts if start.workflow_id in workflows]
        selection, candidates = await self._gathered(workflows, known, most_bytes)

        def resolve(start: WorkflowStart) -> Resolved | None:
            with suppress(InvalidValue, InvalidArgument):
                return _resolved(start, workflows[start.workflow_id], selection, candidates)
            return None

        return [resolve(start) if start.workflow_id in workflows else None for start in starts]

    @reports_violations
    async def of_tests(
        self,
        wanted: Sequence[TestSelection],
        requested: BuildConfig,
        *,
        override: bool,
        shard: Shard | None = None,
        most_bytes: int = PLAN_BYTES,
    ) -> Resolved:
        """The runs of several tests.

        Raises:
            InvalidArgument: a test or version is unknown, a test is named twice, an unknown app or build is requested,
                no test is in the shard (EMPTY_SHARD) or for the platform that the request names, or the tests are
                larger (TOO_LARGE).
        """
        positions = _positions(wanted)
        chosen = in_shard(list(positions), shard)
        stored = {test.id: test for test in await self._store.tests.with_deleted(chosen, most_bytes=most_bytes)}
        tests = await self._at_versions(wanted, positions, chosen, stored, most_bytes)
        attachments = await self._store.attachments.of_tests(chosen)
        request = BuildRequest(requested, override)
        return _planned(None, tests, await self._candidates(attachments, [request]), request, shard)

    async def _at_versions(
        self,
        wanted: Sequence[TestSelection],
        positions: Mapping[str, int],
        chosen: Sequence[str],
        stored: Mapping[str, Test],
        most_bytes: int,
    ) -> list[Test]:
        """The chosen tests in their order, with the steps of the versions that are wanted."""
        unknown = [test_id for test_id in chosen if test_id not in stored or stored[test_id].deleted_at is not None]
        if unknown:
            fields = [f"tests[{positions[test_id]}].test_id" for test_id in unknown]
            raise invalid_argument([InvalidValue(field, "Test not found", "not_found") for field in fields])
        numbers = {test_id: wanted[positions[test_id]].version_number for test_id in chosen}
        earlier = {i: n for i, n in numbers.items() if n is not None and n != stored[i].version_number}
        versions = {v.test_id: v for v in await self._store.tests.of_versions(earlier, most_bytes=most_bytes)}
        if missing := [test_id for test_id in earlier if test_id not in versions]:
            fields = [f"tests[{positions[test_id]}].version_number" for test_id in missing]
            raise invalid_argument([InvalidValue(field, "No such version", "not_found") for field in fields])
        return [wanted[positions[i]].of(stored[i], versions.get(i)) for i in chosen]

    @reports_violations
    async def of_test(self, test_id: str, requested: BuildConfig, *, override: bool) -> Resolved:
        """The runs of one test.

        Raises:
            NotFound: it does not exist.
            InvalidArgument: an unknown app or version is requested.
        """
        test, attachments = await asyncio.gather(
            self._store.tests.get(test_id), self._store.attachments.of_tests([test_id])
        )
        tests, request = [require(test, "Test")], BuildRequest(requested, override)
        return _planned(None, tests, await self._candidates(attachments, [request]), request)

    async def _gathered(
        self, workflows: Mapping[str, Workflow], starts: Sequence[WorkflowStart], most_bytes: int
    ) -> tuple[SelectedTests, Candidates]:
        """What the plans of the workflows are made of."""
        selection, attachments = await self._selected(workflows.values(), most_bytes)
        requests = [start.request(workflows[start.workflow_id]) for start in starts]
        return selection, await self._candidates(attachments, requests)

    async def _selected(
        self, workflows: Collection[Workflow], most_bytes: int
    ) -> tuple[SelectedTests, Sequence[Attachment]]:
        """The tests with their attachments. Listed tests that were deleted are included."""
        test_ids = {test_id for workflow in workflows for test_id in workflow.test_ids}
        kept, tagged, attached = await asyncio.gather(
            self._store.tests.with_deleted(test_ids, most_bytes=most_bytes),
            self._store.tests.tagged({tag for workflow in workflows for tag in workflow.tags}, most_bytes=most_bytes),
            self._store.attachments.of_tests(test_ids),
        )
        further = [test.id for test in tagged if test.id not in test_ids]
        also_attached = await self._store.attachments.of_tests(further)
        return SelectedTests({test.id: test for test in kept}, tagged), [*attached, *also_attached]

    async def _candidates(self, attachments: Sequence[Attachment], requests: Iterable[BuildRequest]) -> Candidates:
        configs = [config for request in requests for config in (request.requested, request.stored)]
        choices = [choice for config in configs for p in Platform if (choice := config.choice(p))]
        app_ids = {a.app_id for a in attachments} | {choice.app_id for choice in choices}
        apps = await self._store.apps.many(app_ids)
        builds = await self._store.builds.of_versions({app.id for app in apps}, _versions(apps, attachments, choices))
        return _candidates(apps, attachments, builds)


def _resolved(start: WorkflowStart, workflow: Workflow, selection: SelectedTests, candidates: Candidates) -> Resolved:
    tests = selection.of(workflow)
    if not tests:
        raise InvalidValue("workflow_id", f'the workflow "{workflow.name}" selects no tests; add test_ids or tags')
    mine = set(in_shard([test.id for test in tests], start.shard))
    tests = [test for test in tests if test.id in mine]
    return _planned(workflow, tests, candidates, start.request(workflow), start.shard)


def _planned(
    workflow: Workflow | None,
    tests: Sequence[Test],
    candidates: Candidates,
    request: BuildRequest,
    shard: Shard | None = None,
) -> Resolved:
    """The runs of the tests. InvalidValue: none is for the platform that build_config names; EMPTY_SHARD in a shard."""
    runs, notice = plan_runs(tests, candidates, request), left_out_notice(tests, request)
    if notice and not suitable_tests(tests, request):
        if shard is not None:
            raise InvalidArgument(f"There is nothing to run in this shard: {notice}", reason="EMPTY_SHARD")
        raise InvalidValue("build_config", f"there is nothing to run: {notice}")
    return Resolved(workflow, runs, notice)


def in_shard(test_ids: Sequence[str], shard: Shard | None) -> list[str]:
    """Those of the tests that are in the shard.

    Raises:
        InvalidArgument: none is (EMPTY_SHARD).
    """
    mine = [test_id for test_id in test_ids if shard is None or shard.contains(test_id)]
    if shard is not None and not mine:
        message = f"Shard {shard.index} of {shard.count} has none of the {len(test_ids)} tests: there is nothing to run"
        raise InvalidArgument(message, reason="EMPTY_SHARD")
    return mine


def _positions(wanted: Sequence[TestSelection]) -> dict[str, int]:
    """The position of each test. InvalidValue: one is named twice."""
    positions: dict[str, int] = {}
    for position, selection in enumerate(wanted):
        if selection.test_id in positions:
            raise InvalidValue(f"tests[{position}].test_id", "duplicate test", "unique")
        positions[selection.test_id] = position
    return positions


def _versions(apps: Iterable[App], attachments: Iterable[Attachment], choices: Iterable[AppChoice]) -> set[str]:
    """Every version that a rule may ask for."""
    named = {a.pinned_version for a in attachments} | {choice.pinned_version for choice in choices}
    pointed = {version for app in apps for version in (app.current_version, app.latest_version)}
    return {version for version in named | pointed if version is not None}


def _candidates(apps: Iterable[App], attachments: Iterable[Attachment], builds: Iterable[Build]) -> Candidates:
    attached: dict[str, list[Attachment]] = {}
    for attachment in attachments:
        attached.setdefault(attachment.test_id, []).append(attachment)
    return Candidates({app.id: app for app in apps}, attached, {(b.app_id, b.version): b for b in builds})
