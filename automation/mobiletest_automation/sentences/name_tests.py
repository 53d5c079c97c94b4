"""How the name in a sentence can match an element: by its texts, by what labels it, by its id."""

import re
from collections.abc import Callable, Sequence

from mobiletest_automation.screen.elements import Element, Role, walk
from mobiletest_automation.screen.outline import Outline
from mobiletest_automation.screen.row_labels import RowLabels
from mobiletest_automation.screen.row_parts import name_of_control
from mobiletest_automation.screen.text_cache import cache_short_texts
from mobiletest_automation.sentences.intents import ElementReference, as_typed

NameTest = Callable[[Element, str], bool]


def name_tests(target: ElementReference, outline: Outline, *, by_text_only: bool) -> Sequence[NameTest]:
    """The ways in which an element can match a name, the best first."""
    if target.by_id:
        return (_has_id,)
    if target.partly:
        return (_contains,)
    labels = RowLabels(outline)
    by_text: tuple[NameTest, ...] = (
        _has_text,
        _has_folded_text,
        _has_line,
        lambda element, name: _has_hint_or_label_beside(element, name, outline, labels),
    )
    if by_text_only:
        return by_text
    if target.quoted:
        return (*by_text, _has_id_in_words, _is_search_field)
    return (*by_text, _has_id_in_words, _has_same_letters, _is_search_field, _is_usual_icon)


def _has_text(element: Element, name: str) -> bool:
    return not name or _reads(element.text, name) or _reads(element.label, name)


def _reads(text: str, name: str) -> bool:
    return len(text) >= len(name) and _collapse_spaces(text) == name  # collapsing makes no text longer


def _has_folded_text(element: Element, name: str) -> bool:
    folded = _fold(name) if element.text or element.label else ""
    return bool(folded) and folded in (_fold(element.text), _fold(element.label))


def _has_line(element: Element, name: str) -> bool:
    """Flutter puts the texts of a control into one label, each on a line of its own."""
    texts = [text for text in (element.text, element.label) if "\n" in text]
    folded = _fold(name) if texts else ""
    return bool(folded) and any(folded == _fold(line) for text in texts for line in text.split("\n"))


def _has_hint_or_label_beside(element: Element, name: str, outline: Outline, labels: RowLabels) -> bool:
    """Named by its hint, or, for a field or a switch, by the text beside it.

    The label of a field may be its hint: iOS tells them no more apart.
    """
    unnamed = not element.label and element.checked is not None and not name_of_control(element)
    folded = _fold(name) if element.hint or element.editable or unnamed else ""
    if not folded:
        return False
    if element.hint and folded == _fold(element.hint):
        return True
    beside = "" if element.label else outline.label_beside(element)
    return (element.editable or unnamed) and folded == _fold(labels.label_of(element) or beside)


def is_called(element: Element, name: str) -> bool:
    """Whether the text that it shows is the name."""
    return _has_folded_text(element, name) or _has_line(element, name) or _has_same_letters(element, name)


def _has_id(element: Element, name: str) -> bool:
    return bool(element.id) and name in (element.id, short_id(element.id))


def _has_id_in_words(element: Element, name: str) -> bool:
    if element.id in _PLATFORM_IDS:
        return name == element.id
    return _has_id(element, name) or (bool(element.id) and id_words(name) == id_words(short_id(element.id)) != ())


# Rows of every app have them.
_PLATFORM_IDS = frozenset(f"android:id/{name}" for name in ("title", "summary", "text1", "text2", "icon", "content"))


def _has_same_letters(element: Element, name: str) -> bool:
    """ "Log-in" and "login" are "Log in"."""
    letters = _letters(name)
    return len(letters) > 2 and letters in (_letters(element.text), _letters(element.label), _letters(element.hint))


def _is_search_field(element: Element, name: str) -> bool:
    """A search field says so somewhere, for example "Search products"."""
    if name.casefold() != "search" or not element.editable:
        return False
    kinds = (element.attributes.get("type", ""), element.attributes.get("class", ""))
    names = id_words(f"{element.label} {element.hint} {short_id(element.id)}")
    return "search" in names or any("search" in kind.casefold() for kind in kinds)


