"""Finds in the logs of devices how the app under test has crashed, or that it did not respond.

Only texts in the formats of the platforms count, and only of the app with the given id: a crash of another app, or of
one that cannot be told apart from others, is not the app's. Lines are cut before they are matched, and no expression
repeats inside a repetition, so that the work is linear in the length of the log.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from mobiletest_automation.devices.port import LEFT_OUT, DeviceLog
from mobiletest_automation.flows.texts import cut, cut_beginning, shorten
from mobiletest_automation.model.failures import Category
from mobiletest_automation.outcome import StepFailed
from mobiletest_automation.outside_texts import parse_json
from mobiletest_automation.screen.system_dialogs import DialogKind, SystemDialog

# Characters of a log, and of its lines, that are searched: the end of the log.
LOG_SEARCHED = 2 * 1024 * 1024
LINE_SEARCHED = 2_000
# Lines of one crash.
BLOCK_LINES = 400
MESSAGE_SHOWN = 300
REASON_SHOWN = 100

_VOLATILE = re.compile(
    r"\b0x[0-9a-f]{1,16}\b|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b|(?<=@)[0-9a-f]{4,8}\b"
    r"|\b(?=[a-f]{0,15}[0-9])(?=[0-9]{0,15}[a-f])[0-9a-f]{6,16}\b|[0-9]{1,6}:[0-9:.]{2,20}|[0-9]{2,}",
    re.IGNORECASE | re.ASCII,
)


@dataclass(frozen=True, slots=True)
class AppCrash:
    """`kind` is the class of the exception, the signal or the like; `frame` is the topmost frame that is the app's own,
    without the line, which `place` has.
    """

    kind: str
    message: str = ""
    frame: str = ""
    place: str = ""
    category: Category = Category.APP_CRASH

    def __str__(self) -> str:
        said = f": {shorten(self.message, MESSAGE_SHOWN)}" if self.message else ""
        place = f" ({self.place})" if self.place else ""
        return f"{self.kind}{said}{f', in {self.frame}{place}' if self.frame else place}"

    @property
    def reason(self) -> str:
        """What equal crashes share: without lines, addresses, ids, numbers of processes and times."""
        said = _VOLATILE.sub("...", cut(self.message, REASON_SHOWN))
        return f"{self.kind}{f' in {self.frame}' if self.frame else ''}{f': {said}' if said else ''}"


def find_crash(log: str, app_id: str, platform: str, app_name: str = "") -> AppCrash | None:
    """The first crash of the app in the log of a device; else the first time that it did not respond, if there is one.

    `platform` is android, ios or web. A page cannot crash in its console: of web there is none.
    """
    if not app_id:
        return None
    match platform:
        case "android":
            crashes = list(_android_crashes(_lines(log), app_id))
        case "ios":
            crashes = list(_ios_crashes(list(_lines(log)), app_id, app_name))
        case _:
            return None
    return next((crash for crash in crashes if crash.category is Category.APP_CRASH), next(iter(crashes), None))


def find_reported_crash(reports: Sequence[str], app_id: str) -> AppCrash | None:
    """The crash in the newest report of iOS that is the app's."""
    if not app_id:
        return None
    crashes = (_read_report(cut(report, LOG_SEARCHED), app_id) for report in reversed(reports))
    return next(filter(None, crashes), None)


_ENDS_OF_APP = frozenset({Category.APP_CRASH, Category.APP_NOT_RESPONDING})
# Failures of steps whose cause is the crash, if the app has crashed meanwhile.
_CAUSED_BY_CRASH = _ENDS_OF_APP | frozenset(
    {
        Category.ASSERTION_FAILED,
        Category.ELEMENT_NOT_FOUND,
        Category.GOAL_NOT_REACHED,
        Category.STEP_TIMEOUT,
    }
)


