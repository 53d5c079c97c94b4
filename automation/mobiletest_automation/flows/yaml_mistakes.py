"""Says what people usually meant where YAML cannot be read: a missing ---, a tab, a forgotten colon."""

import re
from dataclasses import dataclass

_BREAK = re.compile("\r\n|[\r\n\x85\u2028\u2029]")
_SEPARATOR = re.compile(r"---(\s.*)?", re.UNICODE)
_ALMOST_SEPARATOR = re.compile(r"(--|-{4,}|[\u2013\u2014][-\u2013\u2014]*)\s*", re.UNICODE)
_HEADER = re.compile(r"\w+\s*:(\s|$)", re.UNICODE)
_FIELD = re.compile(r"\s*(?:-\s+)?(\w+)\s*:(?:\s|$)", re.UNICODE)
_BARE_COMMAND = re.compile(r"\s*-\s+(\w+)\s*(#.*)?", re.UNICODE)
_COMMAND_WITH_VALUE = re.compile(r"\s*-\s+(\w+)\s*:\s+[^\s#|>].*", re.UNICODE)
_FIELD_IN_LINE = re.compile(r"\s*(?:-\s+)?([a-z]\w*)\s*:\s+([a-z]\w*)\s*:(?:\s.*)?", re.UNICODE)
_EXPRESSION_WITHIN = re.compile(r"""[^'"]*[\[{]\s*(?:[^'"]*[:,]\s+)?\$\{.*""", re.UNICODE)
_EXPRESSION = re.compile(r".*:\s+\$\{.*", re.UNICODE)
_QUOTED = re.compile(r"\s*(?:-\s+)?\w+\s*:\s+(['\"]).*\1\s*", re.UNICODE)
_NOT_PLAIN = "@`%"
_CONFLICT = re.compile(r"(<{7}|>{7}|={7})( .*)?")
_NO_DASH = re.compile(r"(-?)([a-z]\w*)\s*", re.UNICODE)
_OPENED = re.compile(r"\s*(?:-\s+)?\w+\s*:\s+([\[{])", re.UNICODE)
_BLOCK_TEXT = re.compile(r"( *)(?:-\s+)?\w+\s*:\s+[|>][-+]?\s*", re.UNICODE)


@dataclass(frozen=True, slots=True)
class Mistake:
    """What is wrong where; line and column count from 1."""

    line: int
    column: int
    message: str


def explain_mistake(text: str, line: int, column: int, problem: str) -> Mistake | None:
    """The mistake behind what a YAML parser says of a place; None if it is not one of the usual ones."""
    lines = [*_BREAK.split(text), ""]  # a parser may find the end below the last line
    if line > len(lines):
        return None
    return (
        _find_conflict(lines, line)
        or _find_tab(lines[line - 1], line, column)
        or _find_separator(lines, line)
        or _find_missing_dash(lines, line)
        or _find_configuration_below(lines, line, problem)
        or _find_field(lines, line, column)
        or _find_text_of_block(lines, line, problem)
        or _find_open_bracket(lines, line, problem)
        or _find_value(lines[line - 1], line, column, problem)
        or _find_indentation(lines, line, column, problem)
    )


def _find_tab(line_text: str, line: int, column: int) -> Mistake | None:
    before = line_text[: len(line_text) - len(line_text.lstrip(" \t"))]
    at = before.find("\t") if "\t" in before else column - 1
    if line_text[at : at + 1] != "\t":
        return None
    return Mistake(line, at + 1, "there is a tab in the indentation: YAML takes only spaces")


def _find_separator(lines: list[str], line: int) -> Mistake | None:
    """A list that follows the configuration, without the line that ends it."""
    above = lines[: line - 1]
    if any(map(_SEPARATOR.fullmatch, above[1:])) or not any(map(_HEADER.match, above)):
        return None
    for number, text in enumerate(above, 1):
        if _ALMOST_SEPARATOR.fullmatch(text):
            return Mistake(number, 1, "the line between the configuration and the commands is --- (three dashes)")
    if lines[line - 1].startswith("-"):
        return Mistake(line, 1, "a line with --- is missing above: it ends the configuration, and commands follow")
    return None


def _find_conflict(lines: list[str], line: int) -> Mistake | None:
    at = next((number for number, text in enumerate(lines[:line], 1) if _CONFLICT.fullmatch(text)), None)
    return Mistake(at, 1, "this line is of a merge conflict of git, which is not resolved") if at else None


def _find_missing_dash(lines: list[str], line: int) -> Mistake | None:
    """A command alone in its line, above a list: YAML reads both as one text."""
    number = next((number for number in range(line - 1, 0, -1) if lines[number - 1].strip()), 0)
    bare = _NO_DASH.fullmatch(lines[number - 1]) if number else None
    if bare is None or not lines[line - 1].startswith("-"):
        return None
    missing = "a space is missing after the dash" if bare[1] else "a dash and a space are missing before the command"
    return Mistake(number, 1, f"{missing}: write - {bare[2]}")