_BACK = frozenset({"back", "go back", "navigate up"})
_MENU = frozenset({"menu", "open menu", "main menu", "navigation menu", "open navigation drawer"})
_PROFILE = frozenset({"profile", "avatar", "account"})
_USUAL_ICONS = {
    **dict.fromkeys(("back arrow", "back button", "back icon"), _BACK),
    **dict.fromkeys(("hamburger menu", "burger menu", "hamburger icon", "menu icon"), _MENU),
    **dict.fromkeys(("profile picture", "profile photo", "profile icon", "avatar"), _PROFILE),
}
# What icons show, and what their labels begin with.
_SIGNS = {
    **dict.fromkeys(("cart", "basket", "bag"), frozenset({"cart", "basket", "bag"})),
    "bell": frozenset({"notification", "notifications"}),
    **dict.fromkeys(("gear", "cog"), frozenset({"settings"})),
    **dict.fromkeys(("trash", "bin"), frozenset({"delete", "remove", "trash"})),
    "magnifier": frozenset({"search"}),
}
_ICON = re.compile(r"(?P<name>.+?)\s+(?:icon|button)", re.IGNORECASE)
_SEARCH_BAR = re.compile(r"search\s+(?:bar|box|field)", re.IGNORECASE)


def _is_usual_icon(element: Element, name: str) -> bool:
    """A picture to tap: by what its kind is usually called, or because its label begins with the name."""
    pictured = element.role is Role.IMAGE or (element.tappable and element.checked is None)
    if element.text or not pictured:
        return False
    words = id_words(short_id(element.id))
    if _SEARCH_BAR.fullmatch(name):
        return "search" in words and not _BARS.isdisjoint(words)
    return _is_called_icon(element, name, words) and all(_is_ornament(each) for each in walk(element))


_BARS = frozenset({"bar", "box", "field"})


def _is_called_icon(element: Element, name: str, words: tuple[str, ...]) -> bool:
    usual = _USUAL_ICONS.get(_fold(name))
    if usual is not None:
        return not usual.isdisjoint((_fold(element.label), " ".join(words), *words))
    called = _ICON.fullmatch(name)
    wanted, begins = id_words(called["name"]) if called else (), id_words(element.label)
    signs = _SIGNS.get(wanted[0], frozenset()) if len(wanted) == 1 else frozenset()
    return bool(wanted) and (begins[: len(wanted)] == wanted or not signs.isdisjoint(begins[:1]))


def _is_ornament(element: Element) -> bool:
    """Whether a part of an icon has no words: a badge, an arrow. The icon itself has none either."""
    return not any(map(str.isalpha, element.text))


def _contains(element: Element, name: str) -> bool:
    folded = _collapse_spaces(name).casefold()
    return any(folded in _collapse_spaces(text).casefold() for text in (element.text, element.label) if text)


def contains_words(text: str, name: str) -> bool:
    """Whether the words of the name follow one another in the text, regardless of case."""
    return bool(text) and f" {_words(name)} " in f" {_words(text)} "


@cache_short_texts
def _words(text: str) -> str:
    return " ".join("".join(c if c.isalnum() or c in "'-_" else " " for c in text.casefold()).split())


def _collapse_spaces(text: str) -> str:
    return text if not text or text.isalnum() else " ".join(text.split())


_REMARK = re.compile(r"\s*\((?:mandatory|required|optional)\)\s*$")


@cache_short_texts
def _fold(text: str) -> str:
    """For comparisons without case, typographic signs and punctuation at the end."""
    plain = as_typed(text).casefold()
    return _REMARK.sub("", plain).rstrip(" .:…!?*") or plain


def short_id(identifier: str) -> str:
    return identifier.rsplit("/", 1)[-1]


@cache_short_texts
def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold())) if len(text) < 200 else text


@cache_short_texts
def id_words(identifier: str) -> tuple[str, ...]:
    """log_in, log-in and logIn are the words of "log in"."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", identifier)
    return tuple(re.findall(r"[^\W_]+", spaced.casefold()))
