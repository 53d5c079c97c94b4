"""Makes text of others harmless: it controls no terminal, and no CI system reads a command in it.

Test names, messages and screens come from the app under test, from colleagues and from pull requests. They stay
readable: a control character becomes a visible U+FFFD, and a command gets a backslash.
"""

from __future__ import annotations

import re

# Controls of terminals and of the direction of text, line ends for some readers only, and halves of characters.
UNPRINTABLE = (
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u180e\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
    r"\U000e0000-\U000e007f]"
)
# What CI systems look for everywhere in a line: of each command the one character without which it is none.
IN_LINE = (
    r"(?<=#)#(?=[a-z]*\[)"  # ##[...] of Azure Pipelines and GitHub, ##vso[...], ##teamcity[...]
    r"|(?:(?<=section_start)|(?<=section_end)|(?<=travis_fold)|(?<=travis_time)):"  # GitLab, Travis CI
    r"|(?<=@)@(?=\[)"  # @@[...] of Appcircle
    r"|(?<=\[)\[(?=[a-z]+\|)"  # [[ATTACHMENT|path]] in JUnit, whose file Jenkins, GitLab and Azure publish
    r"|(?<=<)[cd](?=(?:test|art)measurement)"  # <CTestMeasurementFile ...> and <DartMeasurement ...>, as CTest does
    r"|(?<=spinnaker)_(?=property_|config_json=)"
)
FLAGS = re.ASCII | re.IGNORECASE
_AT_LINE_START = re.compile(
    r"^((?:[^\S\n]|\x1b\[[\d;]*m)*)"  # GitHub skips spaces, Buildkite the colors, which tables have
    r"(?=::|(?:---|\+\+\+|~~~)[^\S\n]|\^\^\^[^\S\n]+\+\+\+|@@@[A-Za-z])",  # the last of Buildbot
    re.MULTILINE | re.UNICODE,
)
_CONTROL = re.compile(UNPRINTABLE)
_COMMAND = re.compile(IN_LINE, FLAGS)


def printable(text: str) -> str:
    """The text without what would act on a terminal or a CI system; tabs and line feeds stay."""
    return guard_line_starts(_COMMAND.sub(r"\\\g<0>", visible(text)))


def visible(text: str) -> str:
    """The text without what would act on a terminal."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n"))


def one_line(text: str) -> str:
    """The text in one line: its lines would pass for others of the command, such as a verdict."""
    first, *more = text.split("\n")
    return " ".join([first.rstrip(), *filter(None, map(str.strip, more))]) if more else text


def guard_line_starts(text: str) -> str:
    """The text without commands at the beginning of its lines, which may be colored: where a table breaks a text, a
    line begins with the middle of it.
    """
    return _AT_LINE_START.sub(r"\1\\", text)
