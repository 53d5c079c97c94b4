"""Regular expressions for failure messages: what differs from run to run, what must stay, and what is not text.

Repeats that a hostile message could make long are possessive (`*+`, `++`) or bounded, and what could begin anywhere
begins at the edge of a word, so that the work is linear in its length (tests/unit/reporting/test_fingerprint_cost.py).
"""

import re

# --- no text ----------------------------------------------------------------------------------------------------------
_ESCAPE = r"(?:\x1b|\\u001[bB]|\\x1[bB]|\\033|\\e|\^\[)"
ANSI = re.compile(
    rf"{_ESCAPE}\[[0-?]{{0,40}}[ -/]{{0,4}}[@-~]|\x1b\][^\x07\x1b]{{0,200}}(?:\x07|\x1b\\)|\x1b[@-Z\\-_]"
    r"|\x9b[0-?]{0,40}[@-~]|\[(?:\d{1,3};){0,8}\d{1,3}m(?!\])"
)
UNPRINTABLE = re.compile("[\x00-\x08\x0e-\x1b\x7f\u00ad\u200b-\u200f\u2060\ufeff]")
LOG_PREFIX = re.compile(
    r"\d\d-\d\d \d\d:\d\d:\d\d\.\d{3,6}[ \t]{1,9}\d{1,7}[ \t]{1,9}\d{1,7} [VDIWEFA] [\w.:$/-]{1,80}? {0,20}: "
)

# --- frames of a stack, each a line of its own ------------------------------------------------------------------------
_ARGUMENTS = r"\([^()]*+(?:\([^()]*+\)[^()]*+)?\)"
FRAME = re.compile(
    rf"""\s*+(?:
        at\s++(?:(?:async\s|new\s)?[^\s(]++(?:\s\[as\s[^\s(]++)?\s?
                   \((?=[^()]*+\))(?:[^():]*+(?::(?!\d)[^():]*+)*+:\d[^()]*+|native\ method|unknown\ source
                                     |<anonymous>|index\ \d++)\)(?:\s\{{)?
               | [\w$.<>`/\[\]@+-]*\.[\w$<>`]++{_ARGUMENTS}(?:\ in\s.*)?
               | (?=[\d:]*+[^\s\d:])\S*:\d++:\d++ )  # Java, Kotlin, JavaScript, .NET
      | [\w.<>/*$-]{{0,200}}+@(?:\S*:)?\d++:\d++  # Firefox, Safari, React Native
      | file\s".*",\sline\s\d++.*  # Python
      | \#\d++\s++(?:0x|pc\s|[^(]{{1,200}}+\((?:[\w+.-]*+[:/]|\d++\):)|\S++\sat\s\S*:\d).*  # native, Dart, PHP, gdb
      | \d++\s++\S++\s++0x[0-9a-f]++\s.*  # iOS
      | from\s\S*:\d++:in\s.*  # Ruby
      | goroutine\s\d++\s\[.* | \S*\.go:\d++(?:\s\+0x[0-9a-f]++)?  # Go
      | [\w./]++(?:\(\*\w++\)[\w.]*+)?\((?:\.\.\.|0x[0-9a-fx,\s{{}}?.]*+)\)
      | \.\.\.\s\d++\s(?:more|common\sframes.*)
      | suppressed:\s.*
      | <asynchronous\ suspension>
      | traceback\s\(most\srecent\scall\slast\):.*
      | (?:stack\s?trace|backtrace|call\sstack):\s*
    )""",
    re.VERBOSE | re.IGNORECASE,
)