def explain_by_crash(failed: StepFailed, crash: AppCrash, app: str) -> StepFailed:
    """The failure of a step during which the app has crashed. A launch that failed, and a wrong step, stay so."""
    is_end_of_app = failed.category in _ENDS_OF_APP
    caused = failed.category in _CAUSED_BY_CRASH
    return _reworded(
        failed,
        f"{_happened(crash, app)}{'' if is_end_of_app else f'; {failed.message}'}",
        category=crash.category if caused and failed.category is not Category.APP_CRASH else failed.category,
        reason=crash.reason if caused or failed.category is Category.APP_LAUNCH_FAILED else failed.reason,
        of_app=caused,
    )


def name_earlier_crash(failed: StepFailed, crash: AppCrash, app: str) -> StepFailed:
    """The failure of a step of an app that crashed in an earlier step, and was restarted by the system."""
    return _reworded(failed, f"{failed.message} (earlier {_happened(crash, app)})")


def app_of_dialog(dialog: SystemDialog, log: DeviceLog, app_id: str) -> str:
    """The app that has crashed, or does not respond, as a dialog of Android says; "" if that is not certain.

    The dialog names the app in the language of the phone only, so the log decides. `app_id` is that of the app under
    test. Another app counts only if nothing of the log is missing since the step before began, and if the app under
    test, or one that may be a process of it, has not crashed at all: systems show no dialog for most crashes.
    """
    category = _CATEGORIES.get(dialog.kind)
    if category is None or not app_id:
        return ""
    crashed = set(_crashed_apps(log.text, category))
    if app_id in crashed:
        return app_id if len(crashed) == 1 else ""
    recent = _crashed_apps(log.recent, category)
    if not recent or LEFT_OUT in log.recent or _organisation(app_id) in map(_organisation, crashed):
        return ""
    return recent[-1]


_CATEGORIES = {DialogKind.CRASH: Category.APP_CRASH, DialogKind.NOT_RESPONDING: Category.APP_NOT_RESPONDING}


def explain_by_dialog(failed: StepFailed, dialog: SystemDialog, other_app: str) -> StepFailed:
    """The failure of a step at whose end a dialog of the system was on the screen.

    `other_app` is the app that has crashed or does not respond, if it is certain that it is not the app under test: if
    its dialog hides the app, nothing can be said about the app, and another attempt may find it. "" if that is unknown.
    """
    if not other_app:
        return _reworded(failed, f"{failed.message} ({_SHOWN[dialog.kind]}: {dialog})")
    shown = f"{_SHOWN[dialog.kind]}, of {other_app}: {dialog}"
    if not dialog.hides_app or failed.category not in _CAUSED_BY_CRASH - _ENDS_OF_APP:
        return _reworded(failed, f"{failed.message} ({shown})")
    message = f"{shown}; {failed.message}"
    reason = f"{_SHOWN[dialog.kind]}, of {other_app}"
    return _reworded(failed, message, category=Category.DEVICE_UNAVAILABLE, reason=reason)


_SHOWN = {
    DialogKind.CRASH: "the system showed that an app has crashed",
    DialogKind.NOT_RESPONDING: "the system showed that an app does not respond",
    DialogKind.PERMISSION: "the system asked for a permission",
    DialogKind.OTHER: "a dialog of the system was on the screen",
}


def explain_by_exception(failed: StepFailed, thrown: AppCrash) -> StepFailed:
    """The failure of a step during which a script of the page threw an exception.

    Whether the exception is its cause is not known, so that it stays what it is.
    """
    message = f"{failed.message} (meanwhile the page did not catch {thrown})"
    return _reworded(failed, message, reason=f"{failed.reason}; {thrown.reason}")


def _happened(crash: AppCrash, app: str) -> str:
    return f"{app} {'crashed' if crash.category is Category.APP_CRASH else 'did not respond'}: {crash}"


