"""Mistakes end with an exit code and a message, for people and for programs, and change nothing."""

import shlex

import pytest

from mobiletest_cli.errors import AUTHENTICATION, INVALID_FILE, NOT_FOUND, USAGE
from tests.e2e.cli.conftest import LOG_IN, Shell
from tests.e2e.world import UNKNOWN
from tests.fakes.workspaces import zip_files as archive

FILES = {
    "good/a.yaml": LOG_IN,
    "bad/typo.yaml": "appId: a\n---\n- tapon: Log in\n",
    "empty/readme.txt": "nothing",
    "Shop.app/Info.plist": "",
    "empty.apk": "",
    **dict.fromkeys(("text.apk", "text.bin", "text.ipa", "other.apk"), "no app"),
}
UNCONFIRMED = "cannot ask for confirmation without a terminal"
NO_APP, NO_TEST, NO_WORKFLOW = (f'no {kind} is called "Nobody"' for kind in ("app", "test", "workflow"))
NO_BUILD = 'the app "Shop" has no build "9.9"'
MISTAKES: list[tuple[str, int, str]] = [
    ("nonsense", USAGE, "nonsense"),
    ("completion tcsh", USAGE, "tcsh"),
    ("apps list --ca-file missing.pem", INVALID_FILE, "missing.pem"),
    ("apps list --api-key-stdin", USAGE, "--api-key-stdin: no API key on stdin"),
    ("apps create Bank --platform Windows", USAGE, "platform"),
    (f"apps show {UNKNOWN}", NOT_FOUND, "not found"),
    ("apps show Sho", NOT_FOUND, 'no app is called "Sho"'),
    ("apps delete Nobody --yes", NOT_FOUND, NO_APP),
    ("apps delete Shop", USAGE, UNCONFIRMED),
    ("builds upload missing.apk", INVALID_FILE, "missing.apk: cannot be read"),
    ("builds upload empty.apk", INVALID_FILE, "empty.apk: is empty"),
    ("builds upload Shop.app", INVALID_FILE, "Shop.app: is a folder"),
    ("builds upload release.aab --build 2", INVALID_FILE, "release.aab: this is an Android app bundle"),
    ("builds upload other.apk", INVALID_FILE, "other.apk: contains no version"),
    ("builds upload other.apk --build 1.0", INVALID_FILE, "give another --build"),
    (f"builds download {UNKNOWN}", NOT_FOUND, "not found"),
    ("builds download 9.9", NOT_FOUND, NO_BUILD),
    ("builds download 1.0", INVALID_FILE, "app.apk: exists already"),
    ("builds download 1.0 --output app.apk/file", INVALID_FILE, "cannot be written"),
    ("builds delete 1.0", USAGE, UNCONFIRMED),
    ("builds set-current 9.9", NOT_FOUND, NO_BUILD),
    ("tests push nowhere", INVALID_FILE, "nowhere"),
    ("tests pull copy --workspace Nobody", NOT_FOUND, '"Nobody"'),
    ("tests pull", USAGE, "folder"),
    (f"tests show {UNKNOWN}", NOT_FOUND, "not found"),
    ("tests show Log", NOT_FOUND, "Log in"),
    ("tests runs Nobody", NOT_FOUND, NO_TEST),
    ("tests delete 'Log in'", USAGE, UNCONFIRMED),
    ("tests validate nowhere", INVALID_FILE, "nowhere"),
    ("workflows show Nobody", NOT_FOUND, NO_WORKFLOW),
    ("workflows create Other --test Nobody", NOT_FOUND, NO_TEST),
    ("secrets delete NOBODY --yes", NOT_FOUND, "not found"),
    ("secrets set EMPTY", USAGE, "is empty"),
    ("keys create ci --scope everything", USAGE, "scopes"),
    ("keys create ci --expires soon", USAGE, '"soon" is not a day or time'),
    ("keys create ci --expires 0001-01-01", USAGE, "0001-01-01"),
    ("keys delete Nobody --yes", NOT_FOUND, "Nobody"),
    *(
        (f"{name} {UNKNOWN}", NOT_FOUND, "not found")
        for name in ("status", "logs", "cancel", "rerun", "gate", "open", "comments")
    ),
    *(
        (f"{name} first?", USAGE, "is not the id of an execution")
        for name in ("status", "wait", "logs", "cancel", "rerun", "gate")
    ),
    ("executions --app Nobody", NOT_FOUND, NO_APP),
    ("executions --since soon", USAGE, '"soon" is not a day or time'),
    ("executions --result good", USAGE, "'passed'"),
    (f"comments {UNKNOWN} --add x --delete y", USAGE, "either --add or --delete"),
    ("failures show first?", USAGE, "is not the fingerprint of a failure"),
    (f"failures show {'0' * 16}", NOT_FOUND, "not found"),
    (f"failures mark {'0' * 16}", USAGE, "nothing is to be written"),
    (f"failures mark {'0' * 16} good", USAGE, "'known'"),
    ("compare 1.0 --branch main", USAGE, "one of a build, --branch and --pr"),
    ("compare", NOT_FOUND, "none of the newest builds has a verdict"),
    ("durations Nobody", NOT_FOUND, NO_APP),
    (f"wait {UNKNOWN} --timeout 0", USAGE, "--timeout"),
    ("matrix Nobody", NOT_FOUND, NO_APP),
    ("compare 1.0 9.9", NOT_FOUND, NO_BUILD),
    ("compare 1.0", NOT_FOUND, "no earlier build of the same branch, or of main, has a verdict"),
    ("quarantine Nobody --reason SHOP-1", NOT_FOUND, NO_TEST),
    ("quarantine 'Log in'", USAGE, "needs a reason"),
    ("quarantine 'Log in' --reason SHOP-1 --until soon", USAGE, '"soon" is not a day or time'),
    ("quarantine 'Log in' --reason SHOP-1 --until 2001-01-01", USAGE, "until"),
    ("quarantine 'Log in' --reason SHOP-1 --until 0001-01-01", USAGE, "0001-01-01"),
    ("run flows", INVALID_FILE, "flows: there is no such file or folder"),
    ("run empty", INVALID_FILE, "empty: there is no flow"),
    ("run good --file missing.apk", INVALID_FILE, "missing.apk: cannot be read"),
    ("run good --file good", INVALID_FILE, "good: is a folder"),
    ("run good --file text.apk", INVALID_FILE, "contains no version"),
    ("run text.apk good", INVALID_FILE, "contains no version"),
    ("run good --app good", NOT_FOUND, 'no app is called "good"'),
    ("run good --file text.bin", USAGE, "text.bin: the platform is unknown"),
    ("run good --file text.ipa --platform android", INVALID_FILE, "is for iOS"),
    ("run good --file text.apk --file other.apk", USAGE, "a second file for"),
    ("run good --shard 3/2", USAGE, "is not a part of the whole"),
    (f"run --workflow {UNKNOWN} --tag smoke", USAGE, "Leave out PATHS"),
    (f"run --workflow {UNKNOWN}", NOT_FOUND, "Workflow not found"),
    ("run good --no-wait --junit a.xml", USAGE, "--no-wait ends before"),
    ("run good --retries 6", USAGE, "--retries"),
    ("run good --platform iOS", USAGE, "--platform iOS needs an app to be named"),
    ("run --test 'Log in' --platform iOS --build 9", USAGE, "--build 9 needs an app to be named"),
    ("run good --app Nowhere", NOT_FOUND, 'no app is called "Nowhere"'),
    ("run good -e NOT_SET_ANYWHERE", USAGE, "the environment has no"),
    ("run bad", INVALID_FILE, "bad/typo.yaml:3:3: error: unknown command"),
]


