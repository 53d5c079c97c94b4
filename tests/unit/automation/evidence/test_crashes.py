"""Crashes in the formats of the platforms' documentation: source.android.com/docs/core/tests/debug,
developer.android.com/topic/performance/vitals/anr, developer.apple.com/documentation/xcode/crash-report-fields.
"""

import json

import pytest

from mobiletest_automation.evidence.crashes import (
    LINE_SEARCHED,
    AppCrash,
    find_crash,
    find_page_exception,
    find_reported_crash,
)
from mobiletest_automation.model.failures import Category
from services.reporting.model.fingerprint import normalise

SHOP = "com.example.shop"


def logcat(tag: str, *lines: str, pid: int = 4321, level: str = "E", time: str = "10:12:13.456") -> list[str]:
    """Lines as Appium returns them, with the time of the hub before those of the device."""
    hub = "2026-11-29T10:12:13.456000+00:00 ALL"
    return [f"{hub} 11-29 {time} {pid:5} {pid + 9:5} {level} {tag:8}: {line}" for line in lines]


def fatal(process: str = SHOP, *, pid: int = 4321, time: str = "10:12:13.456", cart: str = "4f3a2b1") -> list[str]:
    return logcat(
        "AndroidRuntime",
        "FATAL EXCEPTION: main",
        f"Process: {process}, PID: {pid}",
        f"java.lang.RuntimeException: Unable to start activity ComponentInfo{{{SHOP}/{SHOP}.CartActivity}}: java.lang."
        f"IllegalStateException: no total in Cart@{cart} of order 20417",
        "\tat android.app.ActivityThread.performLaunchActivity(ActivityThread.java:3782)",
        f"\tat {SHOP}.BaseActivity.start(BaseActivity.kt:9)",
        "\tat android.os.Handler.dispatchMessage(Handler.java:106)",
        "\tSuppressed: java.io.IOException: closed",
        f"\t\tat {SHOP}.Http.close(Http.kt:1)",
        f"Caused by: java.lang.IllegalStateException: no total in Cart@{cart} of order 20417",
        "\tat java.util.Objects.requireNonNull(Objects.java:228)",
        f"\tat {SHOP}.CartActivity.onCreate(CartActivity.kt:42)",
        "\t... 11 more",
        pid=pid,
        time=time,
    )


def tombstone(process: str = SHOP, *, address: str = "0x10") -> list[str]:
    library = "/data/app/~~Zx==/com.example.shop-Qw==/lib/arm64/libshop.so"
    return logcat(
        "DEBUG",
        "*** *** *** *** *** *** *** *** *** *** *** *** *** *** *** ***",
        "Build fingerprint: 'google/oriole/oriole:14/UQ1A/1:user/release-keys'",
        "ABI: 'arm64'",
        f"Cmdline: {process}",
        f"pid: 4321, tid: 4330, name: Thread-2  >>> {process} <<<",
        f"signal 11 (SIGSEGV), code 1 (SEGV_MAPERR), fault addr {address}",
        "Cause: null pointer dereference",
        "    x0  0000000000000010  x1  0000007a1b2c3d4e",
        "5 total frames",
        "backtrace:",
        "      #00 pc 000000000004b2c8  /apex/com.android.runtime/lib64/bionic/libc.so (memcpy+24) (BuildId: 4f3a)",
        f"      #01 pc 000000000001a2b4  {library} (shop::pay(Cart*)+96) (BuildId: 9c1d)",
        pid=5000,
        level="F",
    )


def not_responding(process: str = SHOP) -> list[str]:
    return logcat(
        "ActivityManager",
        f"ANR in {process} ({process}/.CartActivity)",
        "PID: 4321",
        f"Reason: Input dispatching timed out ({process}/{process}.CartActivity, 4f3a2b1 is not responding. "
        "Waited 5001ms for MotionEvent)",
        "Load: 1.2 / 0.8 / 0.4",
        "CPU usage from 0ms to 6020ms later (2026-11-29 10:12:13.456 to 2026-11-29 10:12:19.476):",
        pid=1500,
    )


def joined(*blocks: list[str]) -> str:
    return "\n".join(line for block in blocks for line in block)