def _reworded(
    failed: StepFailed, message: str, *, category: Category | None = None, reason: str = "", of_app: bool = False
) -> StepFailed:
    return StepFailed(
        category or failed.category,
        message,
        reason=reason or failed.reason,
        element=failed.element,
        pictures=failed.pictures,
        path=failed.path,
        of_app=of_app,
    )


def _lines(log: str) -> Iterator[str]:
    return (cut(line, LINE_SEARCHED) for line in cut_beginning(log, LOG_SEARCHED).splitlines())


# Android: lines of logcat

_TAGS = ("AndroidRuntime", "DEBUG", "ActivityManager")
_TAGGED = re.compile(
    r"(?:^|\s)(?P<pid>[0-9]{1,7})\s{1,9}(?:[0-9]{1,7} {1,9})?[VDIWEFA] "
    rf"(?P<tag>{'|'.join(_TAGS)}) {{0,20}}: (?P<said>.*)",
    re.ASCII,
)
# Of `logcat -v brief`.
_TAGGED_BRIEFLY = re.compile(
    rf"(?:^|\s)[VDIWEFA]/(?P<tag>{'|'.join(_TAGS)}) {{0,20}}\( {{0,9}}(?P<pid>[0-9]{{1,7}})\): (?P<said>.*)", re.ASCII
)
_STARTS = ("FATAL EXCEPTION", "*** *** ***", "ANR in ")


@dataclass(slots=True)
class _Block:
    """The lines of one tag and process that begin with a crash."""

    tag: str
    lines: list[str] = field(default_factory=list)

    @property
    def category(self) -> Category:
        return Category.APP_NOT_RESPONDING if self.tag == "ActivityManager" else Category.APP_CRASH


def _android_crashes(lines: Iterable[str], app_id: str) -> Iterator[AppCrash]:
    for block in _blocks(lines):
        if _app_of(_process(block)) != app_id:
            continue
        match block.tag:
            case "AndroidRuntime":
                yield _exception(block.lines, app_id)
            case "DEBUG":
                yield _tombstone(block.lines, app_id)
            case _:
                yield _not_responding(block.lines)


def _crashed_apps(log: str, category: Category) -> list[str]:
    """Those that crashed (app_crash), or did not respond (app_not_responding), the last one last."""
    blocks = (block for block in _blocks(_lines(log)) if block.category is category)
    return list(filter(None, (_app_of(_process(block)) for block in blocks)))


def _app_of(process: str) -> str:
    """The app of a process; it may have several: com.example.shop:sync."""
    return process.partition(":")[0]


def _organisation(app_id: str) -> str:
    return ".".join(app_id.split(".")[:2])


def _blocks(lines: Iterable[str]) -> list[_Block]:
    """Lines of different processes may be mixed, those of one are in order."""
    blocks: list[_Block] = []
    open_blocks: dict[tuple[str, str], _Block] = {}
    for line in lines:
        if not any(tag in line for tag in _TAGS):
            continue
        match = _TAGGED.search(line) or _TAGGED_BRIEFLY.search(line)
        if match is None:
            continue
        key, said = (match["tag"], match["pid"]), match["said"]
        if said.startswith(_STARTS):
            open_blocks[key] = _Block(match["tag"])
            blocks.append(open_blocks[key])
        block = open_blocks.get(key)
        if block is not None and len(block.lines) < BLOCK_LINES:
            block.lines.append(said)
    return blocks


_OF_PROCESS = re.compile(r"Process: ([\w.:]{1,200}), PID: [0-9]", re.ASCII)
_DIED = re.compile(r"pid: [0-9]{1,7}, tid: .{0,200}>>> (\S{1,200}) <<<", re.ASCII)
_ANR = re.compile(r"ANR in (\S{1,200})(?: \((\S{1,400})\))?", re.ASCII)


def _process(block: _Block) -> str:
    """The name of the process of which the block is; "" if it does not say it."""
    match block.tag:
        case "AndroidRuntime":
            named = (match[1] for line in block.lines[:5] if (match := _OF_PROCESS.match(line)))
        case "DEBUG":
            named = (match[1] for line in block.lines if (match := _DIED.search(line)))
        case _:
            named = (match[1] for line in block.lines[:1] if (match := _ANR.match(line)))
    return next(named, "")


