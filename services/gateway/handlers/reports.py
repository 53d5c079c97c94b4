"""Reports, comparisons and gates: reporting answers, after the service that owns the resource has found it.

The catalog and the executor know about changes at once, reporting is eventually consistent. So the owner decides about
404, and reporting waits for the owner's state: the revision of the app, or the number of runs that have ended. A gate
that is requested right after the end covers the whole execution, never a part of it. Lists of tests by classification
are selected, sorted and counted by reporting; the catalog has the tests.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from mobiletest.catalog.v1 import apps_pb2, tests_pb2
from mobiletest.executor.v1 import executions_pb2, screens_pb2
from mobiletest.reporting.v1 import reports_pb2

from services.chassis.errors import FailedPrecondition, InvalidArgument, NotFound, Violation
from services.chassis.method_options import apply_defaults
from services.chassis.proto_values import enum_spellings, page_fields
from services.gateway.handlers.invocations import Invocation, read_resource
from services.gateway.http.request_context import RequestContext
from services.gateway.upstream.app_stats import set_stats
from services.gateway.upstream.rpcs import BatchReader

# Of an execution that checks a proposal.
NO_RESULT = "The execution checks a proposal: it is no result of the test, so it has no gate"
# Whose health is compared, and of how many the catalog is asked at once.
MOST_APPS, APPS_AT_ONCE = 2_000, 500
_COPIED_FIELDS = ("search", "app_id", "platform", "tag")
_CLASSIFICATIONS = {text: value for value, text in enum_spellings(reports_pb2.Classification.DESCRIPTOR).items()}


def app_report(apps: BatchReader, report: Invocation) -> Invocation:
    """A report with `app_id` and `min_app_revision` in its request."""

    async def invoke(message: Any, context: RequestContext, timeout: float) -> Any:
        app = await read_resource(apps, message.app_id, context, timeout)
        message.min_app_revision = app.revision
        return await report(message, context, timeout)

    return invoke


def report_on_apps(apps: BatchReader, report: Invocation) -> Invocation:
    """A report on all apps, or on the one that `app_id` in its request names."""

    async def invoke(message: Any, context: RequestContext, timeout: float) -> Any:
        if message.HasField("app_id"):
            await read_resource(apps, message.app_id, context, timeout)
        return await report(message, context, timeout)

    return invoke


def app_workspace(apps: BatchReader, report: Invocation) -> Invocation:
    """The workspace: as `app_report`, with the catalog's fields filled in."""

    async def invoke(message: Any, context: RequestContext, timeout: float) -> reports_pb2.AppWorkspace:
        app = await read_resource(apps, message.app_id, context, timeout)
        message.min_app_revision = app.revision
        workspace: reports_pb2.AppWorkspace = await report(message, context, timeout)
        add_catalog_fields(workspace, app)
        return workspace

    return invoke