# --- differs from run to run ------------------------------------------------------------------------------------------
_SOURCE = r"(?:py|js|mjs|ts|tsx|jsx|kt|java|swift|mm|m|cc|cpp|c|h|dart|rb|go|rs|yaml|yml)"
_INLINE_FRAME = (
    rf"\bat [\w$.<>]{{1,200}}+ ?\([^()\n:]{{1,200}}+:\d++(?::\d++)?\)|\(\w[\w.]{{0,200}}\.{_SOURCE}:\d++(?::\d++)?\)"
)
_URL = r"\b[A-Za-z][A-Za-z0-9+.-]{0,20}://[^\s\"'<>`)\]]++"
_UUID = r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b|\b[0-9A-F]{8}-[0-9A-F]{16}\b"
_HEX = r"(?<![A-Za-z0-9])(?=[a-fA-F]*+\d)(?=\d*+[a-fA-F])[0-9a-fA-F]"  # with digits and letters
_WORDLIKE_ID = (
    r"(?<![A-Za-z0-9])(?=[A-Za-z]*+\d)(?=\d*+[A-Za-z])[A-Za-z0-9]{20,}+\b"
    r"|\b(?:req|org|chatcmpl|msg|toolu|resp|sess)[-_](?=[A-Za-z]*+\d)[A-Za-z0-9]{8,}+"
    r"|\bsk-(?:[a-z]{1,12}-)?[A-Za-z0-9]{0,40}+\*{2,}+[A-Za-z0-9]{0,40}+"  # a key that was made unreadable
    r"|\bf\.[0-9A-F]{6,40}+\.d\.[0-9A-F]{6,40}+\.e\.\d++|\bemulator-\d++\b"  # an element of chromedriver; a device
)
_LOOSE_ID = (
    r"(?<= -s )[\w.:-]++"  # a device named to adb
    r"|(?<=[\w$\])]@)[0-9a-f]{1,8}+(?!\.?\w)|(?<=\{)[0-9a-f]{5,8}+(?= )|(?<= )t-?\d{1,6}+(?=\})"  # objects of Java
    r"|(?<=-)(?=[b-df-hj-np-tv-z]*+\d)[b-df-hj-np-tv-z0-9]{8,10}+-[b-df-hj-np-tv-z0-9]{5}+\b"  # pods
)
_GROUP6 = r"[0-9a-fA-F]{1,4}"
_NETWORK = (
    r"\b0x[0-9a-fA-F]++\b|\b\d{1,3}(?:\.\d{1,3}){3}\b(?::\d++)?"
    rf"|\[[0-9a-fA-F:.]{{0,45}}:[0-9a-fA-F:.]{{0,45}}\](?::\d++)?|\b(?:[0-9a-fA-F]{{2}}:){{5}}[0-9a-fA-F]{{2}}\b"
    rf"|(?<![\w:])(?:{_GROUP6}(?::{_GROUP6}){{0,6}}+)?::{_GROUP6}(?::{_GROUP6}){{0,6}}+(?::\d++)?(?![\w:])"
    r"|\blocalhost:\d++\b"
)
_MAIL = r"(?<![\w.+@-])[\w.+-]{1,64}+@[A-Za-z0-9-]{1,63}+(?:\.[A-Za-z0-9-]{1,63}+)++"
_HMS = r"\d{1,2}:\d\d(?::\d\d(?:[.,]\d{1,9}+)?)?(?:\s?[AP]M\b)?(?:\s?(?:(?:Z|UTC|GMT)\b|[+-]\d\d:?\d\d\b))?(?![\d:])"
_DAY = r"\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6}+"
_WEEKDAY = f"(?:{_DAY},? )?"
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|June?|July?|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}+"
_DURATION = (
    r"\d++(?:[.,]\d++)?(?:\s?(?i:ns|[uµμ]s|ms|msecs?|milli(?:s|seconds?)|s|secs?|seconds?|mins?|minutes?|h|hrs?|hours?|days?)"
    r"(?![A-Za-z])|m(?=\s?\d++\s?s\b))"
)
_TIME = (
    rf"\b\d{{4}}-\d\d-\d\d(?:[T ]{_HMS})?(?!\d)|\b\d{{8}}T\d{{6}}Z?\b"
    rf"|{_WEEKDAY}\b\d{{1,2}}[ /-]{_MONTH}[ /-]\d{{4}}(?:[ :T]{_HMS})?"
    rf"|{_WEEKDAY}\b{_MONTH} \d{{1,2}},?(?: \d{{4}},?)?(?: {_HMS}(?: \d{{4}}\b)?)(?!\d)"
    rf"|\b\d\d-\d\d {_HMS}|\b{_HMS}|\bPT(?:\d++(?:\.\d++)?[HMS])++\b"
    rf"|(?<![\w.]){_DURATION}(?:\s?{_DURATION})*+"
)
_SEGMENT = r"[\w.@%+=~$-]++"
_PATH = (
    rf"(?<![\w./-])[\w./-]{{1,200}}\.{_SOURCE}:\d++(?::\d++)?\b"
    r"|\b[A-Za-z]:\\[^\s\"'<>|,;)]++|(?<!\\)\\\\[\w.-]++\\[^\s\"'<>|,;)]++"
    rf"|(?<![\w:/.~<])(?:~|\.{{1,2}})?/{_SEGMENT}(?:/{_SEGMENT})*+/?(?::\d++){{0,2}}+"
)
_SLASHED = r"(?<![\w./@~-])[\w-][\w.-]*+(?:/(?!\d{1,3}\.\d{1,3}\.)[\w-][\w.-]*+)++"
EXTENSION = re.compile(r".*\.[A-Za-z]\w{0,5}")
_QUERY = r"\?[\w.%~\[\]-]{1,100}+=[^\s\"'<>)]*+"
_NUMBER = r"(?<![A-Za-z0-9_])(?:v?\d++(?:[.,]\d++)++|\d{2,}+|\d(?=x\d\d))(?:x\d++)*+"