_EXCEPTION = re.compile(r"([A-Za-z_$][\w$]*(?:\.[\w$]+)+)(?::\s?(.*))?$", re.ASCII)
_FRAME = re.compile(r"at ([^\s()][^()]{0,400})\(([^()]{0,200})\)", re.UNICODE)
_PLATFORM_FRAMES = (
    *("android.", "androidx.", "com.android.", "com.google.android.", "dalvik.", "java.", "javax.", "jdk.", "kotlin."),
    *("kotlinx.", "libcore.", "sun.", "io.reactivex.", "com.facebook.react.", "io.flutter.", "okhttp3.", "dagger."),
)


@dataclass(slots=True)
class _Exception:
    kind: str
    message: str
    frames: list[tuple[str, str]] = field(default_factory=list)


def _exception(lines: Sequence[str], app_id: str) -> AppCrash:
    """A stack trace of Java or Kotlin: the exception that caused the others, where the app's own code was."""
    causes = _causes(lines)
    if not causes:
        return AppCrash("uncaught exception")
    frames = [frame for cause in reversed(causes) for frame in cause.frames]
    name, place = _own_frame(frames, app_id)
    return AppCrash(causes[-1].kind, causes[-1].message, name, place)


def _causes(lines: Sequence[str]) -> list[_Exception]:
    """The exception and its causes, without those that were suppressed."""
    causes: list[_Exception] = []
    suppressed = False
    for line in lines[1:]:
        said = line.strip()
        if said.startswith("Suppressed:"):
            suppressed = True
        elif said.startswith("Caused by: ") and not line.startswith("\t"):
            suppressed = False
            causes += _head(said.removeprefix("Caused by: "))
        elif not causes:
            causes += [] if _OF_PROCESS.match(said) else _head(said)
        elif not suppressed and (match := _FRAME.match(said)):
            causes[-1].frames.append((match[1].strip(), match[2]))
    return causes


def _head(said: str) -> list[_Exception]:
    match = _EXCEPTION.match(said)
    return [_Exception(match[1], (match[2] or "").strip())] if match is not None else []


def _own_frame(frames: Sequence[tuple[str, str]], app_id: str) -> tuple[str, str]:
    """The first frame of the app's package, else of its organisation, else of what is not of the platform."""
    for prefix in (app_id, _organisation(app_id)):
        for name, place in frames:
            if name.startswith(f"{prefix}."):
                return name, place
    others = (frame for frame in frames if not frame[0].startswith(_PLATFORM_FRAMES))
    return next(others, frames[0] if frames else ("", ""))


_SIGNAL = re.compile(r"signal [0-9]{1,3} \((\w{1,20})\), code -?[0-9]{1,7} \((\w{1,40})", re.ASCII)
_NATIVE_FRAME = re.compile(r"#[0-9]{1,4} pc [0-9a-f]{1,16}\s{1,9}(\S{1,500})(.*)", re.ASCII)
_SYMBOL = re.compile(r"\((\S.{0,500}?)\+[0-9]{1,12}\)(?: \(BuildId|$)", re.ASCII)


def _tombstone(lines: Sequence[str], app_id: str) -> AppCrash:
    """A native crash: the signal, and the function of the app's own library."""
    signal = next((match for line in lines if (match := _SIGNAL.search(line))), None)
    kind = f"{signal[1]} ({signal[2]})" if signal is not None else "native crash"
    said = _value_of(lines, "Abort message:").strip("'") or _value_of(lines, "Cause:")
    frames = [match for line in lines if (match := _NATIVE_FRAME.search(line))]
    own = next((frame for frame in frames if app_id in frame[1]), frames[0] if frames else None)
    if own is None:
        return AppCrash(kind, said)
    library, symbol = own[1].replace("!", "/").rpartition("/")[2], _SYMBOL.search(own[2])
    return AppCrash(kind, said, f"{symbol[1].rpartition(') (')[2]} of {library}" if symbol is not None else library)


