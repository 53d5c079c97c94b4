"""Structured logs: one JSON object per line, without secrets."""

import logging
import re
import sys
from collections.abc import MutableMapping
from typing import Any, Protocol, TextIO, cast

import orjson
import structlog
from structlog.typing import FilteringBoundLogger, Processor

from services.chassis.context import current_or_none

_SECRET_TEXT = re.compile(
    r"\bm[ts]_[A-Za-z0-9]{12}_[A-Za-z0-9]{4,}|(?i:bearer\s+)[^\s\"',]+|(?<=://)[^/\s:@]+:[^/\s@]+(?=@)", re.ASCII
)
_SECRET_NAMES = re.compile(r"(?i)authorization|cookie|password|secret|token$|api_?key$", re.ASCII)
_HIDDEN = "[hidden]"

EventDict = MutableMapping[str, Any]


class LogSettings(Protocol):
    """What `configure` reads."""

    @property
    def log_level(self) -> str: ...

    @property
    def log_format(self) -> str: ...


def get(name: str) -> FilteringBoundLogger:
    """A logger. Events are constant strings; variable values are fields."""
    return cast(FilteringBoundLogger, structlog.get_logger(module=name))


def configure(settings: LogSettings, stream: TextIO | None = None) -> None:
    """Write all logs of this process, those of libraries too, to `stream` (stdout by default)."""
    stream = stream or sys.stdout
    level = logging.getLevelNamesMapping()[settings.log_level.upper()]
    render = _renderer(settings.log_format)
    structlog.configure(
        processors=[*_processors(), render],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(stream),
        cache_logger_on_first_use=True,
    )
    _capture_stdlib(level, render, stream)


def redact(_: object, __: str, event: EventDict) -> EventDict:
    """Hide keys, tokens and passwords, recognised by the name of the field or the pattern of the text."""
    return {name: _HIDDEN if _SECRET_NAMES.search(name) else _clean(value) for name, value in event.items()}


def redact_text(text: str) -> str:
    """The text with everything hidden that looks like a key or a token."""
    return _SECRET_TEXT.sub(_HIDDEN, text)


def _clean(value: object) -> object:
    if isinstance(value, str):
        return _SECRET_TEXT.sub(_HIDDEN, value)
    if isinstance(value, dict):
        return {k: _HIDDEN if _SECRET_NAMES.search(str(k)) else _clean(v) for k, v in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_clean(item) for item in value]
    if value is None or isinstance(value, bool | int | float):
        return value
    return _SECRET_TEXT.sub(_HIDDEN, str(value))


def _add_caller(_: object, __: str, event: EventDict) -> EventDict:
    caller = current_or_none()
    if caller is not None:
        event.setdefault("request_id", caller.request_id)
        event.setdefault("org_id", caller.org_id)
        if caller.traceparent:
            event.setdefault("traceparent", caller.traceparent)
    return event


def _processors() -> list[Processor]:
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
            foreign_pre_chain=[structlog.stdlib.add_logger_name, *_processors()],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, render],
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(max(level, logging.WARNING))
    # During an outage of the broker aiokafka logs some thirty errors a second; our own lines say what matters.
    logging.getLogger("aiokafka").setLevel(logging.WARNING if level == logging.DEBUG else logging.CRITICAL)
