"""The fingerprint that failures are grouped by: a hash of their message with everything volatile replaced.

Placeholders: <stack>, <id>, <address>, <time>, <n>, <path>, <query>. Quoted UI text and element ids stay as they are.
The patterns are in volatile_patterns.py.
"""

import hashlib
import re
from functools import lru_cache

from services.reporting.model import volatile_patterns

REASON_LENGTH = 200
MAX_MESSAGE_LENGTH = 16_000  # characters; both bound the time that a hostile message can cost
MAX_LENGTH_WITHOUT_FRAMES = 4_000
_STACK = "<stack>"
_FINGERPRINT = re.compile(r"[0-9a-f]{16}")


def normalise(message: str) -> str:
    """The message without what differs from run to run, as one line of at most 200 characters."""
    return _normalised(message[:MAX_MESSAGE_LENGTH])


@lru_cache(maxsize=512)
def _normalised(message: str) -> str:
    """Cached, because thousands of runs may fail in the same way."""
    text = volatile_patterns.UNPRINTABLE.sub("", volatile_patterns.ANSI.sub("", message))
    return _replace_volatile("\n".join(_collapse_stacks(text))[:MAX_LENGTH_WITHOUT_FRAMES])


def fingerprint(category: str, step_kind: str, reason: str) -> str:
    """The group of a failure: 16 hex digits over its category, the kind of its step and the normalised text."""
    return hashlib.sha256("\0".join((category, step_kind, reason)).encode(errors="replace")).hexdigest()[:16]


def is_fingerprint(text: str) -> bool:
    """Whether it has the form of one."""
    return _FINGERPRINT.fullmatch(text) is not None


def _collapse_stacks(text: str) -> list[str]:
    """The lines with single spaces; consecutive frames of a stack become one line."""
    lines: list[str] = []
    quotes_source = False  # Python prints the source, indented by four, after each frame
    for raw in text.splitlines():
        prefix = volatile_patterns.LOG_PREFIX.match(raw)
        line = raw[prefix.end() :] if prefix else raw
        frame = (quotes_source and line.startswith("    ")) or volatile_patterns.FRAME.fullmatch(line)
        quotes_source = bool(frame) and (quotes_source or line.lstrip().startswith('File "'))
        if not frame:
            lines.append(" ".join(line.split()))
        elif not lines or lines[-1] != _STACK:
            lines.append(_STACK)
    return [line for line in lines if line]


def _replace_volatile(text: str) -> str:
    """The text with placeholders, as one line, up to the length that is shown."""
    parts: list[str] = []
    length = end = 0
    for token in volatile_patterns.TOKEN.finditer(text):
        parts += (text[end : token.start()], _replace_token(token))
        length += len(parts[-2]) + len(parts[-1])
        end = token.end()
        if length > 2 * REASON_LENGTH:
            break
    parts.append(text[end : end + 2 * REASON_LENGTH])
    return " ".join("".join(parts).split())[:REASON_LENGTH].rstrip()


def _replace_token(token: re.Match[str]) -> str:
    text = token.group()
    match token.lastgroup:
        case "quoted":
            return _quoted(text)
        case "xpath":
            return text
        case "serial":
            return f"{text[0]}<id>{text[-1]}"
        case "element":
            return _element(text)
        case "prose":
            return _prose(text)
        case "url":
            return _url(text)
        case "slashed":
            return _slashed(text)
        case kind:
            return f"<{kind}>"


def _quoted(text: str) -> str:
    """UI text stays, except for ids and addresses; a quoted path or id is not UI text."""
    if volatile_patterns.VOLATILE_QUOTE.fullmatch(text):
        return text[0] + _replace_volatile(text[1:-1]) + text[-1]
    return volatile_patterns.VOLATILE_IN_QUOTES.sub(lambda match: f"<{match.lastgroup}>", text)


def _element(text: str) -> str:
    """An element's id stays, but a UUID is that of a session or request; Android's have a number before them."""
    number, slash, rest = text.partition("/")
    text = f"<n>/{rest}" if slash and number.isdecimal() else text
    return volatile_patterns.IDS.sub("<id>", text)


def _prose(text: str) -> str:
    """A JSON value that is a message itself: quotes within it delimit UI text."""
    start = re.search(r"[:=]\s?[\"']", text)
    if start is None:
        return text
    return text[: start.end()] + _replace_volatile(text[start.end() :])


def _slashed(text: str) -> str:
    """A path if it ends with a file extension; otherwise alternatives, a media type or the like."""
    if volatile_patterns.EXTENSION.fullmatch(text):
        return "<path>"
    return "/".join(map(_replace_volatile, text.split("/")))


def _url(text: str) -> str:
    """Scheme and host stay; punctuation at the end belongs to the sentence."""
    whole = text.rstrip(".,:;!?}")
    parts = volatile_patterns.URL_PARTS.fullmatch(whole)
    if parts is None:
        return "<path>"
    scheme, host, path, query = parts.groups()
    host = "<address>" if volatile_patterns.NETWORK.fullmatch(host) else re.sub(r":\d+$", ":<n>", host)
    return f"{scheme}{host}{'/<path>' if path.strip('/') else path}{'<query>' if query else ''}{text[len(whole) :]}"