def _not_responding(lines: Sequence[str]) -> AppCrash:
    match = _ANR.match(lines[0])
    activity = f" (in {match[2]})" if match is not None and match[2] else ""
    said = _value_of(lines, "Reason:").partition(" (")
    return AppCrash("ANR", f"{said[0]}{activity}".strip(), category=Category.APP_NOT_RESPONDING)


def _value_of(lines: Iterable[str], name: str) -> str:
    """What follows a name at the beginning of a line; "" if no line has it."""
    values = (line.strip().removeprefix(name).strip() for line in lines if line.lstrip().startswith(name))
    return next(values, "")


# iOS: lines of syslog

_IOS_LINE = re.compile(
    r"(?:^|\s)(?P<name>[\w.+-]{1,80})(?:\([\w.+-]{1,80}\))?\[(?P<pid>[0-9]{1,7})(?::[0-9a-f]{1,16})?\](?P<said>.*)",
    re.UNICODE,
)
_UNCAUGHT = re.compile(r"\*\*\* Terminating app due to uncaught exception '([^']{1,200})', reason: '(.*?)'?$", re.ASCII)
_FATAL = re.compile(r"(Fatal error|Precondition failed|Assertion failed)(?:: (.*))?$", re.ASCII)


def _ios_crashes(lines: Sequence[str], app_id: str, app_name: str) -> Iterator[AppCrash]:
    own = re.compile(rf"<{re.escape(app_id)}(?:[^\w.>-][^>]{{0,80}})?>:([0-9]{{1,7}})", re.ASCII)
    pids = {match[1] for line in lines if app_id in line for match in own.finditer(line)}
    names = {app_name.casefold(), app_id.rpartition(".")[2].casefold()} - {""}
    for line in lines:
        if "error" not in line and "Terminating app" not in line and "failed" not in line:
            continue
        match = _IOS_LINE.search(line)
        if match is None or not (match["pid"] in pids or match["name"].casefold() in names):
            continue
        crash = _ios_message(match["said"])
        if crash is not None:
            yield crash


def _ios_message(said: str) -> AppCrash | None:
    if uncaught := _UNCAUGHT.search(said):
        return AppCrash(uncaught[1], uncaught[2])
    if fatal := _FATAL.search(said):
        before = said[: fatal.start()].split()
        file, _, line = (before[-1] if before else "").rstrip(":").rpartition(":")
        source = file.endswith(".swift")
        return AppCrash(fatal[1], (fatal[2] or "").strip(), file if source else "", f"line {line}" if source else "")
    return None


# iOS: reports of crashes

_REPORT_FRAME = re.compile(r"[0-9]{1,4}\s{1,9}(\S[^\t]{0,80}?)\s{1,40}0x[0-9a-f]{1,16} (.{1,500})", re.ASCII)
_REPORT_PLACE = re.compile(r" \+ [0-9]{1,12}(?: \(([^()]{1,200})\))?$", re.ASCII)
_CRASHED_THREAD = re.compile(r"Thread [0-9]{1,5} Crashed|Last Exception Backtrace:", re.ASCII)
_WATCHDOG = re.compile("8badf00d", re.IGNORECASE | re.ASCII)


def _read_report(report: str, app_id: str) -> AppCrash | None:
    """A report as text, or as the JSON that iOS 15 and later write: a line with the header, and the report."""
    if report.lstrip().startswith("{"):
        return _read_json_report(report, app_id)
    lines = [cut(line, LINE_SEARCHED) for line in report.splitlines()]
    if _value_of(lines, "Identifier:") != app_id:
        return None
    process = _value_of(lines, "Process:").rpartition(" [")[0]
    kind, ended = _value_of(lines, "Exception Type:"), _value_of(lines, "Termination Reason:")
    name, place = _report_frame(_crashed_thread(lines), process)
    return _reported(kind, ended, name, place)


