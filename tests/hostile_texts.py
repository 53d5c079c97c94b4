"""Texts that attack whoever shows them, and what terminals and CI systems would do with an output."""

import re
import unicodedata
from collections.abc import Iterator

from hypothesis import strategies as st

PIECES = (
    "##vso[task.setvariable variable=PATH]",
    "##[error]",
    "##teamcity[buildStop]",
    "##",
    "#",
    "[",
    "::add-mask::",
    "::",
    ":",
    "error file=a::",
    "---",
    "--- ",
    "+++ ",
    "~~~ ",
    "^^^ +++",
    "section_start:1:a\r\x1b[0K",
    "Section_End",
    "travis_fold:end:",
    "travis_time",
    "@@[section:begin]",
    "[[ATTACHMENT|/etc/passwd]]",
    "[[Property",
    "|",
    "<DartMeasurementFile>",
    "<ctest",
    "Measurement",
    "SPINNAKER_PROPERTY_A=b",
    "@@@STEP_FAILURE@@@",
    "\x1b]52;c;cm0gLXJmIH4=\x07",
    "\x1b[2J",
    "\x9b31m",
    "\x7f",
    "\x00",
    "\ud800",
    "\u202e",
    "\u2066",
    "\ufeff",
    "\u2028",
    "\x85",
    "\xa0",
    "\\",
    '"',
    "\r\n",
    "\r",
    "\n",
    "\t",
    " ",
    "x" * 90,
    "größe 🚀",
)
TEXTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=8).map("".join)
# All of them in one text.
ANYTHING = "\n".join(PIECES)
_STYLES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_ANYWHERE = re.compile(
    r"##\[|##vso\[|##teamcity\[|section_start:|section_end:|travis_fold:|travis_time:|@@\[|\[\[(?:attachment|property)\|"
    r"|<(?:ctest|dart)measurement|spinnaker_(?:property_|config_json=)",
    re.IGNORECASE,
)
_HEADERS = re.compile(r"(?:---|\+\+\+|~~~)\s|\^\^\^\s+\+\+\+|@@@[A-Z]")
_REORDERING = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


def commands(output: str) -> Iterator[str]:
    """The lines that a CI system takes for commands: as the runners of GitHub, Azure, TeamCity, GitLab, Buildkite,
    Travis CI, Appcircle, Buildbot and Spinnaker look for them, and Jenkins, GitLab and CTest in results of tests.
    """
    for line in re.split(r"[\r\n]", _STYLES.sub("", output)):
        if line.lstrip().startswith("::") or _ANYWHERE.search(line) or _HEADERS.match(line.lstrip()):
            yield line


def controls(output: str) -> set[str]:
    """The characters that act on a terminal or that show a text as another one."""
    return {character for character in output if _acts(character)}


def _acts(character: str) -> bool:
    category = unicodedata.category(character)
    if category == "Cf":
        return unicodedata.bidirectional(character) in _REORDERING or character in "\u061c\u200e\u200f\ufeff"
    return category in ("Cc", "Cs", "Zl", "Zp") and character not in "\n\t"
