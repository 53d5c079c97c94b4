"""Rules for checks (what must be visible, and in which state) and for waits."""

import re
from dataclasses import replace

from mobiletest_automation.sentences.intents import Action, Intent, NotUnderstood, TextComparison
from mobiletest_automation.sentences.normalizer import QUOTED, NormalizedSentence
from mobiletest_automation.sentences.rule import (
    SECONDS,
    Meaning,
    Reader,
    check_of_target,
    first_match,
    rule,
    seconds_of,
    unquote,
)
from mobiletest_automation.sentences.targets import ROLES

_STILL = r"(?:\s+(?:now|still|currently|also|already|again))?"
_BE = (
    rf"(?:(?:is|are|becomes?|gets?|stays?|remains?){_STILL}"
    rf"|(?:(?:should|must|will|to|needs?\s+to|has\s+to|have\s+to){_STILL}\s+(?:be|become|stay|remain){_STILL}))"
)
_BE_NOT = (
    r"(?:(?:is|are)\s+(?:not|no\s+longer|never)|(?:should|must|can|will|to)\s+(?:not|no\s+longer|never)\s+be|not\s+to\s+be)"
    r"(?:\s+(?:currently|still|already))?"
)
_NO_MORE = r"(?:\s+(?:any\s?more|any\s+longer|now))?"
_PLACE = r"(?:\s+(?:on|in)\s+(?:the\s+)?(?:current\s+)?(?:screen|page|app|display))"
_VISIBLE_WORD = r"(?:visible|displayed|shown|present|showing|rendered|there)"
_VISIBLE = rf"(?:{_VISIBLE_WORD}{_PLACE}?|on\s+(?:the\s+)?(?:screen|page)|in\s+view)"
_HIDDEN = rf"(?:hidden|invisible|gone|absent|dismissed){_PLACE}?"
_ENABLED = r"enabled"
_DISABLED = r"disabled"
_USABLE = r"(?:clickable|tappable|usable|interactive)"
_UNUSABLE = r"(?:gr[ae]yed[\s-]+out|unclickable|unusable)"
_CHECKED = r"(?:checked|ticked|on|(?:turned|switched|toggled)\s+on)"
_UNCHECKED = r"(?:unchecked|unticked|off|(?:turned|switched|toggled)\s+off)"
_MODAL = r"(?:(?:should|must|will|can|could|to)\s+)?"
_SCREEN = r"(?P<screen>(?:the\s+)?(?:current\s+)?(?:screen|page|app|view|display))"
_ITS_TEXT = r"(?:(?:the|a)\s+)?(?:(?:text|value|word|words|message)\s+)?"
_SAYS = (
    rf"(?:(?:says?|reads?|shows?|displays?|equals?)|(?:should|must|to|will)\s+(?:say|read|show|display|equal)"
    rf"|{_BE}(?:\s+(?:equal\s+to|set\s+to))?)"
)
_SHOWS = r"(?:shows?|displays?|(?:should|must|to|will)\s+(?:show|display))"
_CONTAINS = r"(?:contains?|includes?|(?:should|must|to|will)\s+(?:contain|include))"
_CHECK = (
    r"(?:verif(?:y|ies)|checks?|asserts?|ensures?|confirms?|validates?|makes?\s+sure|be\s+sure|expects?)"
    r"(?:\s+(?:that|whether|if))?\s*,?\s+"
)
_VAGUE = re.compile(
    r"(?:the\s+|an?\s+|all\s+(?:the\s+)?)?(?:current\s+|correct\s+|next\s+|new\s+)?(?:page|screen|app|application|view|it|they|this|that"
    r"|everything|(?:something|someone|anything)(?:\s+[a-z]+)*|nothing|animations?|loading|content|data|results?|response|network|request|keyboard|user|layout)",
    re.IGNORECASE,
)


# Words that describe or count elements instead of naming one.
_DESCRIBED = re.compile(
    r"(?:(?:only|just)\s+)?(?:an?\s+single|some|several|many|multiple|more|no|at\s+least|at\s+most|exactly|one|two|three|four|five|\d+)\s+[^\W\d].*"
    r"|an?\s+[a-z][a-z ]*",
)


