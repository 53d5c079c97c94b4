"""Workflows: an ordered selection of tests, with the builds and settings they run with."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from mobiletest_automation.flows.environment import Environment
from services.catalog.model.tests import Test
from services.catalog.model.values import Json, Platform


@dataclass(frozen=True, slots=True)
class AppChoice:
    """The app, and perhaps the version of it, that a build configuration names for one platform."""

    app_id: str
    pinned_version: str | None = None


@dataclass(frozen=True, slots=True)
class BuildConfig:
    """Which app and version to run on, per platform; None leaves the platform to the tests."""

    ios_build: AppChoice | None = None
    android_build: AppChoice | None = None

    def choice(self, platform: Platform) -> AppChoice | None:
        """The choice for the platform."""
        return self.ios_build if platform is Platform.IOS else self.android_build


NO_BUILD_CONFIG = BuildConfig()


def build_config_field(platform: Platform) -> str:
    """The name of the platform's field in a build configuration."""
    return "ios_build" if platform is Platform.IOS else "android_build"


def rename_version(config: BuildConfig, *, app_id: str, old: str, new: str) -> BuildConfig:
    """The configuration after a build of the app was renamed from `old` to `new`."""
    return BuildConfig(
        ios_build=_rename_choice(config.ios_build, app_id, old, new),
        android_build=_rename_choice(config.android_build, app_id, old, new),
    )


def _rename_choice(choice: AppChoice | None, app_id: str, old: str, new: str) -> AppChoice | None:
    if choice is None or choice.app_id != app_id or choice.pinned_version != old:
        return choice
    return AppChoice(app_id=app_id, pinned_version=new)


@dataclass(frozen=True, slots=True)
class Workflow:
    """A named selection of tests: those listed, in order, then those that have one of the tags.

    `run_config` is the message of the protos in its JSON form, stored as received; None means the defaults.
    """

    id: str
    org_id: str
    name: str
    created_at: datetime
    updated_at: datetime
    description: str | None = None
    test_ids: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    build_config: BuildConfig = field(default=NO_BUILD_CONFIG)
    run_config: Mapping[str, Json] | None = None
    env: Environment = field(default_factory=dict, repr=False)
    max_parallel: int | None = None
    revision: int = 1
    deleted_at: datetime | None = None


def order_tests(workflow: Workflow, listed: Mapping[str, Test], tagged: Iterable[Test]) -> list[Test]:
    """The tests of the workflow as they start: of `listed`, by id, those it lists, then those of `tagged` that have any
    of its tags, each once.
    """
    tags, ids = set(workflow.tags), set(workflow.test_ids)
    further = [test for test in tagged if test.id not in ids and not tags.isdisjoint(test.tags)]
    return [*(listed[id_] for id_ in workflow.test_ids if id_ in listed), *further]


def mark_workflow_deleted(workflow: Workflow, at: datetime) -> Workflow:
    """The workflow as it is stored after its deletion: its id and name."""
    gone = replace(
        workflow, description=None, test_ids=(), tags=(), build_config=NO_BUILD_CONFIG, run_config=None, env={}
    )
    return replace(gone, deleted_at=at, revision=workflow.revision + 1)