CHATTER = logcat("Choreographer", "Skipped 31 frames!", "AndroidRuntime is a nice word", pid=4321, level="I")


def test_an_exception_on_android_is_the_cause_and_the_topmost_frame_of_the_app() -> None:
    crash = find_crash(joined(CHATTER, fatal(), CHATTER), SHOP, "android")
    assert str(crash) == (
        "java.lang.IllegalStateException: no total in Cart@4f3a2b1 of order 20417, in "
        "com.example.shop.CartActivity.onCreate (CartActivity.kt:42)"
    )
    assert crash is not None
    assert crash.category is Category.APP_CRASH


def test_lines_of_other_processes_may_stand_between() -> None:
    other = fatal("com.example.clock", pid=99)
    mixed = [line for pair in zip(fatal(), other, strict=True) for line in pair]
    assert find_crash("\n".join(mixed), SHOP, "android") == find_crash(joined(fatal()), SHOP, "android")


def test_equal_exceptions_have_equal_reasons_whatever_differs_from_run_to_run() -> None:
    another = joined(fatal(pid=777, time="11:00:00.001", cart="91fe0c3")).replace("20417", "31")
    later = find_crash(another, SHOP, "android")
    crash = find_crash(joined(fatal()), SHOP, "android")
    assert crash is not None
    assert later is not None
    assert str(crash) != str(later)
    assert crash.reason == later.reason
    assert normalise(crash.reason) == (
        "java.lang.IllegalStateException in com.example.shop.CartActivity.onCreate: no total in Cart@... of order ..."
    )


def test_an_exception_whose_frames_are_of_the_platform_and_a_library_names_the_library() -> None:
    log = joined(fatal()).replace("at com.example.shop.", "at org.library.")
    crash = find_crash(log, SHOP, "android")
    assert crash is not None
    assert crash.frame == "org.library.CartActivity.onCreate"


def test_a_native_crash_is_the_signal_and_the_function_of_the_app() -> None:
    crash = find_crash(joined(CHATTER, tombstone()), SHOP, "android")
    assert str(crash) == "SIGSEGV (SEGV_MAPERR): null pointer dereference, in shop::pay(Cart*) of libshop.so"
    assert crash is not None
    assert crash == find_crash(joined(tombstone(address="0x7f00aa10")), SHOP, "android")
    assert normalise(crash.reason).startswith("SIGSEGV (SEGV_MAPERR) in shop::pay(Cart*) of libshop.so: null")


def test_a_library_inside_the_apk_and_the_message_of_an_abort_are_read() -> None:
    log = joined(tombstone()).replace("lib/arm64/libshop.so", "base.apk!libshop.so (offset 0x1000)")
    crash = find_crash(log.replace("Cause: null pointer", "Abort message: 'null pointer"), SHOP, "android")
    assert str(crash) == "SIGSEGV (SEGV_MAPERR): null pointer dereference, in shop::pay(Cart*) of libshop.so"


def test_an_app_that_does_not_respond_has_the_reason_of_the_system() -> None:
    crash = find_crash(joined(not_responding()), SHOP, "android")
    assert str(crash) == "ANR: Input dispatching timed out (in com.example.shop/.CartActivity)"
    assert crash is not None
    assert crash.category is Category.APP_NOT_RESPONDING


def test_a_crash_comes_before_a_time_without_response() -> None:
    crash = find_crash(joined(not_responding(), fatal()), SHOP, "android")
    assert crash is not None
    assert crash.category is Category.APP_CRASH


@pytest.mark.parametrize("process", ["com.example.shopping", "com.example", "io.appium.uiautomator2.server"])
def test_crashes_of_other_apps_do_not_count(process: str) -> None:
    others = joined(fatal(process), tombstone(process), not_responding(process))
    assert find_crash(others, SHOP, "android") is None
    assert find_crash(joined(fatal(SHOP), tombstone(process)), "", "android") is None


def test_a_process_of_the_app_counts() -> None:
    assert find_crash(joined(fatal(f"{SHOP}:sync")), SHOP, "android") is not None