@pytest.mark.parametrize(("line", "code", "message"), MISTAKES, ids=[line for line, _, _ in MISTAKES])
async def test_mistakes_are_said_for_people_and_for_programs(
    read_shop: Shell, line: str, code: int, message: str
) -> None:
    read_shop.write(FILES)
    (read_shop.folder / "release.aab").write_bytes(archive({"BundleConfig.pb": b""}))
    ended = await read_shop.run(*shlex.split(line))
    assert (ended.code, ended.out, "Traceback" in ended.err) == (code, "", False), ended.err
    assert message in ended.err
    structured = await read_shop.run(*shlex.split(line), "--json")
    error = structured.document["error"]
    assert (structured.code, error["exit_code"], structured.err) == (code, code, "")
    assert message in f"{error['message']} {error['hint']}"
    if line.startswith("run "):
        assert (await read_shop.document("executions"))["items"] == []


EMPTY = {
    "apps list --search Nothing": "There are no apps",
    "executions": "There are no executions",
    "apps branches": "No finished run names a branch.",
    "durations": "No test has passed on these builds.",
    "failures list": "No failure matches.",
    "flaky": "No test is flaky.",
    "secrets list": "There are no secrets",
    "tests list --tag nightly": "There are no tests",
    "tests runs 'Log in'": "It has not been run yet.",
    "workflows list": "There are no workflows",
}


@pytest.mark.parametrize("line", EMPTY)
async def test_an_empty_list_says_so(read_shop: Shell, line: str) -> None:
    assert EMPTY[line] in (await read_shop.ok(*shlex.split(line))).err


async def test_a_folder_without_flows_has_nothing_to_run(stranger: Shell) -> None:
    ended = await stranger.run("run")
    assert (ended.code, "there is no folder .maestro" in ended.err) == (USAGE, True), ended.err


@pytest.mark.parametrize(("url", "code"), [("nonsense", USAGE), ("http://127.0.0.1:1", AUTHENTICATION)])
async def test_an_address_precedes_a_missing_key(stranger: Shell, url: str, code: int) -> None:
    del stranger.environ["MOBILETEST_API_KEY"]
    ended = await stranger.run("apps", "list", "--url", url, "--patience", "0")
    assert (ended.code, "Traceback" in ended.err) == (code, False), ended.err
