import asyncio
import json
import logging
import re
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
import structlog
from pydantic import SecretStr

from services.chassis import logs
from services.chassis.context import Caller, bind
from tests.hostile_texts import ANYTHING, commands, controls

KEY = "mt_abcdefghijkl_0123456789abcdefghijABCDEFGHIJ01Zx9Yw8"
TOKEN = KEY.replace("mt_", "ms_")
# The colors of the console format.
_STYLES = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    root = logging.getLogger()
    before = (root.handlers, root.level)
    yield
    root.handlers, root.level = before
    logging.getLogger("aiokafka").setLevel(logging.NOTSET)
    structlog.reset_defaults()


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def configured(level: str = "info") -> None:
    logs.configure(SimpleNamespace(log_level=level, log_format="json"))


def test_a_line_is_a_json_object(capsys: pytest.CaptureFixture[str]) -> None:
    configured()
    logs.get("here").info("something_happened", count=3)
    (line,) = lines(capsys)
    assert (line["event"], line["count"], line["level"], line["module"]) == ("something_happened", 3, "info", "here")


def test_a_line_has_the_request_and_the_organisation(capsys: pytest.CaptureFixture[str]) -> None:
    configured()
    with bind(Caller("org-1", request_id="r-1", traceparent="00-a-b-01")):
        logs.get("here").info("x")
    (line,) = lines(capsys)
    assert (line["org_id"], line["request_id"], line["traceparent"]) == ("org-1", "r-1", "00-a-b-01")


def test_lower_levels_are_not_logged(capsys: pytest.CaptureFixture[str]) -> None:
    configured("warning")
    logs.get("here").info("x")
    assert lines(capsys) == []


@pytest.mark.parametrize(
    "fields",
    [
        {"authorization": "anything"},
        {"headers": {"Authorization": "anything", "Cookie": "c"}},
        {"text": f"the key {KEY} leaked"},
        {"text": f"the session {TOKEN} leaked"},
        {"url": f"https://host/?k={KEY}"},
        {"header": "Bearer abc.def"},
        {"values": [KEY, ("x", KEY)]},
        {"error": ValueError(KEY)},
        {"setting": SecretStr("anything")},
        {"uri": "mongodb://user:anything@host/db"},
        {"service_token": "anything"},
    ],
)
def test_secrets_are_hidden(capsys: pytest.CaptureFixture[str], fields: dict[str, object]) -> None:
    configured()
    logs.get("here").info("x", **fields)
    printed = capsys.readouterr().out
    for secret in (KEY, TOKEN, "anything", "abc.def", "0123456789abcdefghij"):
        assert secret not in printed


def test_secrets_in_a_traceback_are_hidden(capsys: pytest.CaptureFixture[str]) -> None:
    configured()
    try:
        raise ValueError(KEY)
    except ValueError:
        logs.get("here").exception("failed")
    printed = capsys.readouterr().out
    assert "ValueError" in printed
    assert KEY not in printed


def test_libraries_log_in_the_same_format(capsys: pytest.CaptureFixture[str]) -> None:
    configured()
    logging.getLogger("aiohttp.server").warning("refused %s", KEY)
    (line,) = lines(capsys)
    assert line["logger"] == "aiohttp.server"
    assert KEY not in str(line)


async def test_tasks_of_a_masked_context_hide_what_one_of_them_names(capsys: pytest.CaptureFixture[str]) -> None:
    """Also in tracebacks, in keys, and in what is logged about the task when it has ended; no other task does."""
    configured()
    log = logs.get("here")

    async def fail() -> None:
        raise KeyError("hunter2")

    async def work() -> None:
        logs.add_mask(lambda text: text.replace("hunter2", "${PIN}"))
        inner = asyncio.create_task(fail())
        await asyncio.wait([inner])
        log.info("inner", exc_info=inner.exception(), typed={"hunter2": ["hunter2"]})

    context = logs.masked_context()
    task = asyncio.create_task(work(), context=context)
    task.add_done_callback(lambda _: log.info("ended", why="hunter2"), context=context)
    await task
    await asyncio.sleep(0)
    printed = capsys.readouterr().out
    assert (printed.count("${PIN}"), printed.count("hunter2")) == (5, 0)
    log.info("outside", why="hunter2")
    assert lines(capsys)[0]["why"] == "hunter2"


async def test_a_secret_that_is_a_word_of_ours_changes_no_event(capsys: pytest.CaptureFixture[str]) -> None:
    """Otherwise a tenant could hide failures from alerts."""
    configured()

    async def work() -> None:
        for word in ("error", "attempt_failed", "here"):
            logs.add_mask(lambda text, word=word: text.replace(word, "*"))  # type: ignore[misc]
        logs.get("here").error("attempt_failed", why="an error here")
        logging.getLogger("library").error("an error here")

    await asyncio.create_task(work(), context=logs.masked_context())
    ours, library = lines(capsys)
    assert (ours["event"], ours["level"], ours["module"], ours["why"]) == ("attempt_failed", "error", "here", "an * *")
    assert (library["event"], library["level"]) == ("an * *", "error")


@pytest.mark.parametrize("form", ["json", "console"])
def test_texts_of_others_act_on_no_terminal_and_no_ci_system(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure(SimpleNamespace(log_level="info", log_format=form))
    logs.get("here").warning("failed", error=ANYTHING, more={ANYTHING: [ANYTHING]}, exc_info=ValueError(ANYTHING))
    logging.getLogger("aiohttp.server").warning("refused %s", ANYTHING)
    printed = _STYLES.sub("", capsys.readouterr().out)
    assert "PATH" in printed
    assert (list(commands(printed)), controls(printed)) == ([], set())
