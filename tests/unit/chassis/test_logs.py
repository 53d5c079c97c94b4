import json
import logging
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
import structlog
from pydantic import SecretStr

from services.chassis import logs
from services.chassis.context import Caller, bind

KEY = "mt_abcdefghijkl_0123456789abcdefghijABCDEFGHIJ01Zx9Yw8"
TOKEN = KEY.replace("mt_", "ms_")


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