def _crashed_thread(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Library and function of each frame of the thread that crashed."""
    crashed = False
    for line in lines:
        if _CRASHED_THREAD.match(line):
            crashed = True
        elif crashed and (frame := _REPORT_FRAME.match(line)):
            yield frame[1], frame[2]
        else:
            crashed = False


def _report_frame(frames: Iterable[tuple[str, str]], process: str) -> tuple[str, str]:
    """The first frame of the app itself, and where it is in the source."""
    called = next((function for library, function in frames if library == process), "")
    place = _REPORT_PLACE.search(called)
    return _REPORT_PLACE.sub("", called), (place[1] or "") if place is not None else ""


def _read_json_report(report: str, app_id: str) -> AppCrash | None:
    header, _, body = report.lstrip().partition("\n")
    try:
        named, content = _object(parse_json(header)), _object(parse_json(body))
    except ValueError:
        return None
    if app_id not in (named.get("bundleID"), _object(content.get("bundleInfo")).get("CFBundleIdentifier")):
        return None
    thrown, ended = _object(content.get("exception")), _object(content.get("termination"))
    kind = f"{thrown.get('type', '')} ({thrown.get('signal', '')})".removesuffix(" ()").strip()
    said = " ".join(str(ended[name]) for name in ("namespace", "code", "indicator") if name in ended)
    if ended.get("code") == 0x8BADF00D:
        said = f"{said} 0x8badf00d"
    name, place = _report_frame(_json_frames(content), str(content.get("procName", "")))
    return _reported(kind, said, name, place)


def _json_frames(content: dict[str, object]) -> Iterator[tuple[str, str]]:
    images = [str(_object(image).get("name", "")) for image in _list(content.get("usedImages"))]
    threads = [_object(thread) for thread in _list(content.get("threads"))]
    crashed = next((thread for thread in threads if thread.get("triggered") is True), {})
    for each in (*_list(content.get("lastExceptionBacktrace")), *_list(crashed.get("frames"))):
        frame = _object(each)
        index = frame.get("imageIndex")
        library = images[index] if isinstance(index, int) and 0 <= index < len(images) else ""
        source = f" ({frame['sourceFile']}:{frame.get('sourceLine', 0)})" if "sourceFile" in frame else ""
        yield library, f"{cut(str(frame.get('symbol', '')), 500)} + 0{source}"


def _object(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _reported(kind: str, ended: str, name: str, place: str) -> AppCrash:
    if _WATCHDOG.search(ended):
        return AppCrash("watchdog", ended, name, place, Category.APP_NOT_RESPONDING)
    return AppCrash(kind or "crash", ended, name, place)


# Pages: lines of the console

_UNCAUGHT_IN_PAGE = re.compile(
    r"SEVERE (?P<url>\S{1,2000}) (?P<line>[0-9]{1,9}):[0-9]{1,9} (?P<said>Uncaught .*)", re.ASCII
)
_CLASS = re.compile(r"Uncaught (?:\(in promise\) )?(?:([A-Z]\w{0,80})(?:: |$))?(.*)", re.ASCII)


def find_page_exception(log: str, page_origin: str) -> AppCrash | None:
    """The last exception that no script of the page itself has caught."""
    if not page_origin:
        return None
    for line in reversed(list(_lines(log))):
        match = _UNCAUGHT_IN_PAGE.search(line) if "Uncaught" in line else None
        if match is None or not match["url"].startswith(f"{page_origin}/"):
            continue
        thrown = _CLASS.match(match["said"])
        file = match["url"].partition("?")[0].partition("#")[0].rpartition("/")[2] or "the page"
        if thrown is not None:
            return AppCrash(thrown[1] or "exception", thrown[2], file, f"line {match['line']}")
    return None
