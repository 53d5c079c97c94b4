"""Which app and which build a run gets: every rule of the design, and every precedence between them."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.catalog.model.apps import App
from services.catalog.model.attachments import Attachment
from services.catalog.model.builds import Build
from services.catalog.model.resolution import (
    BuildRequest,
    Candidates,
    PlannedRun,
    left_out_notice,
    plan_runs,
    suitable_tests,
)
from services.catalog.model.tests import Test
from services.catalog.model.values import InvalidValue, Platform
from services.catalog.model.workflows import AppChoice, BuildConfig
from tests.fakes.catalog_samples import a_test, app, at, attachment, build

IOS, ANDROID = Platform.IOS, Platform.ANDROID


def stock(apps: Sequence[App], attached: Sequence[Attachment] = (), builds: Sequence[Build] = ()) -> Candidates:
    """What is stored; each app's latest version is its last build here."""
    by_test: dict[str, list[Attachment]] = {}
    for item in attached:
        by_test.setdefault(item.test_id, []).append(item)
    return Candidates({a.id: a for a in apps}, by_test, {(b.app_id, b.version): b for b in builds})


def android(app_id: str, version: str | None = None) -> BuildConfig:
    return BuildConfig(android_build=AppChoice(app_id, version))


VERSIONS = ("pin", "asked", "stored", "current", "newest")


@dataclass(frozen=True)
class Case:
    """A test attached to one app that has every build of VERSIONS, and what of it is named where."""

    name: str
    expected: str
    pin: str | None = None
    requested: BuildConfig = field(default_factory=BuildConfig)
    override: bool = False
    stored: BuildConfig = field(default_factory=BuildConfig)
    current: str | None = "current"


ASKED, STORED, OPEN = android("app", "asked"), android("app", "stored"), android("app")
BUILD_CASES = [
    Case("override beats the pin", "asked", pin="pin", requested=ASKED, override=True, stored=STORED),
    Case("the pin beats the request", "pin", pin="pin", requested=ASKED, stored=STORED),
    Case("the pin beats the workflow", "pin", pin="pin", stored=STORED),
    Case("the pin beats the current version", "pin", pin="pin"),
    Case("the request beats the workflow", "asked", requested=ASKED, stored=STORED),
    Case("the workflow beats the current version", "stored", stored=STORED),
    Case("the current version beats the newest build", "current"),
    Case("the newest build is the last resort", "newest", current=None),
    Case("a current version that is yet to come does not count", "newest", current="unborn"),
    Case("override without a request changes nothing", "pin", pin="pin", override=True),
    Case("override does not promote the workflow", "pin", pin="pin", override=True, stored=STORED),
    Case("a request without version means current", "current", requested=OPEN, stored=STORED),
    Case("a request without version means newest without current", "newest", requested=OPEN, current=None),
    Case("a request without version overrides the pin", "current", pin="pin", requested=OPEN, override=True),
    Case("a request without version does not beat the pin", "pin", pin="pin", requested=OPEN),
    Case("a workflow without version means current", "current", stored=OPEN),
]


@pytest.mark.parametrize("case", BUILD_CASES, ids=lambda c: c.name)
def test_which_build(case: Case) -> None:
    apps = [app(current_version=case.current, latest_version="newest"), app("ios", IOS, latest_version="1")]
    builds = [*(build(v) for v in VERSIONS), build("1", "ios")]
    attached = [attachment(pin=case.pin)]
    wish = BuildRequest(case.requested, case.override, case.stored)
    runs = plan_runs([a_test(platform=ANDROID)], stock(apps, attached, builds), wish)
    assert [(r.build and r.build.version, r.config_error) for r in runs] == [(case.expected, None)]


APPS = [
    app("old", ANDROID, latest_version="1"),
    app("new", ANDROID, latest_version="1"),
    app("asked", ANDROID, latest_version="1"),
]
APP_CASES = [
    ("the request names the app", [attachment("old")], android("asked"), android("new"), "asked"),
    ("the workflow names the app", [attachment("old")], BuildConfig(), android("new"), "new"),
    (
        "the oldest attachment",
        [attachment("new", minutes=2), attachment("old", minutes=1)],
        BuildConfig(),
        BuildConfig(),
        "old",
    ),
    (
        "a pinned attachment first",
        [attachment("old", minutes=1), attachment("new", pin="1", minutes=2)],
        BuildConfig(),
        BuildConfig(),
        "new",
    ),
    (
        "the oldest of two pinned",
        [attachment("new", pin="1", minutes=2), attachment("old", pin="1", minutes=1)],
        BuildConfig(),
        BuildConfig(),
        "old",
    ),
    ("ids break ties", [attachment("old"), attachment("new")], BuildConfig(), BuildConfig(), "new"),
    ("an app without attachment can be named", [], android("asked"), BuildConfig(), "asked"),
    ("a named app beats a pinned attachment", [attachment("old", pin="1")], BuildConfig(), android("new"), "new"),
    (
        "a deleted app's attachment does not count",
        [attachment("gone"), attachment("old", minutes=9)],
        BuildConfig(),
        BuildConfig(),
        "old",
    ),
]


