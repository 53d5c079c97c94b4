"""Loggers, and what hides secrets in what they write; the application configures where that goes."""

import re
from collections.abc import Callable
from contextvars import Context, ContextVar, copy_context
from typing import TypeAlias, cast

import structlog
from structlog.typing import FilteringBoundLogger

_SECRET_TEXT = re.compile(
    r"\bm[ts]_[A-Za-z0-9]{12}_[A-Za-z0-9]{4,}|(?i:bearer\s+)[^\s\"',]+|(?<=://)[^/\s:@]+:[^/\s@]+(?=@)", re.ASCII
)
HIDDEN = "[hidden]"

# A function that hides secrets in a text.
Mask: TypeAlias = Callable[[str], str]

_masks: ContextVar[list[Mask]] = ContextVar("masks")


def get(name: str) -> FilteringBoundLogger:
    """A logger. Events are constant strings; variable values are fields."""
    return cast(FilteringBoundLogger, structlog.get_logger(module=name))


def masked_context() -> Context:
    """A context for a task: logs of the task and of those that it starts hide what any of them gives to `add_mask`."""
    context = copy_context()
    context.run(_masks.set, [])
    return context


def add_mask(mask: Mask) -> None:
    """Hide what this function hides in all later logs of this `masked_context`; without one, of this task."""
    masks = _masks.get(None)
    if masks is None:
        _masks.set([mask])
    else:
        masks.append(mask)


def mask_text(text: str) -> str:
    """The text as all masks of this task leave it."""
    for mask in _masks.get(()):
        text = mask(text)
    return text


def redact_text(text: str) -> str:
    """The text with everything hidden that looks like a key or a token."""
    return _SECRET_TEXT.sub(HIDDEN, text)
