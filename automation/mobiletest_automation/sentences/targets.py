"""Parses the part of a sentence that names an element: "the second Add button next to "Blue mug""."""

import re
from collections.abc import Iterable, Iterator, Mapping

from mobiletest_automation.screen.elements import Role
from mobiletest_automation.sentences.intents import (
    ElementReference,
    NameReading,
    NotUnderstood,
    Relation,
    RelativeReference,
)
from mobiletest_automation.sentences.normalizer import QUOTED, VERBS, NormalizedSentence
from mobiletest_automation.sentences.regions import WORDS as REGIONS
from mobiletest_automation.sentences.regions import region_of
from mobiletest_automation.sentences.shape import Shape

_FIELD_WORDS = ("field", "input", "text field", "textfield", "input field", "input box", "text input", "text box")
_ROLES_OF_WORDS: Mapping[tuple[str, ...], frozenset[Role]] = {
    ("button", "btn"): frozenset({Role.BUTTON}),
    ("icon",): frozenset({Role.IMAGE, Role.BUTTON}),
    ("image", "picture", "logo"): frozenset({Role.IMAGE}),
    ("link",): frozenset({Role.LINK}),
    (*_FIELD_WORDS, "textbox", "text area", "edit field", "bar"): frozenset({Role.FIELD}),
    ("checkbox", "check box"): frozenset({Role.CHECKBOX}),
    ("switch", "toggle"): frozenset({Role.SWITCH, Role.CHECKBOX}),
    ("radio button",): frozenset({Role.RADIO}),
    ("tab",): frozenset({Role.TAB, Role.BUTTON}),
    ("cell", "row", "item", "list item", "card"): frozenset({Role.CELL}),
    ("menu item",): frozenset({Role.CELL, Role.BUTTON, Role.LINK}),
    ("option",): frozenset({Role.RADIO, Role.CELL, Role.BUTTON, Role.CHECKBOX}),
    ("box",): frozenset({Role.FIELD, Role.CHECKBOX}),
    ("dropdown", "picker"): frozenset({Role.PICKER}),
    ("slider",): frozenset({Role.SLIDER}),
    ("heading", "header", "title"): frozenset({Role.HEADING, Role.TEXT}),
    ("text", "label", "message"): frozenset({Role.TEXT, Role.HEADING, Role.LINK, Role.CELL, Role.DIALOG, Role.OTHER}),
    (
        *("dialog", "dialog box", "popup", "pop-up", "modal", "alert", "sheet", "bottom sheet", "action sheet"),
        *("confirmation dialog", "alert dialog"),
    ): frozenset({Role.DIALOG}),
    ("chip", "filter", "pill"): frozenset({Role.BUTTON, Role.CHECKBOX, Role.RADIO, Role.TAB}),
    ("list",): frozenset({Role.LIST}),
}
# The words for kinds of elements, and the roles that they may have.
ROLES = {word: roles for words, roles in _ROLES_OF_WORDS.items() for word in words}

# What people call the rows of a list, when they count them.
ROW_WORDS = (
    *(
        "message",
        "email",
        "e-mail",
        "mail",
        "conversation",
        "chat",
        "comment",
        "note",
        "post",
        "article",
        "notification",
    ),
    *("item", "list item", "product", "order", "contact", "result", "search result", "entry", "row", "cell", "card"),
)

_KIND = "|".join(sorted(map(re.escape, ROLES), key=len, reverse=True))
# Matches the words for kinds of elements.
KINDS = _KIND
_ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8}
_ORDINALS |= {"ninth": 9, "tenth": 10, "last": -1}
_ORDINAL = rf"(?P<ordinal>{'|'.join(_ORDINALS)}|\d{{1,3}}(?:st|nd|rd|th))"
_RELATIONS = {
    **dict.fromkeys(("below", "under", "underneath", "beneath"), Relation.BELOW),
    **dict.fromkeys(("above", "over"), Relation.ABOVE),
    **dict.fromkeys(("to the left of", "left of"), Relation.LEFT_OF),
    **dict.fromkeys(("to the right of", "right of"), Relation.RIGHT_OF),
    **dict.fromkeys(("next to", "beside", "for"), Relation.NEXT_TO),
    **dict.fromkeys(
        ("in the row of", "in the row with", "in the row for", "in the row containing"), Relation.IN_ROW_OF
    ),
    **dict.fromkeys(("in the same row as", "on the row of"), Relation.IN_ROW_OF),
    **dict.fromkeys(("in", "inside", "within", "on", "of"), Relation.INSIDE),
}
# Words that are also parts of longer ones ("to the left of") and therefore are tried last.
_WEAK = frozenset({"in", "inside", "within", "on", "of", "for"})