def test_logs_in_the_brief_format_are_read() -> None:
    brief = "\n".join(f"E/AndroidRuntime( 4321): {line.partition(': ')[2]}" for line in fatal())
    assert find_crash(brief, SHOP, "android") == find_crash(joined(fatal()), SHOP, "android")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "Nov 29 10:12:13 iPhone Shop(libswiftCore.dylib)[345] <Error>: Shop/CartView.swift:42: Fatal error: "
            "Unexpectedly found nil while unwrapping an Optional value",
            "Fatal error: Unexpectedly found nil while unwrapping an Optional value, in Shop/CartView.swift (line 42)",
        ),
        (
            "2026-11-29 10:12:13.456 E  Shop[345:1a2b] Fatal error: Index out of range",
            "Fatal error: Index out of range",
        ),
        (
            "Nov 29 10:12:13 iPhone Shop(CoreFoundation)[345] <Error>: *** Terminating app due to uncaught exception "
            "'NSInvalidArgumentException', reason: '-[Cart total]: unrecognized selector sent to instance 0x600000c8'",
            "NSInvalidArgumentException: -[Cart total]: unrecognized selector sent to instance 0x600000c8",
        ),
    ],
)
def test_messages_of_ios_about_the_end_of_the_app(line: str, said: str) -> None:
    assert str(find_crash(line, SHOP, "ios")) == said
    assert find_crash(line.replace("Shop[", "Clock[").replace("Shop(", "Clock("), SHOP, "ios") is None


def test_a_process_of_ios_is_known_by_its_number() -> None:
    """The name of the executable may be any."""
    line = "Nov 29 10:12:13 iPhone runner(lib)[345] <Error>: Fatal error: Index out of range"
    system = f"Nov 29 10:12:12 iPhone runningboardd(lib)[33] <Notice>: [app<{SHOP}(0A1B)>:345] Set jetsam priority"
    assert find_crash(line, SHOP, "ios") is None
    assert find_crash(f"{system}\n{line}", SHOP, "ios") is not None
    assert find_crash(f"{system.replace(':345', ':346')}\n{line}", SHOP, "ios") is None


REPORT = """Incident Identifier: 3F2504E0-4F89-11D3-9A0C-0305E82C3301
Process:             Shop [345]
Identifier:          com.example.shop
Version:             1.0 (1)
Date/Time:           2026-11-29 10:12:13.4567 +0000

Exception Type:  EXC_BREAKPOINT (SIGTRAP)
Exception Codes: 0x0000000000000001, 0x00000001a1b2c3d4
Termination Reason: SIGNAL 5 Trace/BPT trap: 5
Triggered by Thread:  1

Thread 0:
0   Shop                          \t0x0000000104a3c000 main + 4
Thread 1 name:  Dispatch queue: com.apple.main-thread
Thread 1 Crashed:
0   libswiftCore.dylib            \t0x00000001a1b2c3d4 _assertionFailure(_:_:file:line:flags:) + 312
1   Shop                          \t0x0000000104a3c1d8 CartView.total.getter + 120 (CartView.swift:42)
2   Shop                          \t0x0000000104a3c1e8 CartView.body.getter + 8
"""


def test_a_report_of_ios_has_type_reason_and_the_frame_of_the_app() -> None:
    said = "EXC_BREAKPOINT (SIGTRAP): SIGNAL 5 Trace/BPT trap: 5, in CartView.total.getter (CartView.swift:42)"
    assert str(find_reported_crash(["", REPORT], SHOP)) == said
    assert find_reported_crash([REPORT], "com.example.clock") is None


def test_a_report_of_ios_in_json() -> None:
    body = {
        "procName": "Shop",
        "bundleInfo": {"CFBundleIdentifier": SHOP},
        "exception": {"type": "EXC_BAD_ACCESS", "signal": "SIGSEGV"},
        "termination": {"namespace": "SIGNAL", "code": 11, "indicator": "Segmentation fault: 11"},
        "usedImages": [{"name": "UIKitCore"}, {"name": "Shop"}],
        "threads": [
            {"frames": [{"imageIndex": 1, "symbol": "main"}]},
            {
                "triggered": True,
                "frames": [
                    {"imageIndex": 0, "symbol": "-[UIView layout]"},
                    {"imageIndex": 1, "symbol": "Cart.total", "sourceFile": "Cart.swift", "sourceLine": 7},
                ],
            },
        ],
    }
    report = json.dumps({"app_name": "Shop", "bundleID": SHOP}) + "\n" + json.dumps(body, indent=1)
    said = "EXC_BAD_ACCESS (SIGSEGV): SIGNAL 11 Segmentation fault: 11, in Cart.total (Cart.swift:7)"
    assert str(find_reported_crash([report], SHOP)) == said
    wrong = report.replace('"threads": [', '"threads": 1, "x": [')
    for broken in (report[:300], '{"bundleID": []}\n[]', "{}\n{}", wrong):
        crash = find_reported_crash([broken], SHOP)
        assert crash is None or not crash.frame


