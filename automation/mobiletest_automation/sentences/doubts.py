"""Why a sentence may mean something on the screen although no element is certainly what it names, or the reverse.

A check that looks for nothing certain neither passes nor fails: it is refused.
"""

import re
from collections.abc import Sequence

from mobiletest_automation.screen.elements import Element, Role, walk
from mobiletest_automation.screen.outline import Outline
from mobiletest_automation.screen.row_labels import MOST_ELEMENTS
from mobiletest_automation.screen.row_parts import TEXT_ROLES
from mobiletest_automation.sentences.element_search import (
    find_anchors,
    find_elements,
)
from mobiletest_automation.sentences.intents import ElementReference, Relation, RelativeReference
from mobiletest_automation.sentences.name_tests import contains_words, id_words, is_called, short_id
from mobiletest_automation.sentences.regions import memberships
from mobiletest_automation.sentences.relations import gap_between, is_container
from mobiletest_automation.sentences.targets import KINDS

# Words that describe or count elements, or name several.
_DESCRIBES = re.compile(
    rf".*\s(?:{KINDS}|screen|page|section|banner|badge|toast|snackbar|spinner|indicator|loader|animation|error|warning"
    r"|notification|keyboard|footer|toolbar|menu|map|chart|avatar|arrow|area|view|state|panel)s?"
    r"|(?:only|just|exactly|at\s+(?:least|most)|more|fewer|less|no|none|one|two|three|four|five|both|several|some|any"
    r"|each|every|all|another|other|neither)\b.*"
    r"|nothing\b.*|.*(?:\b(?:and|or|nor|but|with|without|before|after|instead)\b|[,/]).*",
    re.IGNORECASE,
)
_ARTICLE = re.compile(r"The\s+")
_RESEMBLES = re.compile(r"[^\W\d_].*?\s.*?(?-i:[A-Z])|[^\w\s]?\d")


def is_certain(target: ElementReference) -> bool:
    """Whether the words are certainly a text of the screen: quoted, or spelled like one ("Log out", "$5")."""
    if target.quoted or target.by_id:
        return True
    phrase = _ARTICLE.sub("", target.phrase)
    if phrase[:1].islower() or _DESCRIBES.fullmatch(phrase):
        return False
    return not target.leads or phrase != target.phrase or _RESEMBLES.match(phrase) is not None


def doubt_about_missing(target: ElementReference, outline: Outline) -> str | None:
    """Why the element may be on the screen although it was not found; None if it is certainly missing."""
    related = target.related
    if related is None or not (target.quoted or is_certain(target)):
        return _doubt_about_name(target, outline)
    if related.this.related is not None:
        return f"{target} says twice where it is: say it once, with the names in quotes"
    this = find_elements(related.this, outline, _any, everywhere=True)
    if not this:
        return _doubt_about_name(related.this, outline)
    if related.anchor.region is not None:
        unsure = None in memberships(related.anchor.region, this, outline)
        return f"whether {this[0].describe()} is in {related.anchor} is not certain" if unsure else None
    anchors = find_anchors(related, outline)
    if not anchors:
        return _doubt_about_name(related.anchor, outline)
    if len(anchors) > 1:
        return None if target.quoted else f"{related.anchor} may be any of {len(anchors)} elements"
    this += [each for each in outline.visible if _is_among_texts(related.this, each)]
    return _doubt_about_place(related, this, anchors[0], outline)


def doubt_about_owner(target: ElementReference, outline: Outline) -> str | None:
    """Why what has the state or value may be there although it was not found: a text is a part of its name."""
    names = () if target.quoted or target.by_id else target.names
    named = (each for each in outline.visible if any(_has(name, each.text or each.label) for name in names))
    part = next(named, None)
    return None if part is None else f"{part.describe()} may be what {target} means: name it by its whole text"


_LETTERS = re.compile(r"[^\W\d_]{2}")


def _has(name: str, text: str) -> bool:
    return len(text) < len(name) and _LETTERS.search(text) is not None and contains_words(name, text)


def _any(element: Element) -> bool:
    return True


def _doubt_about_name(target: ElementReference, outline: Outline) -> str | None:
    if target.by_id or target.partly:
        return None
    if not is_certain(target):
        return f"{target} may be a description: quote the exact text"
    named = [each for each in outline.visible if _is_among_texts(target, each)]
    if named:
        return f"{named[0].describe()} may show {target}: quote its whole text"
    exact = [each for each in outline.visible if not target.names.isdisjoint(_texts_or_id(each))]
    return f"{exact[0].describe()} is not marked as what the sentence calls it: quote only its text" if exact else None


def _texts_or_id(element: Element) -> tuple[str, ...]:
    """iOS may give a text nothing but a name, which then may be what it shows."""
    only_named = element.role is Role.TEXT and "name" in element.attributes and "label" not in element.attributes
    return (element.id,) if only_named and not element.text else (element.text, element.label)


