"""Plans the runs of an execution: on which app and which build each test runs. Pure functions, without storage.

The rules, in the order in which they apply to a test on a platform:

Platform: those that the request's build_config names, if it names any, else those of the workflow's build_config, else
both. A test that is for none of them has no run.

App: the one that the request's build_config names for the platform, else that of the workflow's build_config, else the
app of that platform to which the test is attached (a pinned attachment first, then the oldest).

Build, of that app: the request's build_config if it overrides; the test's pin on the app; the request's build_config;
the workflow's build_config; the app's current version if such a build exists; the newest build. A build_config that
names no version means the app's current, else newest, build. An app with a static_url (a web build) needs no build.

Errors in the request are refused; an error in stored settings gives the affected run a `config_error`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256

from mobiletest_automation.flows.positions import digest_positions
from services.catalog.model.apps import App
from services.catalog.model.attachments import Attachment
from services.catalog.model.builds import Build
from services.catalog.model.tests import Test, TestVersion, at_version
from services.catalog.model.values import InvalidValue, Platform
from services.catalog.model.workflows import NO_BUILD_CONFIG, AppChoice, BuildConfig, build_config_field


@dataclass(frozen=True, slots=True)
class Candidates:
    """The live apps and builds of the organisation that a plan may use.

    `attached` holds the attachments by test id; `builds` the builds by app id and version, with the newest of each app
    among them.
    """

    apps: Mapping[str, App] = field(default_factory=dict)
    attached: Mapping[str, Sequence[Attachment]] = field(default_factory=dict)
    builds: Mapping[tuple[str, str], Build] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BuildRequest:
    """What a start asks for: the request's build_config, whether it overrides pins, and the workflow's build_config."""

    requested: BuildConfig = NO_BUILD_CONFIG
    override: bool = False
    stored: BuildConfig = NO_BUILD_CONFIG

    @property
    def platforms(self) -> Sequence[Platform]:
        """The platforms on which tests run."""
        for config in (self.requested, self.stored):
            if named := [platform for platform in Platform if config.choice(platform)]:
                return named
        return list(Platform)


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """One test on one platform; with a `config_error` it cannot run, and the text says what to do about it."""

    test: Test
    platform: Platform | None
    app: App | None = None
    build: Build | None = None
    config_error: str | None = None


@dataclass(frozen=True, slots=True)
class TestSelection:
    """A test to start, and the version of its steps; None: the newest.

    `positions_digest` is that of the import that is meant; None: of whichever was the latest.
    """

    __test__ = False

    test_id: str
    version_number: int | None = None
    positions_digest: str | None = None

    def of(self, test: Test, version: TestVersion | None) -> Test:
        """The test as it was in the version (None: as it is), without the positions of another import."""
        selected = at_version(test, version)
        is_other = self.positions_digest not in (None, digest_positions(selected.positions))
        return replace(selected, positions="") if is_other else selected


@dataclass(frozen=True, slots=True)
class Shard:
    """The part `index`, from 1, of `count` parts of the tests."""

    index: int
    count: int

    def contains(self, test_id: str) -> bool:
        """Whether the test is in this part: it depends on nothing but its id, so other tests never move it."""
        digest = sha256(test_id.encode()).digest()
        return int.from_bytes(digest[:8], "big") % self.count == self.index - 1


class UnrunnableTest(Exception):
    """Stored settings that allow no run; the message is shown in the report."""


def plan_runs(tests: Sequence[Test], candidates: Candidates, request: BuildRequest) -> list[PlannedRun]:
    """The runs of the tests, in their order, iOS before Android; refused when the request names what is unknown."""
    for platform in Platform:
        check_choice(request.requested.choice(platform), platform, candidates)
    return [run for test in suitable_tests(tests, request) for run in _runs(test, candidates, request)]


def suitable_tests(tests: Sequence[Test], request: BuildRequest) -> list[Test]:
    """Those of the tests that are for a platform of the request."""
    return [test for test in tests if test.platform is None or test.platform in request.platforms]


def left_out_notice(tests: Sequence[Test], request: BuildRequest) -> str:
    """A sentence about the tests that are for no platform of the request; empty if there are none."""
    number = len(tests) - len(suitable_tests(tests, request))
    if not number:
        return ""
    [platform] = request.platforms
    who = "1 test is" if number == 1 else f"{number} tests are"
    other = next(each for each in Platform if each is not platform)
    return f"{who} for {other} only and left out: build_config names an app for {platform} only."


def check_choice(
    choice: AppChoice | None, platform: Platform, candidates: Candidates, *, versions: bool = True
) -> None:
    """Refuse a choice whose app is unknown or of the other platform, or (if asked) whose version is unknown."""
    if choice is None:
        return
    path = f"build_config.{build_config_field(platform)}"
    app = candidates.apps.get(choice.app_id)
    if app is None:
        raise InvalidValue(f"{path}.app_id", "App not found", "not_found")
    if app.platform is not platform:
        raise InvalidValue(f"{path}.app_id", f'the app "{app.name}" is for {app.platform}, not for {platform}')
    version = choice.pinned_version
    if versions and version is not None and (app.id, version) not in candidates.builds:
        raise InvalidValue(f"{path}.pinned_version", f'the app "{app.name}" has no build {version}', "not_found")


def _runs(test: Test, candidates: Candidates, request: BuildRequest) -> Iterator[PlannedRun]:
    if test.deleted_at is not None:
        yield PlannedRun(
            test, test.platform, config_error=f'The test "{test.name}" has been deleted; take it out of the workflow'
        )
        return
    platforms = [p for p in request.platforms if test.platform in (None, p) and _has_app(test, p, candidates, request)]
    for platform in platforms:
        yield _run(test, platform, candidates, request)
    if not platforms:
        yield PlannedRun(test, test.platform, config_error=_no_app(test))


def _has_app(test: Test, platform: Platform, candidates: Candidates, request: BuildRequest) -> bool:
    return bool(_named_app(platform, request) or _attachments(test, platform, candidates))


def _run(test: Test, platform: Platform, candidates: Candidates, request: BuildRequest) -> PlannedRun:
    app = None
    try:
        app = _app(test, platform, candidates, request)
        return PlannedRun(test, platform, app, _build(test, app, candidates, request))
    except UnrunnableTest as problem:
        return PlannedRun(test, platform, app, config_error=str(problem))


def _app(test: Test, platform: Platform, candidates: Candidates, request: BuildRequest) -> App:
    named = _named_app(platform, request)
    app = candidates.apps.get(named) if named else candidates.apps[_attachments(test, platform, candidates)[0].app_id]
    if app is None or app.platform is not platform:
        path = f"build_config.{build_config_field(platform)}"
        raise UnrunnableTest(f"The workflow's {path} names no {platform} app that exists ({named}); name one that does")
    return app


def _named_app(platform: Platform, request: BuildRequest) -> str | None:
    choice = request.requested.choice(platform) or request.stored.choice(platform)
    return choice.app_id if choice else None


def _attachments(test: Test, platform: Platform, candidates: Candidates) -> list[Attachment]:
    fitting = [
        a
        for a in candidates.attached.get(test.id, ())
        if a.app_id in candidates.apps and candidates.apps[a.app_id].platform is platform
    ]
    return sorted(fitting, key=lambda a: (a.pinned_version is None, a.created_at, a.app_id))


def _build(test: Test, app: App, candidates: Candidates, request: BuildRequest) -> Build | None:
    requested, stored = request.requested.choice(app.platform), request.stored.choice(app.platform)
    pin = next((a.pinned_version for a in candidates.attached.get(test.id, ()) if a.app_id == app.id), None)
    if requested and (request.override or pin is None):
        return _requested_build(requested, app, candidates)
    if pin is not None:
        return _stored_build(app, pin, candidates, f'The test "{test.name}" is pinned to')
    if stored and stored.pinned_version:
        return _stored_build(
            app,
            stored.pinned_version,
            candidates,
            f"The workflow's build_config.{build_config_field(app.platform)} names",
        )
    return _default_build(app, candidates)


def _requested_build(choice: AppChoice, app: App, candidates: Candidates) -> Build | None:
    if choice.pinned_version is None:
        return _default_build(app, candidates)
    return candidates.builds[app.id, choice.pinned_version]  # checked before the first run was planned


def _stored_build(app: App, version: str, candidates: Candidates, who: str) -> Build:
    if (app.id, version) not in candidates.builds:
        raise UnrunnableTest(
            f'{who} version {version} of the app "{app.name}", which has no such build; upload it or name another'
        )
    return candidates.builds[app.id, version]


def _default_build(app: App, candidates: Candidates) -> Build | None:
    for version in (app.current_version, app.latest_version):
        if version is not None and (app.id, version) in candidates.builds:
            return candidates.builds[app.id, version]
    if app.static_url:
        return None
    raise UnrunnableTest(f'The app "{app.name}" has no build; upload one')


def _no_app(test: Test) -> str:
    if test.platform is None:
        return f'The test "{test.name}" is attached to no app; attach it to one, or name one in build_config'
    path = f"build_config.{build_config_field(test.platform)}"
    return f'The test "{test.name}" is attached to no {test.platform} app; attach it to one, or name one in {path}'
