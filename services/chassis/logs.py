"""Structured logs: one JSON object per line, without secrets."""

import logging
import re
import sys
from collections.abc import MutableMapping
from typing import Any, Protocol, TextIO

import orjson
import structlog
from structlog.typing import Processor

from mobiletest_automation.flows.printable import printable
from mobiletest_automation.logs import HIDDEN, add_mask, get, mask_text, masked_context, redact_text
from services.chassis.context import current_or_none

__all__ = ["LogSettings", "add_mask", "configure", "get", "masked_context", "processors", "redact", "redact_text"]

_SECRET_NAMES = re.compile(r"(?i)authorization|cookie|password|secret|token$|api_?key$", re.ASCII)

# Fields that nobody else has written: a secret "error" must not hide errors from whoever watches the logs.
_OURS = frozenset(("level", "module", "timestamp"))

EventDict = MutableMapping[str, Any]


class LogSettings(Protocol):
    """What `configure` reads."""

    @property
    def log_level(self) -> str: ...

    @property
    def log_format(self) -> str: ...


def configure(settings: LogSettings, stream: TextIO | None = None) -> None:
    """Write all logs of this process, those of libraries too, to `stream` (stdout by default)."""
    stream = stream or sys.stdout
    level = logging.getLevelNamesMapping()[settings.log_level.upper()]
    render = _renderer(settings.log_format)
    structlog.configure(
        processors=[*processors(), render],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(stream),
        cache_logger_on_first_use=True,
    )
    _capture_stdlib(level, render, stream)


def redact(_: object, __: str, event: EventDict) -> EventDict:
    """Hide keys, tokens and passwords, recognised by the name of the field or the pattern of the text, and what
    `add_mask` is for; and make texts printable, because apps, drivers and models have written parts of them.
    """
    kept = _OURS if "logger" in event else _OURS | {"event"}  # the event of a library is a text
    return {
        name: value if name in kept else HIDDEN if _SECRET_NAMES.search(name) else _clean(value)
        for name, value in event.items()
    }


def _clean(value: object) -> object:
    if isinstance(value, str):
        return _clean_text(value)
    if isinstance(value, dict):
        return {_clean(k): HIDDEN if _SECRET_NAMES.search(str(k)) else _clean(v) for k, v in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_clean(item) for item in value]
    if value is None or isinstance(value, bool | int | float):
        return value
    return _clean_text(str(value))


def _clean_text(text: str) -> str:
    return printable(redact_text(mask_text(text)))


def _add_caller(_: object, __: str, event: EventDict) -> EventDict:
    caller = current_or_none()
    if caller is not None:
        event.setdefault("request_id", caller.request_id)
        event.setdefault("org_id", caller.org_id)
        if caller.traceparent:
            event.setdefault("traceparent", caller.traceparent)
    return event


def processors() -> list[Processor]:
    """What every event goes through before it is written."""
    return [
        structlog.contextvars.merge_contextvars,
        _add_caller,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        redact,
    ]


def _renderer(form: str) -> Processor:
    if form == "console":
        return structlog.dev.ConsoleRenderer()
    return structlog.processors.JSONRenderer(serializer=_to_json)


def _to_json(event: object, **_: object) -> str:
    return orjson.dumps(event, default=str, option=orjson.OPT_NON_STR_KEYS).decode()


def _capture_stdlib(level: int, render: Processor, stream: TextIO) -> None:
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[structlog.stdlib.add_logger_name, *processors()],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, render],
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(max(level, logging.WARNING))
    # During an outage of the broker aiokafka logs some thirty errors a second; our own lines say what matters.
    logging.getLogger("aiokafka").setLevel(logging.WARNING if level == logging.DEBUG else logging.CRITICAL)
    # It warns of each malformed form; the client learns why from its answer.
    logging.getLogger("python_multipart").setLevel(logging.ERROR)