# --- what has to stay -------------------------------------------------------------------------------------------------
_QUOTED = (
    r"\"[^\"\n]{0,300}+\"|(?<!\w)'(?:[^'\n]|(?<=\w)'(?=\w)){0,300}+'(?!\w)|`[^`\n]{0,300}+`"
    r"|“[^“”\n]{0,300}+”|‘[^‘’\n]{0,300}+’|„[^„“”\n]{0,300}+[“”]|«[^«»\n]{0,300}+»|‹[^‹›\n]{0,300}+›"
    r"|「[^「」\n]{0,300}+」|『[^『』\n]{0,300}+』"
)
_STEP = (
    r"[\w.:*@-]{1,100}+(?:\[(?:[^\[\]\"'\n]|\"[^\"\n]{0,200}+\"|'[^'\n]{0,200}+'|\[[^\[\]\n]{0,100}+\]){0,200}+\])*+"
)
_XPATH = rf"(?<![:\w])//{_STEP}(?:/{{1,2}}{_STEP})*+"
_ELEMENT = (
    r"(?:\b\d++/)?\b[A-Za-z][\w.]{0,200}+:id/[\w.-]++|(?<![\w/])~[A-Za-z][\w.-]*+|(?<![\w&#])#[A-Za-z][\w-]*+"
    r"|\b(?:resource-id|accessibility[ _-]?id|test[ _-]?id|id)\s?=\s?[A-Za-z_][\w.-]*+"
    r"|\b(?:resource-id|accessibility[ _-]?id|test[ _-]?id|By\.\w{1,20}+)\s?:\s?[A-Za-z_][\w.-]*+"
    r"|\[(?:data-[\w-]{1,40}+|aria-[\w-]{1,40}+|id|name|class|text|label|type|value|role|href|resource-id|content-desc)"
    r"[~|^$*]?=[^\]\n]{1,200}+\]"
    r"|\bUiSelector\[[^\]\n]{1,300}+\]|\{Alert text : [^}\n]{0,300}+\}"
)
_MESSAGE_KEY = r"(?:message|msg|error|error_description|detail|details|reason|cause|stacktrace)"
_PROSE = (  # what is quoted because it is a value of JSON or the like, not because it is seen on a screen
    rf"(?:\"{_MESSAGE_KEY}\"|'{_MESSAGE_KEY}')\s?:\s?(?:\"(?:[^\"\\\n]|\\.){{0,2000}}+\"?|'(?:[^'\\\n]|\\.){{0,2000}}+'?)"
    r"|(?<![\w-])(?:reason: |desc = )(?:\"(?:[^\"\\\n]|\\.){0,2000}+\"|'[^'\n]{0,2000}+')"
)
_SERIAL = r"(?<=device )(?:'[\w.:-]{6,40}+'|\"[\w.:-]{6,40}+\")"

_ID = f"{_UUID}|{_HEX}{{8,}}+\\b|{_WORDLIKE_ID}"
_KINDS = {
    "prose": _PROSE,
    "serial": _SERIAL,
    "quoted": _QUOTED,
    "xpath": _XPATH,
    "element": _ELEMENT,
    "stack": _INLINE_FRAME,
    "url": _URL,
    "id": f"{_LOOSE_ID}|{_ID}",
    "address": f"{_NETWORK}|{_MAIL}",
    "time": _TIME,
    "path": _PATH,
    "slashed": _SLASHED,
    "query": _QUERY,
    "n": _NUMBER,
}
_BEGIN = r"(?:(?<![A-Za-z])|(?![A-Za-z]))(?=\S)"  # nothing begins within a word
_PLAIN = (  # a word that is only a word, which most of a message is
    rf"(?!(?!(?:at|id|accessibility|test|resource|reason|desc)\b|{_DAY}|{_MONTH})[A-Za-z]++(?:[\s,;!()]|\Z))"
)
TOKEN = re.compile(_BEGIN + _PLAIN + "(?:" + "|".join(f"(?P<{kind}>{it})" for kind, it in _KINDS.items()) + ")")
VOLATILE_QUOTE = re.compile(rf".(?:{_ID}|{_URL}|{_NETWORK}|/[\w.@%+=/-]++|[A-Za-z]:\\[^\"']++).", re.DOTALL)
VOLATILE_IN_QUOTES = re.compile(
    f"(?P<id>{_UUID}|{_HEX}{{16,}}+\\b|{_WORDLIKE_ID})|(?P<address>{_NETWORK})|(?P<n>(?<=\\bPID:)\\d++)"
)
IDS = re.compile(_ID)
NETWORK = re.compile(_NETWORK)
URL_PARTS = re.compile(r"([^:]+://)(?:[^/?#@]*@)?([^/?#]*)([^?#]*)(.*)", re.DOTALL)
