"""What is wrong with a CSS selector, as far as that is certain without a browser.

Only the browser knows all selectors. What is refused here, no browser accepts.
"""

import re

_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
# Of a selector without escapes.
_STRING = re.compile(r""""[^"\\\n]*(?:"|$)|'[^'\\\n]*(?:'|$)""")
_ESCAPE = re.compile(r"\\.", re.DOTALL)
_IMPOSSIBLE = re.compile(r"""[{};!@$%^?/<="'`]""")
_UNNAMED = re.compile(r"[.#](?![-\w]|[^\x00-\x7f])|[.#]\d|:(?![-:\w]|[^\x00-\x7f])", re.UNICODE)
_COMBINATORS = (">", "+", "~")
_CLOSERS = {")": "(", "]": "["}


def css_problem(source: str) -> str:
    """Why no browser accepts the selector; an empty text for one that a browser may accept."""
    plain = _ESCAPE.sub("_", _COMMENT.sub(" ", source))
    outside, problem = _outside_brackets(_STRING.sub(_without_content, plain))
    if problem:
        return problem
    for part in map(str.strip, outside.split(",")):
        if not part:
            return "a part of the list is empty"
        if part.startswith(_COMBINATORS) or part.endswith(_COMBINATORS):
            return f'"{part}" begins or ends with a combinator'
        if match := _IMPOSSIBLE.search(part):
            return f'"{match[0]}" has no meaning there'
        if match := _UNNAMED.search(part):
            return f'no name begins after "{match[0][0]}"'
    return ""


def _without_content(string: re.Match[str]) -> str:
    return '""'


def _outside_brackets(text: str) -> tuple[str, str]:
    """The text without what is in brackets, and what is wrong with the brackets. Open ones end with the text."""
    opened: list[str] = []
    outside: list[str] = []
    for sign in text:
        if sign in _CLOSERS and (not opened or opened.pop() != _CLOSERS[sign]):
            return "", f'"{sign}" closes nothing'
        if not opened:
            outside.append(sign)
        if sign in _CLOSERS.values():
            opened.append(sign)
    return "".join(outside), ""