_ARTICLE = r"(?:(?:the|a|an|my|your|this|that)\s+)?"
_NAMED = (
    r"(?:\s+(?:named|called|labell?ed|titled|saying|reading|that\s+(?:says|reads)|with\s+(?:the\s+)?"
    r"(?:text|label|name|title|caption)))?"
)


# Words before a kind of text that say more than what it is.
_COUNTS = (
    r"(?:no|not|any|every|all|only|just|exactly|single|one|two|three|four|five|ten|both|several|many|few|more|fewer|less"
    r"|least|most|other|another|different|same|previous|old)\b"
)


_QUOTED_FIRST = Shape(rf"{_ARTICLE}(?:{_ORDINAL}\s+)?(?P<mark>{QUOTED})(?:\s+(?P<kind>{_KIND})s?)?")
_KIND_FIRST = Shape(rf"{_ARTICLE}(?:{_ORDINAL}\s+)?(?P<kind>{_KIND}|element){_NAMED}\s+(?P<mark>{QUOTED})")
_WORDS_FIRST = Shape(
    rf"{_ARTICLE}(?:(?!{_COUNTS})[a-z]+\s+){{0,2}}"
    rf"(?:text|message|label|title|heading|header|error|warning|toast|banner|notification|alert|popup|hint"
    rf"|product|price|amount|total|entry|result|value|status|category){_NAMED}"
    rf"\s*:?\s+(?P<mark>{QUOTED})"
)
_BY_ID = Shape(
    rf"{_ARTICLE}(?:(?P<kind>{_KIND}|element)\s+)?(?:with\s+(?:the\s+)?)?(?:accessibility\s+|resource\s+)?id(?:entifier)?"
    rf"\s+(?P<mark>{QUOTED}|[\w.:/-]+)"
)
_PARTLY = Shape(
    rf"(?:{_ARTICLE}|any\s+)(?:(?P<kind>{_KIND}|element|something|anything)\s+)?"
    rf"(?:containing|contains|that\s+contains|which\s+contains|including)\s+(?:the\s+text\s+)?(?P<mark>{QUOTED})"
)
_KIND_ONLY = Shape(rf"{_ARTICLE}(?:(?:only|{_ORDINAL})\s+)?(?P<kind>{_KIND})")
_COUNTED = Shape(rf"{_ARTICLE}{_ORDINAL}\s+(?:{'|'.join(sorted(ROW_WORDS, key=len, reverse=True))})")
# What normalizing has written out may be part of a name.
_CONTRACTED = (
    (Shape(r"\b(do|does|did|is|are|was|should|has|have|must|would|could) not\b"), r"\1n't"),
    (Shape(r"\b(ca)n not\b"), r"\1n't"),
    (Shape(r"\b(can) not\b"), r"\1not"),
    (Shape(r"\b(w)ill not\b"), r"\1on't"),
    (Shape(r"\b(it|that|there) is\b"), r"\1's"),
    (Shape(r"\b(let) us\b"), r"\1's"),
)
_ARTICLE_ONLY = Shape(r"^(?:the|a|an|my|your|this|that)\s+")
_WITH_KIND = Shape(rf"(?P<name>\S.*?)\s+(?P<kind>{_KIND})")
_WITH_ORDINAL = Shape(rf"{_ORDINAL}\s+(?P<name>\S.*)")


def _relation_pattern(words: Iterable[str], this: str) -> Shape:
    either = "|".join(sorted(map(re.escape, words), key=len, reverse=True))
    return Shape(rf"(?P<this>{this})\s+(?:that\s+is\s+|which\s+is\s+)?(?P<relation>{either})\s+(?P<other>.+)")


