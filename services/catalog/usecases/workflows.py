"""Creating, listing, changing and deleting workflows."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from mobiletest_automation.flows.environment import NO_ENVIRONMENT
from services.catalog.model.resolution import Candidates, check_choice
from services.catalog.model.tests import Test, validate_tags
from services.catalog.model.text import validate_name
from services.catalog.model.values import Counts, InvalidValue, Json, ListPage, Page, Platform
from services.catalog.model.workflows import NO_BUILD_CONFIG, BuildConfig, Workflow, mark_workflow_deleted, order_tests
from services.catalog.ports import Limits, Records, Store, Transaction
from services.catalog.usecases.errors import (
    invalid_argument,
    reports_violations,
    require,
    require_revision,
    validate_environment,
)
from services.catalog.usecases.storage_quota import StorageQuota
from services.chassis.clock import Clock
from services.chassis.context import current
from services.chassis.ids import new_id
from services.chassis.limit_refusals import check_models
from services.chassis.text_search import search_pattern

# New values of the fields of NewWorkflow; None clears what may be cleared.
WorkflowChanges = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class NewWorkflow:
    """What a client says of the workflow that it makes."""

    name: str
    description: str | None = None
    test_ids: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    build_config: BuildConfig = NO_BUILD_CONFIG
    run_config: Mapping[str, Json] | None = None
    max_parallel: int | None = None
    env: Mapping[str, object] = field(default_factory=dict, repr=False)


class WorkflowUseCases:
    """Making, listing, changing and deleting workflows."""

    def __init__(self, store: Store, quota: StorageQuota, limits: Limits, clock: Clock) -> None:
        self._store = store
        self._quota = quota
        self._limits = limits
        self._clock = clock

    @reports_violations
    async def create(self, new: NewWorkflow) -> Workflow:
        """A new workflow. A repeat with the same idempotency key gives the existing workflow.

        Raises:
            InvalidArgument: an unknown test or app; the violation names its position.
            PermissionDenied: a model that is not allowed, or the organisation has as many workflows as it may.
        """
        await self._check_models(new.run_config)
        now, caller = self._clock.now(), current()
        workflow = Workflow(
            id=new_id(),
            org_id=caller.org_id,
            name=validate_name(new.name),
            created_at=now,
            updated_at=now,
            description=new.description,
            test_ids=new.test_ids,
            tags=validate_tags(new.tags),
            build_config=new.build_config,
            run_config=_with_checked_env(new.run_config, None),
            env=validate_environment(new.env, "env"),
            max_parallel=new.max_parallel,
        )

        async def work(change: Transaction) -> Workflow:
            earlier = await change.workflows.get(workflow.id) if caller.idempotency_key else None
            if earlier is not None:
                return earlier
            await _check_tests(change, workflow.test_ids)
            await _check_apps(change, workflow.build_config)
            await change.workflows.add(workflow)
            await self._quota.add(change, Counts(workflows=1))
            return workflow

        return await self._store.change(work)

    async def list(self, search: str | None, page: Page) -> ListPage[Workflow]:
        """A page of the workflows that fit, newest first."""
        pattern = search_pattern(search) if search else None
        if search and pattern is None:
            return ListPage((), 0)
        if pattern is None:
            total = (await self._store.counters.get()).workflows
        else:
            total = await self._store.workflows.count(pattern)
        return ListPage(await self._store.workflows.page(pattern, page), total)

    async def get(self, workflow_id: str) -> Workflow:
        """The workflow.

        Raises:
            NotFound: it does not exist.
        """
        return require(await self._store.workflows.get(workflow_id), "Workflow")

    async def tests(self, workflow_id: str, page: Page) -> tuple[Workflow, ListPage[Test]]:
        """The workflow with a page of its tests, without steps, in the order in which they start.

        Raises:
            NotFound: it does not exist.
            InvalidArgument: the tests are too large together (TOO_LARGE).
        """
        workflow = await self.get(workflow_id)
        found = await self._store.tests.selected(workflow.test_ids, workflow.tags)
        ordered = order_tests(workflow, {test.id: test for test in found}, found)
        return workflow, ListPage(ordered[page.offset : page.offset + page.size], len(ordered))

    @reports_violations
    async def update(self, workflow_id: str, changes: WorkflowChanges, expected: Collection[int] = ()) -> Workflow:
        """The workflow with the changes.

        Raises:
            NotFound: it does not exist.
            InvalidArgument: as in `create`.
            PermissionDenied: as in `create`.
            Aborted: its revision is not expected.
        """
        values = _validate_changes(changes)
        await self._check_models(values.get("run_config"))
        now = self._clock.now()

        async def work(change: Transaction) -> Workflow:
            workflow = require_revision(await change.workflows.get(workflow_id), "Workflow", expected)
            changed = replace(workflow, **{**values, **_checked_envs(values, workflow)})
            if changed == workflow:
                return workflow
            if changed.test_ids != workflow.test_ids:
                await _check_tests(change, changed.test_ids)
            if changed.build_config != workflow.build_config:
                await _check_apps(change, changed.build_config)
            changed = replace(changed, revision=workflow.revision + 1, updated_at=now)
            await change.workflows.replace(changed)
            return changed

        return await self._store.change(work)

    async def _check_models(self, config: Mapping[str, Any] | None) -> None:
        named = (config or {}).get("llm_config", {})
        if named:
            check_models((await self._limits.get()).allowed_models, named.values())

    async def delete(self, workflow_id: str, expected: Collection[int] = ()) -> None:
        """Delete the workflow.

        Raises:
            NotFound: it does not exist.
            Aborted: as in `update`.
        """
        now = self._clock.now()

        async def work(change: Transaction) -> None:
            workflow = require_revision(await change.workflows.get(workflow_id), "Workflow", expected)
            await change.workflows.replace(mark_workflow_deleted(workflow, now))
            await change.counters.add(Counts(workflows=-1))

        await self._store.change(work)


def _validate_changes(changes: WorkflowChanges) -> dict[str, Any]:
    values = dict(changes)
    if "name" in values:
        values["name"] = validate_name(values["name"] or "")
    if "tags" in values:
        values["tags"] = validate_tags(tuple(values["tags"] or ()))
    if "test_ids" in values:
        values["test_ids"] = tuple(values["test_ids"] or ())
    if "build_config" in values:
        values["build_config"] = values["build_config"] or NO_BUILD_CONFIG
    return values


def _checked_envs(values: Mapping[str, Any], before: Workflow) -> dict[str, Any]:
    """The changed fields that have variables."""
    checked: dict[str, Any] = {}
    if "env" in values:
        checked["env"] = validate_environment(values["env"], "env", before.env)
    if "run_config" in values:
        checked["run_config"] = _with_checked_env(values["run_config"], before.run_config)
    return checked


def _with_checked_env(config: Mapping[str, Any] | None, before: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    if config is None or "env" not in config:
        return config
    stored = (before or {}).get("env", NO_ENVIRONMENT)
    return {**config, "env": dict(validate_environment(config["env"], "run_config.env", stored))}


async def _check_tests(records: Records, test_ids: tuple[str, ...]) -> None:
    """InvalidArgument with a violation for the position of each id that is not a live test of the organisation."""
    known = await records.tests.existing(frozenset(test_ids))
    unknown = [place for place, test_id in enumerate(test_ids) if test_id not in known]
    if unknown:
        raise invalid_argument([InvalidValue(f"test_ids[{place}]", "Test not found", "not_found") for place in unknown])


async def _check_apps(records: Records, config: BuildConfig) -> None:
    """InvalidValue when an app is unknown or of the other platform; its version need not exist yet."""
    choices = {platform: config.choice(platform) for platform in Platform}
    apps = await records.apps.many({choice.app_id for choice in choices.values() if choice})
    candidates = Candidates({app.id: app for app in apps})
    for platform, choice in choices.items():
        check_choice(choice, platform, candidates, versions=False)