@pytest.mark.parametrize(
    ("attached", "requested", "stored", "expected"), [c[1:] for c in APP_CASES], ids=[c[0] for c in APP_CASES]
)
def test_which_app(attached: list[Attachment], requested: BuildConfig, stored: BuildConfig, expected: str) -> None:
    builds = [build("1", a.id) for a in APPS]
    runs = plan_runs([a_test(platform=ANDROID)], stock(APPS, attached, builds), BuildRequest(requested, stored=stored))
    assert [r.app and r.app.id for r in runs] == [expected]
    assert runs[0].build == build("1", expected)


def test_the_pin_of_another_app_does_not_bind_the_named_app() -> None:
    apps = [app("a", latest_version="1"), app("b", latest_version="2")]
    kept = stock(apps, [attachment("a", pin="1")], [build("1", "a"), build("2", "b")])
    [run] = plan_runs([a_test()], kept, BuildRequest(requested=android("b")))
    assert run.build == build("2", "b")


BOTH = [app("ios", IOS, latest_version="1"), app("android", ANDROID, latest_version="1")]
BOTH_BUILDS = [build("1", "ios"), build("1", "android")]
PLATFORM_CASES: list[tuple[Platform | None, list[Attachment], BuildConfig, list[Platform]]] = [
    (None, [attachment("android"), attachment("ios")], BuildConfig(), [IOS, ANDROID]),
    (None, [attachment("android")], BuildConfig(), [ANDROID]),
    (None, [attachment("android"), attachment("ios")], BuildConfig(ios_build=AppChoice("ios")), [IOS]),
    (None, [attachment("android")], BuildConfig(ios_build=AppChoice("ios")), [IOS]),
    (ANDROID, [attachment("android")], BuildConfig(ios_build=AppChoice("ios")), []),
    (None, [], BuildConfig(AppChoice("ios"), AppChoice("android")), [IOS, ANDROID]),
    (None, [], BuildConfig(ios_build=AppChoice("ios")), [IOS]),
    (IOS, [attachment("android"), attachment("ios")], BuildConfig(), [IOS]),
    (ANDROID, [], BuildConfig(AppChoice("ios"), AppChoice("android")), [ANDROID]),
]


@pytest.mark.parametrize(("platform", "attached", "requested", "expected"), PLATFORM_CASES)
def test_which_platforms(
    platform: Platform | None, attached: list[Attachment], requested: BuildConfig, expected: list[Platform]
) -> None:
    """A test without a platform runs on each platform that it finds an app for, iOS first, but on no platform that a
    build_config with an app leaves out, whether the request or the workflow has it.
    """
    for request in (BuildRequest(requested), BuildRequest(stored=requested)):
        runs = plan_runs([a_test(platform=platform)], stock(BOTH, attached, BOTH_BUILDS), request)
        assert [r.platform for r in runs] == expected
        assert [r.app and r.app.platform for r in runs] == expected


def test_the_platforms_of_the_request_replace_those_of_the_workflow() -> None:
    request = BuildRequest(android("android"), stored=BuildConfig(ios_build=AppChoice("ios")))
    [run] = plan_runs([a_test()], stock(BOTH, [attachment("ios")], BOTH_BUILDS), request)
    assert run.platform is ANDROID


def test_tests_that_a_build_config_leaves_out_are_counted() -> None:
    tests = [a_test("a", IOS), a_test("b"), a_test("c", IOS), a_test("d", ANDROID)]
    assert left_out_notice(tests, BuildRequest(android("android"))) == (
        "2 tests are for iOS only and left out: build_config names an app for Android only."
    )
    assert left_out_notice(tests, BuildRequest()) == ""


def only(runs: list[PlannedRun]) -> PlannedRun:
    [run] = runs
    return run


def test_a_test_without_any_app_says_what_to_attach() -> None:
    run = only(plan_runs([a_test()], stock(BOTH), BuildRequest()))
    assert (run.platform, run.app, run.build) == (None, None, None)
    assert run.config_error == 'The test "test" is attached to no app; attach it to one, or name one in build_config'


def test_a_test_without_an_app_of_its_platform_says_which_to_attach() -> None:
    run = only(plan_runs([a_test(platform=IOS)], stock(BOTH, [attachment("android")], BOTH_BUILDS), BuildRequest()))
    assert run.platform is IOS
    assert (
        run.config_error
        == 'The test "test" is attached to no iOS app; attach it to one, or name one in build_config.ios_build'
    )


def test_a_pin_without_a_build_stops_its_own_run_only() -> None:
    kept = stock([app(latest_version="1")], [attachment(pin="9"), attachment(test_id="fine")], [build("1")])
    broken, fine = plan_runs([a_test(), a_test("fine")], kept, BuildRequest())
    assert broken.config_error is not None
    assert "pinned to version 9" in broken.config_error
    assert (broken.app, broken.build) == (app(latest_version="1"), None)
    assert (fine.config_error, fine.build) == (None, build("1"))