_RELATED = (_relation_pattern(_RELATIONS.keys() - _WEAK, ".+?"), _relation_pattern(_WEAK, ".+"))
_ON_SCREEN = Shape(r"\s+(?:on|in|from|at)\s+(?:the\s+)?(?:current\s+)?(?:screen|page|app|display)$")
_A_TIME = Shape(
    r"(?:at\s+(?:least|most)\s+)?(?:\d+(?:\.\d+)?|an?|one|two|three|five|ten)\s*"
    r"(?:ms|s|secs?|mins?|(?:millisecond|second|minute|hour)s?)"
)
_IN_REGION = Shape(
    rf"(?P<this>.+)\s+(?:in|on|at|from|inside|within)\s+(?P<phrase>(?:the\s+)?(?P<region>{REGIONS})"
    r"(?:\s+of\s+(?:the\s+)?(?:screen|page|app))?)"
)
_AGAIN = Shape(r"\s+(?:again|once)$")
_PRONOUN = Shape(
    r"(?:it|them|this|that|these|those|one|ones|(?:some|any|every)(?:thing|one)|all)(?:\s+(?:again|here|there|else))?"
)
_POINT = Shape(r".*\(?\d+(?:\.\d+)?\s*(?:%|px)?\s*,\s*\d+(?:\.\d+)?\s*(?:%|px)?\)?.*")

# Words that say more than which element is meant, unless they are part of its name.
_SAYS_MORE = Shape(
    rf".*(?:(?:,|;|[.!?]|\band|\bthen|&)\s+(?:then\s+|also\s+|to\s+)?{VERBS}"
    r"|\b(?:if|unless|until|while|when|whenever|once|except|instead|either|or|otherwise|else|before|after|without|not"
    r"|that|which|who|whose|where|twice|thrice|times|all|every|each|both|any|outside|between|using|via|repeatedly|never|neither|nor|no\s+longer)\b).*"
)


def may_say_more(phrase: str) -> bool:
    """Whether the phrase may contain a second instruction, a condition or a repetition besides a name."""
    return _SAYS_MORE.fullmatch(phrase) is not None


def parse_target(sentence: NormalizedSentence, phrase: str) -> ElementReference | NotUnderstood:
    """Which element the phrase names."""
    phrase = phrase.strip(" ,")
    if _PRONOUN.fullmatch(phrase):
        return NotUnderstood(f'"{phrase}" does not say which element is meant: name it')
    target = _parse_quoted(sentence, phrase) if re.search(QUOTED, phrase) else _parse_unquoted(sentence, phrase)
    return target or NotUnderstood(
        f"{sentence.restored(phrase) or 'an empty phrase'} does not name an element: "
        'name one, for example "Log in" or the "Log in" button'
    )


def is_screen_point(phrase: str) -> bool:
    """Whether the phrase is a point such as (100, 200) or 50%, 50%."""
    return _POINT.fullmatch(phrase) is not None


def _parse_quoted(sentence: NormalizedSentence, phrase: str) -> ElementReference | None:
    shorter = _ON_SCREEN.sub("", _AGAIN.sub("", phrase))
    for pattern in (_QUOTED_FIRST, _KIND_FIRST, _BY_ID, _PARTLY, _WORDS_FIRST):
        match = pattern.fullmatch(shorter)
        if match is not None:
            parts = match.groupdict()
            mark = parts["mark"]
            name = sentence.quote(mark) if re.fullmatch(QUOTED, mark) else mark
            return ElementReference(
                phrase=sentence.restored(phrase),
                readings=(NameReading(name, _roles(parts.get("kind")), _ordinal(parts.get("ordinal"))),),
                quoted=True,
                partly=pattern is _PARTLY,
                by_id=pattern is _BY_ID,
            )
    related = _parse_related(sentence, phrase) or _parse_related(sentence, shorter)
    return (
        ElementReference(phrase=sentence.restored(phrase), readings=(), quoted=True, related=related)
        if related
        else None
    )