def app_health(list_apps: Invocation, list_health: Invocation) -> Invocation:
    """ListAppHealth: reporting sorts the apps that the catalog selects, at most MOST_APPS."""

    async def invoke(
        message: reports_pb2.ListAppHealthRequest, context: RequestContext, timeout: float
    ) -> reports_pb2.ListAppHealthResponse:
        apps, total = dict[str, apps_pb2.App](), 1
        for page in range(1, MOST_APPS // APPS_AT_ONCE + 1):
            if len(apps) < total:
                request = apps_pb2.ListAppsRequest(page=page, page_size=APPS_AT_ONCE)
                for name in ("platform", "search"):
                    if message.HasField(name):
                        setattr(request, name, getattr(message, name))
                listed: apps_pb2.ListAppsResponse = await list_apps(request, context, timeout)
                apps, total = {**apps, **{app.id: app for app in listed.items}}, listed.total
        message.app_ids[:] = sorted(apps, key=lambda app_id: (apps[app_id].name.casefold(), app_id))
        health: reports_pb2.ListAppHealthResponse = await list_health(message, context, timeout)
        _add_apps(health, apps)
        health.left_out = max(0, total - len(apps))
        return health

    return invoke


def _add_apps(health: reports_pb2.ListAppHealthResponse, apps: Mapping[str, apps_pb2.App]) -> None:
    """Set the fields that reports.proto marks with "catalog"."""
    named = Counter((app.name, app.platform) for app in apps.values())
    for item in health.items:
        app = apps[item.app_id]
        item.name, item.platform, item.versions_count = app.name, app.platform, app.versions_count
        item.attached_tests, item.shares_name = app.attached_tests, named[app.name, app.platform] > 1


def run_history(owners: BatchReader, id_field: str, report: Invocation) -> Invocation:
    """The runs of a build or a test; the history of a deleted one stays readable, also if none of it matches."""

    async def _has_runs(message: Any, context: RequestContext, timeout: float) -> bool:
        if not message.HasField("result"):
            return False
        message.ClearField("result")
        return bool((await report(message, context, timeout)).total)

    async def invoke(message: Any, context: RequestContext, timeout: float) -> Any:
        try:
            await read_resource(owners, getattr(message, id_field), context, timeout)
        except NotFound:
            history = await report(message, context, timeout)
            if history.total or await _has_runs(message, context, timeout):
                return history
            raise
        return await report(message, context, timeout)

    return invoke


def build_report(builds: BatchReader, apps: BatchReader, report: Invocation) -> Invocation:
    """A report with `version_id` and `min_app_revision` in its request."""

    async def invoke(message: Any, context: RequestContext, timeout: float) -> Any:
        build = await read_resource(builds, message.version_id, context, timeout)
        app = await read_resource(apps, build.app_id, context, timeout)
        message.min_app_revision = app.revision
        return await report(message, context, timeout)

    return invoke


def build_comparison(builds: BatchReader, apps: BatchReader, report: Invocation) -> Invocation:
    """As `build_report`, with another build as `base` in its request."""
    compare = build_report(builds, apps, report)

    async def invoke(message: Any, context: RequestContext, timeout: float) -> Any:
        if message.HasField("base"):
            await read_resource(builds, message.base, context, timeout)
        return await compare(message, context, timeout)

    return invoke


def app_screens(apps: BatchReader, builds: BatchReader, list_screens: Invocation) -> Invocation:
    """The screens of an app, or of a `build` of it."""

    async def invoke(message: Any, context: RequestContext, timeout: float) -> Any:
        app = await read_resource(apps, message.app_id, context, timeout)
        if message.HasField("build"):
            build = await read_resource(builds, message.build, context, timeout)
            _check_app(build, app.id, "build")
        return await list_screens(message, context, timeout)

    return invoke


def screen_comparison(builds: BatchReader, apps: BatchReader, compare: Invocation, find_base: Invocation) -> Invocation:
    """The screens of two builds of an app; without a `base`, that of the comparison of tests."""

    async def invoke(message: screens_pb2.CompareScreensRequest, context: RequestContext, timeout: float) -> Any:
        build = await read_resource(builds, message.version_id, context, timeout)
        if message.HasField("base"):
            base = await read_resource(builds, message.base, context, timeout)
            _check_app(base, build.app_id, "base")
        else:
            app = await read_resource(apps, build.app_id, context, timeout)
            wanted = reports_pb2.FindBaseBuildRequest(version_id=message.version_id, min_app_revision=app.revision)
            if message.HasField("base_branch"):
                wanted.base_branch = message.base_branch
            message.base = (await find_base(wanted, context, timeout)).build_id
        return await compare(message, context, timeout)

    return invoke


def _check_app(build: Any, app_id: str, field: str) -> None:
    if build.app_id != app_id:
        message = f"The {field} is a build of another app"
        raise InvalidArgument(message, violations=[Violation(field, message, "other_app")])


def execution_gate(executions: BatchReader, gate: Invocation) -> Invocation:
    """A gate with `execution_id`, `min_ended_runs`, `total_runs` and the `base_branch` of the start in its request."""

    async def invoke(message: Any, context: RequestContext, timeout: float) -> Any:
        execution = await read_resource(executions, message.execution_id, context, timeout)
        if execution.verifies:
            raise FailedPrecondition(NO_RESULT, reason="NO_RESULT")
        message.min_ended_runs, message.total_runs = count_ended_runs(execution.counts), execution.counts.total
        if not message.HasField("base_branch") and execution.ci.base_branch:
            message.base_branch = execution.ci.base_branch
        return await gate(message, context, timeout)

    return invoke


def count_ended_runs(counts: executions_pb2.RunCounts) -> int:
    """How many runs have ended, with or without a verdict."""
    return counts.passed + counts.failed + counts.cancelled + counts.infra_failed


def add_catalog_fields(workspace: reports_pb2.AppWorkspace, app: apps_pb2.App) -> None:
    """Set the fields that reports.proto marks with "catalog", and reporting's in the app."""
    workspace.app.CopyFrom(app)
    set_stats(workspace.app, workspace)
    workspace.attached_tests, workspace.pinned_tests = app.attached_tests, app.pinned_tests
    if app.HasField("current_build_id"):
        workspace.current_build_id, workspace.current_build_version = app.current_build_id, app.current_version
    if app.HasField("latest_build_id"):
        workspace.latest_build_id, workspace.latest_build_version = app.latest_build_id, app.latest_version


def list_tests_by_classification(list_tests: Invocation, list_classified: Invocation) -> Invocation:
    """ListTests: with a classification a page of reporting's list, else the catalog's response."""

    async def invoke(message: tests_pb2.ListTestsRequest, context: RequestContext, timeout: float) -> Any:
        if not message.HasField("classification"):
            return await list_tests(message, context, timeout)
        apply_defaults(message)
        classified = await list_classified(_classified_request(message), context, timeout)
        these = tests_pb2.ListTestsRequest(
            test_ids=classified.test_ids, page_size=message.page_size, include_steps=message.include_steps
        )
        tests = (
            {test.id: test for test in (await list_tests(these, context, timeout)).items} if classified.test_ids else {}
        )
        items = [tests[test_id] for test_id in classified.test_ids if test_id in tests]
        return tests_pb2.ListTestsResponse(items=items, **page_fields(message, classified.total))

    return invoke


def _classified_request(message: tests_pb2.ListTestsRequest) -> reports_pb2.ListClassifiedTestsRequest:
    """The same request for reporting; the decoder has checked the classification."""
    request = reports_pb2.ListClassifiedTestsRequest(
        page=message.page, page_size=message.page_size, quarantined=message.quarantined
    )
    request.classification = _CLASSIFICATIONS[message.classification]  # type: ignore[assignment]
    for name in _COPIED_FIELDS:
        if message.HasField(name):
            setattr(request, name, getattr(message, name))
    return request