@pytest.mark.parametrize("stored", [android("gone"), android("app", "9"), android("ios")])
def test_a_stale_build_config_of_the_workflow_stops_the_run(stored: BuildConfig) -> None:
    """An app or a version that is gone since it was stored is a config_error, not a refusal."""
    kept = stock([app(latest_version="1"), app("ios", IOS)], [attachment()], [build("1")])
    run = only(plan_runs([a_test(platform=ANDROID)], kept, BuildRequest(stored=stored)))
    assert run.config_error is not None
    assert "workflow's build_config.android_build" in run.config_error


def test_an_app_without_builds_says_to_upload_one() -> None:
    run = only(plan_runs([a_test()], stock([app()], [attachment()]), BuildRequest()))
    assert run.config_error == 'The app "app" has no build; upload one'


def test_a_web_app_needs_no_build() -> None:
    run = only(plan_runs([a_test()], stock([app(static_url="https://example.test")], [attachment()]), BuildRequest()))
    assert (run.config_error, run.build) == (None, None)


def test_a_deleted_test_of_a_workflow_cannot_run() -> None:
    """It is named, so that it can be taken out of the workflow."""
    run = only(
        plan_runs(
            [a_test(deleted_at=at(1))], stock([app(latest_version="1")], [attachment()], [build("1")]), BuildRequest()
        )
    )
    assert run.config_error == 'The test "test" has been deleted; take it out of the workflow'


REFUSALS = [
    (BuildConfig(ios_build=AppChoice("gone")), "build_config.ios_build.app_id"),
    (android("gone", "1"), "build_config.android_build.app_id"),
    (android("ios"), "build_config.android_build.app_id"),
    (android("android", "9"), "build_config.android_build.pinned_version"),
]


@pytest.mark.parametrize(("requested", "field_path"), REFUSALS)
def test_the_request_must_name_what_exists(requested: BuildConfig, field_path: str) -> None:
    with pytest.raises(InvalidValue) as refusal:
        plan_runs([a_test()], stock(BOTH, [attachment("android")], BOTH_BUILDS), BuildRequest(requested))
    assert refusal.value.field == field_path


def test_an_unknown_app_is_refused_even_when_no_run_would_use_it() -> None:
    """A typo for the other platform is not passed over in silence."""
    with pytest.raises(InvalidValue):
        plan_runs([a_test(platform=IOS)], stock(BOTH, [attachment("ios")], BOTH_BUILDS), BuildRequest(android("gone")))


def test_runs_keep_the_order_of_the_tests() -> None:
    kept = stock(BOTH, [attachment("ios", t) for t in "abc"] + [attachment("android", t) for t in "abc"], BOTH_BUILDS)
    runs = plan_runs([a_test("b"), a_test("a", ANDROID), a_test("c")], kept, BuildRequest())
    assert [(r.test.id, r.platform) for r in runs] == [
        ("b", IOS),
        ("b", ANDROID),
        ("a", ANDROID),
        ("c", IOS),
        ("c", ANDROID),
    ]


CHOICES = st.builds(AppChoice, st.sampled_from(["ios", "android"]), st.sampled_from([None, "1"]))
CONFIGS = st.builds(BuildConfig, st.none() | CHOICES, st.none() | CHOICES)
TESTS: st.SearchStrategy[list[Test]] = st.lists(
    st.builds(a_test, st.sampled_from("abc"), st.sampled_from([None, IOS, ANDROID])),
    max_size=4,
    unique_by=lambda t: t.id,
)
ATTACHED = st.lists(
    st.builds(
        attachment,
        st.sampled_from(["ios", "android", "gone"]),
        st.sampled_from("abc"),
        st.sampled_from([None, "1", "9"]),
    )
)


@given(TESTS, ATTACHED, CONFIGS, st.booleans(), CONFIGS)
def test_every_test_gets_a_run_that_can_start_or_says_why_not(
    tests: list[Test], attached: list[Attachment], requested: BuildConfig, override: bool, stored: BuildConfig
) -> None:
    """Whatever is stored and asked for: a refusal, or for each test runs on fitting apps and builds."""
    try:
        runs = plan_runs(tests, stock(BOTH, attached, BOTH_BUILDS), BuildRequest(requested, override, stored))
    except InvalidValue:
        return
    request = BuildRequest(requested, override, stored)
    assert {r.test.id for r in runs} == {t.id for t in suitable_tests(tests, request)}
    for run in runs:
        assert run.platform is None or run.platform in request.platforms
        assert (run.build is None) == (run.config_error is not None)
        if run.app and run.build:
            assert run.platform is run.app.platform
            assert run.build.app_id == run.app.id
            assert run.test.platform in (None, run.platform)