def reject_vague(phrase: str) -> NotUnderstood | None:
    """The refusal of a phrase that names no element."""
    kind = " ".join(phrase.lower().split()[-1:])
    if _VAGUE.fullmatch(phrase) or (_DESCRIBED.fullmatch(phrase) and (kind not in ROLES or not phrase.startswith("a"))):
        return NotUnderstood(f"{phrase} does not name an element: quote a text that must be visible")
    return None


def _check(action: Action, value: str | None = None, *, usable: bool = False, selects: bool = False) -> Reader:
    intent = Intent(action=action, value=value, usable=usable, selects=selects)
    return lambda sentence, match: _checked(sentence, match["target"], intent)


def _checked(sentence: NormalizedSentence, phrase: str, intent: Intent) -> Meaning:
    return reject_vague(phrase) or check_of_target(sentence, phrase, intent)


def _text(comparison: TextComparison) -> Reader:
    def read(sentence: NormalizedSentence, match: re.Match[str]) -> Meaning:
        value = unquote(sentence, match["value"])
        return _checked(
            sentence, match["target"], Intent(action=Action.ASSERT_TEXT, value=value, comparison=comparison)
        )

    return read


def _part_of_screen(sentence: NormalizedSentence, match: re.Match[str]) -> Meaning:
    intent = Intent(action=Action.ASSERT_VISIBLE, other_name=match["screen"])
    return check_of_target(sentence, f"text containing {match['value']}", intent)


def _shown_on_screen(sentence: NormalizedSentence, match: re.Match[str]) -> Meaning:
    return _checked(sentence, match["target"], Intent(action=Action.ASSERT_VISIBLE, other_name=match["screen"]))


_T = r"(?P<target>.+?)"
# Not "No": with a capital it may begin a text, such as "No results".
_NO = rf"(?:(?-i:no)|no(?=\s+(?:[a-z]+\s+)*{QUOTED}))"
_AMOUNT = r"[-+−]?(?:[£$€¥₹]\s?)?\d(?:[\d.,:/-]*\d)?(?:\s?(?:%|[£$€¥₹]|kr\b))?"
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)"
)
_DATE = rf"(?:{_MONTH}\s+\d{{1,2}}|\d{{1,2}}\s+{_MONTH})(?:,?\s+\d{{4}})?"
_TIME = r"\d{1,2}:\d{2}(?::\d{2})?\s?[ap]m"
_VERSION = r"\d+(?:\.\d+)+\s\(\d+\)"
# What needs no quotes: numbers, money, dates, times and versions.
_Q = rf"(?P<value>{QUOTED}|{_AMOUNT}|{_AMOUNT}\s(?-i:[A-Z]{{3}})|{_DATE}|{_TIME}|{_VERSION})"
_SPOT = (
    r"(?P<spot>(?:in|inside|within|on|next\s+to|beside|below|under|above)\s+"
    r"(?!(?:the\s+)?(?:screen|page|app|display)\b).+)"
)
_OVERLAY = r"(?P<overlay>(?:the\s+)?(?:dialog(?:\s+box)?|pop-?up|modal|alert|(?:bottom\s+|action\s+)?sheet))"


def _at_spot(action: Action) -> Reader:
    intent = Intent(action=action)
    return lambda sentence, match: _checked(sentence, f"{match['target']} {match['spot']}", intent)


def _in_overlay(sentence: NormalizedSentence, match: re.Match[str]) -> Meaning:
    return _checked(sentence, f"{match['value']} in {match['overlay']}", Intent(action=Action.ASSERT_VISIBLE))


