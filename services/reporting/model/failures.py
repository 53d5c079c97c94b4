"""What failures are grouped by: their message with everything accidental replaced, and a fingerprint of it.

Placeholders: <stack>, <id>, <address>, <time>, <n>, <path>, <query>. Quoted UI text and element ids stay as they are.
"""

import hashlib
import re

REASON_LENGTH = 200
_READ_LINES_OF = 4000
_READ_TOKENS_OF = 800  # bounds the time that a hostile message can cost

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])|\[(?:\d{1,2};)*\d{1,2}m")

_FRAME = re.compile(
    r"""^\s*(?:
        at\s+\S.*[:(].*                             # Java, Kotlin, JavaScript
      | File\s".*",\sline\s\d+.*                     # Python
      | \#\d+\s+.*                                   # native, PHP
      | \d+\s+\S+\s+0x[0-9a-fA-F]+\s.*               # iOS
      | \.\.\.\s\d+\s(?:more|common\sframes.*)
      | Traceback\s\(most\srecent\scall\slast\):.*
      | (?:Stack\s?trace|Backtrace|Call\sstack):\s*
    )$""",
    re.VERBOSE | re.IGNORECASE,
)
_SOURCE = r"(?:py|js|mjs|ts|tsx|jsx|kt|java|swift|mm|m|cc|cpp|c|h|dart|rb|go|rs|yaml|yml)"
_INLINE_FRAME = rf"\bat\s[\w.$<>]+\s?\([^()\n]{{1,200}}:\d+(?::\d+)?\)|\(\w[\w.]*\.{_SOURCE}:\d+(?::\d+)?\)"
_UUID = r"\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b|\b[0-9A-F]{8}-[0-9A-F]{16}\b"
_HEX = (
    r"(?<![A-Za-z0-9])(?=[0-9a-fA-F]*\d)(?=[0-9a-fA-F]*[a-fA-F])[0-9a-fA-F]{8,}\b"
    r"|\b(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{20,}\b"
)
_URL = r"\b[A-Za-z][A-Za-z0-9+.-]{0,20}://[^\s\"'<>`)\]]+"
_ADDRESS = (
    r"\b0x[0-9a-fA-F]+\b|\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b|\[[0-9a-fA-F:.]*:[0-9a-fA-F:.]*\](?::\d+)?"
    r"|\blocalhost:\d+\b"
)
_TIME = (
    r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:\s?(?:Z|UTC|[+-]\d\d:?\d\d))?)?\b"
    r"|\b\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?(?:\s?[AP]M)?\b"
    r"|(?<![\w.])\d+(?:[.,]\d+)?\s?(?:ms|msecs?|millis(?:econds?)?|s|secs?|seconds?|mins?|minutes?|h|hours?)\b"
)
_SOURCE_LINE = rf"\b[\w./-]+\.{_SOURCE}:\d+(?::\d+)?\b"
_PATH = (
    r"\b[A-Za-z]:\\[^\s\"'<>|]+|(?<![\w:/.~<])(?:~|\.{1,2})?/[\w.@%+=-]+(?:/[\w.@%+=-]+)*/?"
    r"|\b[\w-][\w.-]*(?:/[\w.-]+)+\.[A-Za-z]\w{0,5}\b"
)
_QUERY = r"\?[\w.%~-]+=[^\s\"'<>)]*"
_NUMBER = r"(?<![A-Za-z0-9_])(?:\d+(?:[.,]\d+)+|\d{2,})"

_QUOTED = r"\"[^\"\n]*\"|(?<!\w)'[^'\n]*'(?!\w)|“[^”\n]*”|‘[^’\n]*’|«[^»\n]*»|`[^`\n]*`"
_XPATH_STEP = r"[\w.:*@-]+(?:\[(?:[^\]\"']|\"[^\"]*\"|'[^']*')*\])*"
_XPATH = rf"(?<![:\w])//{_XPATH_STEP}(?:/{{1,2}}{_XPATH_STEP})*"
_ELEMENT = (
    r"\b[A-Za-z][\w.]*:id/[\w.-]+|(?<!\w)~[A-Za-z][\w.-]*"
    r"|\b(?:resource-id|accessibility[ _-]?id|id)\s?=\s?[A-Za-z_][\w.-]*"
)

_KINDS = {
    "stack": _INLINE_FRAME,
    "url": _URL,
    "id": f"{_UUID}|{_HEX}",
    "address": _ADDRESS,
    "time": _TIME,
    "path": f"{_SOURCE_LINE}|{_PATH}",
    "query": _QUERY,
    "n": _NUMBER,
}
_KEPT = {"quoted": _QUOTED, "xpath": _XPATH, "element": _ELEMENT}
_TOKEN = re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in (_KEPT | _KINDS).items()))
_ACCIDENTAL_QUOTE = re.compile(rf".(?:{_UUID}|{_HEX}|{_URL}|{_ADDRESS}|/[\w.@%+=/-]+|[A-Za-z]:\\[^\"']+).")
_URL_PARTS = re.compile(r"([^:]+://)([^/?#]*)([^?#]*)(.*)", re.DOTALL)


def normalise(message: str) -> str:
    """The message without what differs from run to run, in one line of at most 200 characters."""
    text = _collapse_frames(_ANSI.sub("", message[:_READ_LINES_OF]))
    text = _TOKEN.sub(_replace, text[:_READ_TOKENS_OF])
    return " ".join(text.split())[:REASON_LENGTH]


def fingerprint(category: str, step_kind: str, reason: str) -> str:
    """The group of a failure: 16 hex digits over its category, the kind of its step and the normalised text."""
    return hashlib.sha256("\0".join((category, step_kind, reason)).encode()).hexdigest()[:16]


def _collapse_frames(text: str) -> str:
    lines: list[str] = []
    quotes_source = False  # Python prints the source line, indented by four, after each frame
    for line in text.splitlines():
        frame = _FRAME.match(line) or (quotes_source and line.startswith("    "))
        quotes_source = line.lstrip().startswith('File "')
        if not frame:
            lines.append(line)
        elif not lines or lines[-1] != "<stack>":
            lines.append("<stack>")
    return "\n".join(lines)


def _replace(match: re.Match[str]) -> str:
    kind, text = match.lastgroup, match.group()
    if kind == "url":
        return _shorten_url(text)
    if kind == "quoted" and _ACCIDENTAL_QUOTE.fullmatch(text):
        return text[0] + _TOKEN.sub(_replace, text[1:-1]) + text[-1]
    if kind in _KEPT:
        return _without_id(text) if kind == "element" else text
    return f"<{kind}>"


def _without_id(element: str) -> str:
    """`id=<uuid>` is the id of a session or a request, not that of an element."""
    return re.sub(f"{_UUID}|{_HEX}", "<id>", element)


def _shorten_url(url: str) -> str:
    parts = _URL_PARTS.match(url)
    if parts is None:
        return "<path>"
    scheme, host, path, query = parts.groups()
    host = "<address>" if re.search(rf"{_ADDRESS}|:\d", host) else host
    return f"{scheme}{host}{'/<path>' if path.strip('/') else path}{'<query>' if query else ''}"