def _parse_related(sentence: NormalizedSentence, phrase: str) -> RelativeReference | None:
    """The two ends of a relation; neither may be a relation itself."""
    placed = _IN_REGION.fullmatch(phrase)
    if placed is not None:
        this = parse_target(sentence, placed["this"])
        region = ElementReference(phrase=placed["phrase"], readings=(), region=region_of(placed["region"]))
        return RelativeReference(this, Relation.INSIDE, region) if isinstance(this, ElementReference) else None
    match = next(filter(None, (pattern.fullmatch(phrase) for pattern in _RELATED)), None)
    if match is None or _A_TIME.fullmatch(match["other"]):
        return None
    this, anchor = parse_target(sentence, match["this"]), parse_target(sentence, match["other"])
    if (
        not isinstance(this, ElementReference)
        or not isinstance(anchor, ElementReference)
        or (anchor.quoted and anchor.related)
    ):
        return None
    return RelativeReference(this, _RELATIONS[" ".join(match["relation"].lower().split())], anchor)


def _parse_unquoted(sentence: NormalizedSentence, phrase: str) -> ElementReference | None:
    by_id = _BY_ID.fullmatch(phrase)
    if by_id is not None:
        return ElementReference(
            phrase=phrase, readings=(NameReading(by_id["mark"], _roles(by_id["kind"])),), by_id=True
        )
    kind_only = _KIND_ONLY.fullmatch(phrase)
    if kind_only is not None and not (kind_only["ordinal"] and _COUNTED.fullmatch(phrase)):
        roles, ordinal = _roles_of_kind(kind_only["kind"]), _ordinal(kind_only["ordinal"])
        names = dict.fromkeys((phrase, _ARTICLE_ONLY.sub("", phrase)))
        return ElementReference(phrase=phrase, readings=(*map(NameReading, names), NameReading("", roles, ordinal)))
    counted = _COUNTED.fullmatch(phrase)
    if counted is not None:
        row = NameReading("", frozenset({Role.CELL}), _ordinal(counted["ordinal"]))
        return ElementReference(phrase=phrase, readings=(NameReading(phrase), row))
    readings = tuple(dict.fromkeys(_readings(phrase)))
    if not readings or not any(re.search(r"[^\s\W]|[^\w\s,.]", reading.name) for reading in readings):
        return None
    return ElementReference(phrase=phrase, readings=readings, related=_parse_related(sentence, phrase))


def _readings(phrase: str) -> Iterator[NameReading]:
    """The whole phrase as a name, then without the parts that may be grammar."""
    yield NameReading(phrase)
    for shorter in (phrase, _ON_SCREEN.sub("", phrase)):
        bare = _ARTICLE_ONLY.sub("", shorter)
        yield NameReading(bare)
        for pattern, contracted in _CONTRACTED:
            if pattern.search(bare):
                yield from _readings(pattern.sub(contracted, bare))
        kind = _WITH_KIND.fullmatch(bare)
        if kind is not None:
            yield NameReading(kind["name"], _roles(kind["kind"]))
        ordinal = _WITH_ORDINAL.fullmatch(bare)
        if ordinal is not None:
            yield from _ordinal_reading(ordinal["name"], _ordinal(ordinal["ordinal"]))


def _ordinal_reading(rest: str, ordinal: int | None) -> Iterator[NameReading]:
    """ "the second Add button" counts; "first name" and "last order" may well be names."""
    kind = _WITH_KIND.fullmatch(rest)
    name = kind["name"] if kind else rest
    if name.casefold() != "name" and (kind is not None or not name[:1].islower()):
        yield NameReading(name, _roles(kind["kind"]) if kind else frozenset(), ordinal)


def _roles(kind: str | None) -> frozenset[Role]:
    """The roles of a kind of element that has a name: anything can have a text on it."""
    if kind is not None and kind.lower() in ("text", "label", "message"):
        return frozenset()
    return _roles_of_kind(kind)


def _roles_of_kind(kind: str | None) -> frozenset[Role]:
    return ROLES.get(" ".join(kind.lower().split()), frozenset()) if kind else frozenset()


def _ordinal(word: str | None) -> int | None:
    if not word:
        return None
    return _ORDINALS.get(word.lower()) or int(re.sub(r"\D", "", word))