# Statements about an element: sentences of their own, or after "check that" or "wait until".
CLAUSES = (
    rule(rf"{_T}\s+{_BE_NOT}\s+{_VISIBLE_WORD}\s+{_SPOT}", _at_spot(Action.ASSERT_NOT_VISIBLE)),
    rule(rf"{_T}\s+{_BE}\s+{_VISIBLE_WORD}\s+{_SPOT}", _at_spot(Action.ASSERT_VISIBLE)),
    rule(rf"{_OVERLAY}\s+(?:{_SAYS}|{_CONTAINS})\s+{_ITS_TEXT}(?P<value>{QUOTED})", _in_overlay),
    rule(rf"(?:the\s+)?(?:presence|visibility|existence)\s+of\s+{_T}", _check(Action.ASSERT_VISIBLE)),
    rule(rf"(?:the\s+)?absence\s+of\s+{_T}", _check(Action.ASSERT_NOT_VISIBLE)),
    rule(
        rf"(?:(?:I|you|we|(?:the\s+)?user)\s+)?(?:(?:do|does|should|can|could|must|will|to)\s+)?(?:not|no\s+longer|never)\s+(?:be\s+able\s+to\s+)?sees?\s+"
        rf"(?:any\s+)?{_T}{_PLACE}?{_NO_MORE}",
        _check(Action.ASSERT_NOT_VISIBLE),
    ),
    rule(rf"{_MODAL}sees?\s+{_NO}\s+{_T}{_PLACE}?{_NO_MORE}", _check(Action.ASSERT_NOT_VISIBLE)),
    rule(
        rf"there\s+(?:(?:is|are|should\s+be|must\s+be|will\s+be)\s+no(?:\s+longer(?:\s+(?:any|an?))?)?"
        rf"|(?:is|are)\s+not(?:\s+(?:any|an?))?|should\s+not\s+be(?:\s+(?:any|an?))?)\s+"
        rf"{_T}(?:\s+{_VISIBLE})?{_PLACE}?{_NO_MORE}",
        _check(Action.ASSERT_NOT_VISIBLE),
    ),
    rule(
        rf"there\s+(?:is|are|should\s+be|must\s+be|exists?|will\s+be)\s+{_T}(?:\s+{_VISIBLE})?{_PLACE}?",
        _check(Action.ASSERT_VISIBLE),
    ),
    rule(rf"{_NO}\s+{_T}\s+(?:{_BE}\s+{_VISIBLE}|appears?|exists?)", _check(Action.ASSERT_NOT_VISIBLE)),
    rule(
        rf"(?:(?:I|you|we|(?:the\s+)?user)\s+)?{_MODAL}(?:(?:now|still|also)\s+)?(?:be\s+able\s+to\s+)?(?:sees?|observes?)\s+(?!that\b){_T}",
        _check(Action.ASSERT_VISIBLE),
    ),
    rule(rf"{_SCREEN}\s+{_CONTAINS}\s+{_ITS_TEXT}{_Q}", _part_of_screen),
    rule(
        rf"{_SCREEN}\s+(?:shows?|displays?|has|says?|reads?|(?:should|must|to|will)\s+(?:show|display|have|say|read))"
        rf"\s+(?!been\b|[a-z]+ed\b){_T}",
        _shown_on_screen,
    ),
    rule(rf"{_T}\s+{_BE_NOT}\s+{_VISIBLE}{_NO_MORE}", _check(Action.ASSERT_NOT_VISIBLE)),
    rule(rf"{_T}\s+{_BE_NOT}\s+{_HIDDEN}", _check(Action.ASSERT_VISIBLE)),
    rule(rf"{_T}\s+{_BE_NOT}\s+{_ENABLED}", _check(Action.ASSERT_DISABLED)),
    rule(rf"{_T}\s+{_BE_NOT}\s+{_DISABLED}", _check(Action.ASSERT_ENABLED)),
    rule(rf"{_T}\s+{_BE_NOT}\s+{_USABLE}", _check(Action.ASSERT_DISABLED, usable=True)),
    rule(rf"{_T}\s+{_BE_NOT}\s+{_UNUSABLE}", _check(Action.ASSERT_ENABLED, usable=True)),
    rule(rf"{_T}\s+{_BE_NOT}\s+{_CHECKED}", _check(Action.ASSERT_UNCHECKED)),
    rule(rf"{_T}\s+{_BE_NOT}\s+{_UNCHECKED}", _check(Action.ASSERT_CHECKED)),
    rule(rf"{_T}\s+{_BE_NOT}\s+selected", _check(Action.ASSERT_UNCHECKED, selects=True)),
    rule(rf"{_T}\s+{_BE_NOT}\s+deselected", _check(Action.ASSERT_CHECKED, selects=True)),
    rule(rf"{_T}\s+{_BE}\s+{_VISIBLE}", _check(Action.ASSERT_VISIBLE)),
    rule(rf"{_T}\s+{_BE}\s+{_HIDDEN}", _check(Action.ASSERT_NOT_VISIBLE)),
    rule(rf"{_T}\s+{_BE}\s+{_ENABLED}", _check(Action.ASSERT_ENABLED)),
    rule(rf"{_T}\s+{_BE}\s+{_DISABLED}", _check(Action.ASSERT_DISABLED)),
    rule(rf"{_T}\s+{_BE}\s+{_USABLE}", _check(Action.ASSERT_ENABLED, usable=True)),
    rule(rf"{_T}\s+{_BE}\s+{_UNUSABLE}", _check(Action.ASSERT_DISABLED, usable=True)),
    rule(rf"{_T}\s+{_BE}\s+{_CHECKED}", _check(Action.ASSERT_CHECKED)),
    rule(rf"{_T}\s+{_BE}\s+{_UNCHECKED}", _check(Action.ASSERT_UNCHECKED)),
    rule(rf"{_T}\s+{_BE}\s+selected", _check(Action.ASSERT_CHECKED, selects=True)),
    rule(rf"{_T}\s+{_BE}\s+deselected", _check(Action.ASSERT_UNCHECKED, selects=True)),
    rule(
        rf"{_T}\s+(?:(?:do|does|should|must|will)\s+not|not\s+to)\s+(?:appear|show(?:\s+up)?|exist){_PLACE}?{_NO_MORE}",
        _check(Action.ASSERT_NOT_VISIBLE),
    ),
    rule(rf"{_T}\s+{_MODAL}(?:disappears?|vanish(?:es)?|go(?:es)?\s+away){_PLACE}?", _check(Action.ASSERT_NOT_VISIBLE)),
    rule(
        rf"{_T}\s+{_MODAL}(?:appears?|shows?\s+up|exists?|pops?\s+up|come\s+into\s+view){_PLACE}?",
        _check(Action.ASSERT_VISIBLE),
    ),
    rule(rf"{_T}\s+{_BE}\s+(?:empty|blank)", _check(Action.ASSERT_TEXT, value="")),
    rule(
        rf"(?:the\s+)?(?:text|value|contents?)\s+(?:of|in|on|inside)\s+{_T}\s+{_SAYS}\s+{_ITS_TEXT}{_Q}",
        _text(TextComparison.EQUALS),
    ),
    rule(
        rf"(?:the\s+)?(?:text|value|contents?)\s+(?:of|in|on|inside)\s+{_T}\s+{_CONTAINS}\s+{_ITS_TEXT}{_Q}",
        _text(TextComparison.CONTAINS),
    ),
    rule(
        rf"{_T}\s+(?:has|have|(?:should|must|to|will)\s+have)\s+(?:(?:the|a)\s+)?(?:text|value|content)(?:\s+of)?\s+{_Q}",
        _text(TextComparison.EQUALS),
    ),
    rule(rf"{_T}\s+{_CONTAINS}\s+{_ITS_TEXT}{_Q}", _text(TextComparison.CONTAINS)),
    rule(rf"{_T}\s+{_SHOWS}\s+{_ITS_TEXT}{_Q}", _text(TextComparison.SHOWS)),
    rule(rf"{_T}\s+{_SAYS}\s+{_ITS_TEXT}{_Q}", _text(TextComparison.EQUALS)),
)