def test_the_watchdog_of_ios_ends_apps_that_do_not_respond() -> None:
    ended = REPORT.replace("SIGNAL 5 Trace/BPT trap: 5", "FRONTBOARD 2343432205 scene-update watchdog 0x8badf00d")
    crash = find_reported_crash([ended], SHOP)
    assert crash is not None
    assert crash.category is Category.APP_NOT_RESPONDING


PAGE = "http://127.0.0.1:8090"


def console(url: str, said: str, level: str = "SEVERE") -> str:
    return f"2026-11-29T10:12:13.456000+00:00 {level} {url} 12:34 {said}"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            console(f"{PAGE}/shop.js?v=7", "Uncaught TypeError: Cannot read properties of null (reading 'total')"),
            "TypeError: Cannot read properties of null (reading 'total'), in shop.js (line 12)",
        ),
        (console(f"{PAGE}/", "Uncaught (in promise) Error: no cart"), "Error: no cart, in the page (line 12)"),
        (console(f"{PAGE}/a.js", "Uncaught no cart"), "exception: no cart, in a.js (line 12)"),
        (console("https://ads.example.net/a.js", "Uncaught Error: blocked"), "None"),
        (console(f"{PAGE}.evil/a.js", "Uncaught Error: x"), "None"),
        (console(f"{PAGE}/a.js", "Uncaught Error: x", "WARNING"), "None"),
        (f"2026 SEVERE {PAGE}/a.png - Failed to load resource: 404", "None"),
    ],
)
def test_exceptions_of_the_scripts_of_a_page(line: str, said: str) -> None:
    assert str(find_page_exception(line, PAGE)) == said


@pytest.mark.parametrize("platform", ["android", "ios", "web"])
@pytest.mark.parametrize(
    "hostile",
    [
        "x" * 3_000_000,
        "E AndroidRuntime: " * 100_000,
        ("1 " * 900 + "E AndroidRuntime: FATAL EXCEPTION\n") * 1_000,
        ("at " + "(" * 1_900 + "\n") * 1_000,
        "FATAL EXCEPTION\n" * 100_000,
        "\n".join(logcat("AndroidRuntime", "FATAL EXCEPTION: x", f"Process: {SHOP}, PID: 1", *["at a(" * 300] * 2_000)),
        "\n".join(logcat("DEBUG", "*** *** ***", f"pid: 1, tid: {'>>> ' * 400}", *["#00 pc 0 " + "(+1" * 600] * 2_000)),
        ("Shop[345] " + "Fatal error" * 150 + "\n") * 1_200,
        ("Shop[345] *** Terminating app due to uncaught exception '" + "'" * 1_900 + "\n") * 1_000,
        (" a[" * 600 + "error\n") * 1_000,
        f"SEVERE {PAGE}/ 1:1 Uncaught " * 60_000,
        ("SEVERE " * 280 + "Uncaught\n") * 1_000,
    ],
    ids=range(12),
)
def test_hostile_logs_cost_bounded_work(platform: str, hostile: str) -> None:
    """An expression that backtracks outlasts the limit that pytest sets each test."""
    find_crash(hostile, SHOP, platform)
    find_page_exception(hostile, PAGE)
    find_reported_crash([hostile], SHOP)


def test_a_line_that_is_too_long_is_cut() -> None:
    log = joined(fatal()).replace("no total", "no total" + "x" * 2 * LINE_SEARCHED)
    crash = find_crash(log, SHOP, "android")
    assert isinstance(crash, AppCrash)
    assert len(str(crash)) < 600
