"""Which runs a start means: gathers what `model.resolution` decides on."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from services.catalog.model.apps import App
from services.catalog.model.attachments import Attachment
from services.catalog.model.builds import Build
from services.catalog.model.resolution import BuildRequest, Candidates, PlannedRun, plan_runs
from services.catalog.model.tests import PLAN_BYTES, Test
from services.catalog.model.values import InvalidValue, Platform
from services.catalog.model.workflows import AppChoice, BuildConfig, Workflow
from services.catalog.ports import Store
from services.catalog.usecases.errors import reports_violations, require


@dataclass(frozen=True, slots=True)
class Resolved:
    """The runs of a start, and the workflow that was started; None when it was one test."""

    workflow: Workflow | None
    runs: Sequence[PlannedRun]


class ResolutionUseCases:
    """Planning the runs of a workflow or of one test."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @reports_violations
    async def of_workflow(
        self, workflow_id: str, requested: BuildConfig, *, override: bool, most_bytes: int = PLAN_BYTES
    ) -> Resolved:
        """The runs of a workflow.

        NotFound; InvalidArgument: an unknown app or version is requested, no test, or (TOO_LARGE) larger tests.
        """
        workflow = require(await self._store.workflows.get(workflow_id), "Workflow")
        tests, attachments = await self._selected(workflow, most_bytes)
        if not tests:
            raise InvalidValue("workflow_id", f'the workflow "{workflow.name}" selects no tests; add test_ids or tags')
        request = BuildRequest(requested, override, workflow.build_config)
        return Resolved(workflow, plan_runs(tests, await self._candidates(attachments, request), request))

    @reports_violations
    async def of_test(self, test_id: str, requested: BuildConfig, *, override: bool) -> Resolved:
        """The runs of one test. NotFound; InvalidArgument: an unknown app or version is requested."""
        test, attachments = await asyncio.gather(
            self._store.tests.get(test_id), self._store.attachments.of_tests([test_id])
        )
        tests, request = [require(test, "Test")], BuildRequest(requested, override)
        return Resolved(None, plan_runs(tests, await self._candidates(attachments, request), request))

    async def _selected(self, workflow: Workflow, most_bytes: int) -> tuple[list[Test], Sequence[Attachment]]:
        """Tests with their attachments: those listed, in order, then those tagged, by name, each once.

        Listed tests that were deleted are included.
        """
        kept, tagged, attached = await asyncio.gather(
            self._store.tests.with_deleted(workflow.test_ids, most_bytes=most_bytes),
            self._store.tests.tagged(workflow.tags, most_bytes=most_bytes),
            self._store.attachments.of_tests(workflow.test_ids),
        )
        listed = {test.id: test for test in kept}
        further = [test for test in tagged if test.id not in listed]
        also_attached = await self._store.attachments.of_tests([test.id for test in further])
        ordered = [listed[test_id] for test_id in workflow.test_ids if test_id in listed]
        return [*ordered, *further], [*attached, *also_attached]

    async def _candidates(self, attachments: Sequence[Attachment], request: BuildRequest) -> Candidates:
        choices = [c for config in (request.requested, request.stored) for p in Platform if (c := config.choice(p))]
        app_ids = {a.app_id for a in attachments} | {choice.app_id for choice in choices}
        apps = await self._store.apps.many(app_ids)
        builds = await self._store.builds.of_versions({app.id for app in apps}, _versions(apps, attachments, choices))
        return _candidates(apps, attachments, builds)


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