_BARE = rule(
    r"(?:verif(?:y|ies)|asserts?|ensures?|confirms?|validates?|expects?)\s+(?P<target>.+)",
    _check(Action.ASSERT_VISIBLE),
)


_GESTURE = re.compile(
    r"(?:tap|click|press|swipe|scroll|type|double|long|launch|wait|drag|hold)(?:e?s)?\b", re.IGNORECASE
)
_IN_TIME = re.compile(
    rf"\s*,?\s+(?:within|in(?:\s+at\s+most)?|for\s+up\s+to|after\s+at\s+most)\s+{SECONDS}$", re.IGNORECASE
)


def parse_check(sentence: NormalizedSentence, text: str) -> Meaning:
    """A clause, perhaps with "check that" before it and "within 5 seconds" after it; or "verify X" for a quoted X."""
    in_time = _IN_TIME.search(text)
    if in_time is not None:
        meaning = parse_check(sentence, text[: in_time.start()])
        return replace(meaning, seconds=seconds_of(in_time)) if isinstance(meaning, Intent) else meaning
    introduced = re.match(_CHECK + r"|sees?\s+that\s+", text, re.IGNORECASE)
    clause = text[introduced.end() :] if introduced else text
    meaning = None if _GESTURE.match(clause) else first_match(CLAUSES, sentence, clause)
    if isinstance(meaning, Intent) and introduced and meaning.target is not None and not meaning.target.quoted:
        return replace(meaning, other_name=f"{introduced[0]}{meaning.target.phrase}")
    if meaning is not None or introduced is None:
        return meaning
    bare = first_match((_BARE,), sentence, text)
    return bare if isinstance(bare, Intent) and bare.target is not None and bare.target.quoted else None


