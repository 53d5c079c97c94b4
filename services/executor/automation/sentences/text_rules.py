"""Rules for typing into fields and clearing them."""

import re
from dataclasses import replace

from services.executor.automation.sentences.intents import Action, Intent, NotUnderstood
from services.executor.automation.sentences.normalizer import QUOTED, NormalizedSentence
from services.executor.automation.sentences.rule import Meaning, always, rule, unquote, with_target, with_target_group
from services.executor.automation.sentences.targets import may_say_more

_TYPE = r"(?:type|enter|input|write|put|insert|key\s+in)(?:e?s)?(?:\s+in)?"
_INTO = r"(?:in(?:to|side)?|in\s+to|to|on|for|as|within)"
_A_TEXT = r"(?:(?:the|a)\s+)?(?:(?:text|value|string|word|words|phrase)\s+)?"
_HELD = r"(?:(?:the\s+)?(?:text|value|contents?)\s+(?:of|in)\s+)?"
_DESCRIBING = frozenset(
    re.findall(
        r"\S+",
        """
        my your the a an some any his her their its this that it them something anything nothing everything
        valid invalid correct wrong incorrect random new existing same following
        username password email e-mail name address text value credentials number code details information info phone
        date character characters letter letters word words keyword query
        """,
    )
)
"""Words that describe a text: "type my password" must never type "my password"."""

_QUOTE_IT = NotUnderstood('quote the text to type, for example: Type "Ada" into "Name"')


def _type(worded: NormalizedSentence, found: re.Match[str]) -> Meaning:
    written = found["value"]
    value = unquote(worded, written)
    if value == written and _describes(written):
        return _QUOTE_IT
    return with_target(worded, found["target"], Intent(action=Action.TYPE, value=value))


def _replace(worded: NormalizedSentence, found: re.Match[str]) -> Meaning:
    """ "Set X to Y" names the new content of the field, whatever it contains now."""
    meaning = _type(worded, found)
    return replace(meaning, replaces=True) if isinstance(meaning, Intent) else meaning


def _describes(written: str) -> bool:
    words = re.findall(r"[\w'’@.+-]+", written.lower())
    return may_say_more(written) or bool(_DESCRIBING.intersection(words)) or re.search(QUOTED, written) is not None


def _type_here(worded: NormalizedSentence, found: re.Match[str]) -> Meaning:
    return Intent(action=Action.TYPE, value=unquote(worded, found["value"]))


RULES = (
    rule(
        rf"{_TYPE}\s+{_A_TEXT}(?P<value>{QUOTED})(?:\s+{_INTO}\s+(?:the\s+)?(?:focused|current|active)\s+(?:text\s+)?(?:field|input))?",
        _type_here,
    ),
    rule(rf"{_TYPE}\s+{_A_TEXT}(?P<value>{QUOTED})\s+{_INTO}\s+(?P<target>.+)", _type),
    rule(rf"{_TYPE}\s+(?P<value>.+?)\s+into\s+(?P<target>.+)", _type),
    rule(r"(?:type|enter|input|write|key\s+in)(?:e?s)?\s+(?P<value>\S+(?:\s+\S+)*)\s+in\s+(?P<target>.+)", _type),
    rule(r"(?:type|enter|input|use)(?:e?s)?\s+(?P<value>\S+)\s+as\s+(?P<target>.+)", _type),
    rule(rf"fills?(?:\s+(?:in|out|up))?\s+(?P<target>.+?)\s+with\s+{_A_TEXT}(?P<value>{QUOTED}|\S+)", _replace),
    rule(rf"fills?(?:\s+in)?\s+(?P<value>{QUOTED})\s+{_INTO}\s+(?P<target>.+)", _type),
    rule(rf"(?:set|change|update)s?\s+{_HELD}(?P<target>.+?)\s+to\s+{_A_TEXT}(?P<value>{QUOTED})", _replace),
    rule(rf"replaces?\s+{_HELD}(?P<target>.+?)\s+(?:with|by)\s+{_A_TEXT}(?P<value>{QUOTED})", _replace),
    rule(rf"in(?:to)?\s+(?P<target>.+?)\s*,?\s+{_TYPE}\s+{_A_TEXT}(?P<value>{QUOTED})", _type),
    rule(rf"{_TYPE}\s+(?P<target>[^{QUOTED[1:-1]}]+?)\s*:?\s+(?P<value>{QUOTED})", _type),
    rule(
        r"(?:clear|empty|erase|delete)(?:e?s)?\s+(?:(?:the|all)\s+)*(?:text|input|field|contents?|text\s+field|focused\s+field)",
        always(Intent(action=Action.CLEAR)),
    ),
    rule(
        r"(?:clear|empty|erase|delete)(?:e?s)?\s+(?:out\s+)?(?:(?:the|all)\s+)*(?:text|contents?|value|input)\s+"
        r"(?:of|in|from|inside)\s+(?P<target>.+)",
        with_target_group(Intent(action=Action.CLEAR)),
    ),
    rule(r"(?:clear|empty|erase)(?:e?s)?\s+(?:out\s+)?(?P<target>.+)", with_target_group(Intent(action=Action.CLEAR))),
)