def _is_among_texts(target: ElementReference, element: Element) -> bool:
    """Whether its words are among others, in a text or in a label, which may join several texts of the screen."""
    text = element.text or element.label
    return any(len(name) > 1 and text != name and contains_words(text, name) for name in target.names)


def _doubt_about_place(
    related: RelativeReference, this: Sequence[Element], anchor: Element, outline: Outline
) -> str | None:
    """Whether one of the elements may well be where the sentence says, although that is not certain."""
    near = next((each for each in this if not _is_elsewhere(each, anchor, related.relation, outline)), None)
    if near is None:
        return None
    return f"whether {near.describe()} is {related.relation} {related.anchor} is not certain"


def _is_elsewhere(element: Element, anchor: Element, relation: Relation, outline: Outline) -> bool:
    """Whether it certainly is not there: in another row, outside the container, or on the opposite side."""
    opposite = _OPPOSITE.get(relation)
    if opposite is not None:
        return gap_between(element, anchor, opposite) is not None
    if relation is Relation.INSIDE and is_container(anchor, outline):
        return anchor not in outline.ancestors(element)
    rows, others = outline.rows_around(element), outline.rows_around(anchor)
    return bool(rows and others) and set(rows).isdisjoint(others)


_OPPOSITE = {
    Relation.BELOW: Relation.ABOVE,
    Relation.ABOVE: Relation.BELOW,
    Relation.LEFT_OF: Relation.RIGHT_OF,
    Relation.RIGHT_OF: Relation.LEFT_OF,
}


def doubt_about_found(target: ElementReference, elements: Sequence[Element], outline: Outline) -> str | None:
    """Why the first of the elements may be something else than the sentence says."""
    first, related = elements[0], target.related
    if is_named_by_kind(target, first):
        if not target.phrase.lower().startswith(("a ", "an ")) and len(elements) > 1:
            return f"{target} may be any of {len(elements)} elements"
        if first.role is Role.IMAGE or _is_other_dialog(target, first):
            return f"{first.describe()} is not certainly {target}: name it"
        return f"{target} does not say which text: quote it" if first.role in TEXT_ROLES else None
    if Role.IMAGE in _kinds(target) and first.role not in _kinds(target):
        return f"{first.describe()} has a text, so that it is not certainly a picture"
    if first.role in TEXT_ROLES and not any(each.text or each.label or each.tappable for each in walk(first)):
        return f"{first.describe()} shows nothing"
    if target.quoted and related is None and not target.by_id and _is_named_otherwise(first, target.name):
        return f"{first.describe()} has that name only as its id"
    if related is None or related.relation is not Relation.INSIDE:
        return None
    if related.anchor.region is not None:
        unsure = memberships(related.anchor.region, [first], outline) == [None]
        return f"whether {first.describe()} is in {related.anchor} is not certain" if unsure else None
    anchors = find_anchors(related, outline)
    if len(anchors) != 1 or is_container(anchors[0], outline) or first is anchors[0]:
        return None
    box = outline.row_of(anchors[0]) or _own_box(anchors[0], outline)
    inside = box is not None and outline.descendants_among([first], {box})
    return None if inside else f"whether {first.describe()} is in {related.anchor} is not certain"


def _is_other_dialog(target: ElementReference, dialog: Element) -> bool:
    """iOS tells alerts from sheets."""
    kind, words = dialog.attributes.get("type", "").casefold(), target.phrase.casefold()
    return any(kind.endswith(one) and other in words for one, other in (("alert", "sheet"), ("sheet", "alert")))


def _kinds(target: ElementReference) -> frozenset[Role]:
    return target.readings[-1].roles if target.readings else frozenset()


def is_named_by_kind(target: ElementReference, element: Element) -> bool:
    """Whether it is only of the kind that the sentence says, whatever its name."""
    if not target.readings or target.name or target.readings[-1].ordinal is not None:
        return False
    return not any(_is_named(element, reading.name) for reading in target.readings[:-1])


def _is_named(element: Element, name: str) -> bool:
    return is_called(element, name) or element.hint == name or id_words(name) == id_words(short_id(element.id))


def _is_named_otherwise(element: Element, name: str) -> bool:
    """Whether it has a text, and the name only as its id."""
    shown = element.text or element.label
    return bool(name and shown) and id_words(name) == id_words(short_id(element.id)) and not is_called(element, name)


def _own_box(element: Element, outline: Outline) -> Element | None:
    """The innermost container in which it is not the only text."""
    around = (each for each in outline.ancestors(element) if outline.size_of(each) <= MOST_ELEMENTS)
    return next((each for each in around if sum(bool(one.text or one.label) for one in walk(each)) > 1), None)