_AT_MOST = r"(?:(?:for\s+)?(?:up\s+to|at\s+most|a\s+maximum\s+of)|max(?:imum)?|no\s+(?:more|longer)\s+than|within|for)"
_FOR = r"(?:for|until|till|to\s+see|unless)"
_LOADED = re.compile(
    r"(?P<target>.+?)\s+(?:to\s+(?:finish\s+)?(?:load(?:ing)?|open)|(?:is|has)\s+(?:loaded|opened)|loads|opens)",
    re.IGNORECASE,
)


def _some_time(sentence: NormalizedSentence, match: re.Match[str]) -> Meaning:
    seconds = seconds_of(match)
    return Intent(action=Action.WAIT_FOR, seconds=seconds, value=f"{seconds:g} s")


def _until(sentence: NormalizedSentence, match: re.Match[str]) -> Meaning:
    meaning = _clause(sentence, match["clause"])
    return replace(meaning, seconds=seconds_of(match)) if isinstance(meaning, Intent) else meaning


def _lasting(sentence: NormalizedSentence, match: re.Match[str]) -> Meaning:
    return NotUnderstood(
        'it is unclear whether this must last that long or become true by then: write "within" or "for up to"'
    )


def _clause(sentence: NormalizedSentence, clause: str) -> Meaning:
    loaded = _LOADED.fullmatch(clause)
    meaning = first_match(CLAUSES, sentence, clause)
    if meaning is None:
        phrase = loaded["target"] if loaded else clause
        meaning = reject_vague(phrase) or check_of_target(sentence, phrase, Intent(action=Action.ASSERT_VISIBLE))
        if loaded and isinstance(meaning, Intent) and not (meaning.target and meaning.target.quoted):
            return NotUnderstood("it is unclear when this has loaded: wait for a quoted text that is visible then")
    if isinstance(meaning, Intent) and meaning.action is Action.ASSERT_VISIBLE:
        return replace(meaning, action=Action.WAIT_FOR)
    return meaning


WAIT_RULES = (
    rule(rf"(?:waits?|pauses?|sleeps?)(?:\s+for)?\s+{SECONDS}", _some_time),
    rule(rf"waits?\s+{_AT_MOST}\s+{SECONDS}\s+{_FOR}\s+(?P<clause>.+)", _until),
    rule(rf"waits?\s+{SECONDS}\s+{_FOR}\s+(?P<clause>.+)", _until),
    rule(rf"waits?\s+(?:until|till)\s+.+\s(?:is|are|stays?|remains?)\s.+\sfor\s+{SECONDS}", _lasting),
    rule(rf"waits?\s+{_FOR}\s+(?P<clause>.+?)(?:\s*,?\s+{_AT_MOST}\s+{SECONDS})?", _until),
)