def _find_configuration_below(lines: list[str], line: int, problem: str) -> Mistake | None:
    if "expected '-' indicator" not in problem or not (key := _HEADER.match(lines[line - 1])):
        return None
    name = key.group().rstrip(": \t")
    hint = "a command begins with a dash, and the configuration stands above ---"
    return Mistake(line, 1, f'unexpected "{name}" among the commands: {hint}')


def _find_text_of_block(lines: list[str], line: int, problem: str) -> Mistake | None:
    """A text below | or > that is not indented."""
    if "could not find expected ':'" not in problem:
        return None
    for number in range(line - 1, 0, -1):
        block = _BLOCK_TEXT.fullmatch(lines[number - 1])
        if block and _indentation(lines[number]) <= len(block[1]) + 2 * lines[number - 1].lstrip().startswith("-"):
            return Mistake(number + 1, 1, "the text below | or > has to be indented more than the line above")
    return None


def _find_open_bracket(lines: list[str], line: int, problem: str) -> Mistake | None:
    """A { or [ that nothing closes in its line or below."""
    if not re.search(r"did not find expected (',' or|node content)", problem):
        return None
    for number in range(line, 0, -1):
        text = lines[number - 1]
        if opened := _OPENED.match(text):
            bracket = opened[1]
            closing = "}" if bracket == "{" else "]"
            below = "\n".join(lines[number - 1 : line])
            if below.count(bracket) > below.count(closing) and "${" not in below:
                return Mistake(
                    number, opened.start(1) + 1, f"the {bracket} that begins here is not closed by {closing}"
                )
            return None
    return None


def _find_field(lines: list[str], line: int, column: int) -> Mistake | None:
    """A field below a command that has no colon, or that has its value in the same line."""
    field = _FIELD.match(lines[line - 1])
    command_line = next((text for text in reversed(lines[: line - 1]) if text.strip()), "")
    if field is None or field.start(1) < _indentation(command_line) + 2 or column > field.end():
        return None
    name, at = field[1], field.start(1) + 1
    if lines[line - 1].lstrip().startswith("-") and _COMMAND_WITH_VALUE.fullmatch(command_line):
        return Mistake(line, at, f'unexpected "{name}": its dash is indented more than that above, but steps align')
    if bare := _BARE_COMMAND.fullmatch(command_line):
        return Mistake(line, at, f'unexpected "{name}": "{bare[1]}" needs a colon before fields can follow it')
    if valued := _COMMAND_WITH_VALUE.fullmatch(command_line):
        hint = f'"{valued[1]}" has a value in its line: write the value as a field, too'
        return Mistake(line, at, f'unexpected "{name}": {hint}')
    return None


def _find_value(line_text: str, line: int, column: int, problem: str) -> Mistake | None:
    if (first := line_text[column - 1 : column]) and first in _NOT_PLAIN:
        return Mistake(line, column, f"a value that begins with {first} has to be in quotes")
    if "mapping values are not allowed" in problem:
        return _find_colon(line_text, line, column)
    if "unknown escape character" in problem or "hexdecimal number" in problem:
        message = "in double quotes a backslash is written \\\\; in single quotes, or without any, it is one as it is"
        return Mistake(line, column, message)
    if "did not find expected ','" in problem and (within := _EXPRESSION_WITHIN.fullmatch(line_text)):
        at = within.group().index("${") + 1
        return Mistake(line, at, "an expression within {...} or [...] has to be in quotes")
    if "did not find expected" in problem and (value := _QUOTED.fullmatch(line_text[: column - 1])):
        how = "'' instead of '" if value[1] == "'" else '\\" instead of "'
        message = f"the quotes end before this: put the whole value into quotes, and write {how} inside of them"
        return Mistake(line, column, message)
    return None


def _find_colon(line_text: str, line: int, column: int) -> Mistake | None:
    """A field in the line of its command, or an expression with a colon."""
    if field := _FIELD_IN_LINE.fullmatch(line_text):
        hint = f'write "{field[2]}" in a line of its own below {field[1]}:, or the whole value in quotes'
        return Mistake(line, field.start(2) + 1, f'unexpected "{field[2]}" in the line of {field[1]}: {hint}')
    if _EXPRESSION.fullmatch(line_text):
        return Mistake(line, column, "an expression that has a colon with a blank after it has to be in quotes")
    return None


def _find_indentation(lines: list[str], line: int, column: int, problem: str) -> Mistake | None:
    above = [text for text in lines[: line - 1] if text.strip()]
    if "mapping values are not allowed" in problem and above and (field := _FIELD.match(lines[line - 1])):
        within = _FIELD.match(above[-1])
        if within and field.start(1) > within.start(1) and not above[-1].rstrip().endswith(":"):
            message = f'"{field[1]}" is indented more than "{within[1]}" above: fields that belong together align'
            return Mistake(line, field.start(1) + 1, message)
    if column - 1 != _indentation(lines[line - 1]) or not above or "did not find expected" not in problem:
        return None
    if column - 1 in map(_indentation, above):
        return None
    return Mistake(line, column, "the indentation fits no line above: steps and fields that belong together align")


def _indentation(text: str) -> int:
    return len(text) - len(text.lstrip(" "))
