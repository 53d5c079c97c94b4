"""How the name in a sentence can match an element: by its texts, by what labels it, by its id."""

import re
from collections.abc import Callable, Sequence

from services.executor.automation.screen.elements import Element, Role
from services.executor.automation.screen.outline import Outline
from services.executor.automation.screen.row_labels import RowLabels
from services.executor.automation.screen.text_cache import cache_short_texts
from services.executor.automation.sentences.intents import ElementReference

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
    return not name or name in (_collapse_spaces(element.text), _collapse_spaces(element.label))


def _has_folded_text(element: Element, name: str) -> bool:
    folded = _fold(name)
    return bool(folded) and folded in (_fold(element.text), _fold(element.label))


def _has_line(element: Element, name: str) -> bool:
    """Flutter puts the texts of a control into one label, each on a line of its own."""
    folded = _fold(name)
    return bool(folded) and any(
        folded == _fold(line) for text in (element.text, element.label) if "\n" in text for line in text.split("\n")
    )


def _has_hint_or_label_beside(element: Element, name: str, outline: Outline, labels: RowLabels) -> bool:
    """Named by its hint, or, for a field or a switch, by the text beside it."""
    folded = _fold(name)
    if not folded:
        return False
    if folded == _fold(element.hint):
        return True
    nameless = element.editable or element.checked is not None
    if not nameless or element.label:
        return False
    return folded in (_fold(outline.label_beside(element)), _fold(labels.label_of(element)))


def _has_id(element: Element, name: str) -> bool:
    return bool(element.id) and name in (element.id, short_id(element.id))


def _has_id_in_words(element: Element, name: str) -> bool:
    return _has_id(element, name) or (bool(element.id) and id_words(name) == id_words(short_id(element.id)) != ())


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
_ICON = re.compile(r"(?P<name>.+?)\s+(?:icon|button)", re.IGNORECASE)


def _is_usual_icon(element: Element, name: str) -> bool:
    """A picture to tap: by what its kind is usually called, or because its label begins with the name."""
    if element.text or element.children or not (element.tappable or element.role is Role.IMAGE):
        return False
    names = {_fold(element.label), " ".join(id_words(short_id(element.id)))}
    usual = _USUAL_ICONS.get(_fold(name))
    if usual is not None:
        return not names.isdisjoint(usual) or not usual.isdisjoint(id_words(short_id(element.id)))
    called = _ICON.fullmatch(name)
    words = id_words(called["name"]) if called else ()
    return bool(words) and id_words(element.label)[: len(words)] == words


def _contains(element: Element, name: str) -> bool:
    folded = _collapse_spaces(name).casefold()
    return any(folded in _collapse_spaces(text).casefold() for text in (element.text, element.label) if text)


def _collapse_spaces(text: str) -> str:
    return text if text.isalnum() else " ".join(text.split())


_REMARK = re.compile(r"\s*\((?:mandatory|required|optional)\)\s*$")


@cache_short_texts
def _fold(text: str) -> str:
    """For comparisons without case, typographic quotes and punctuation at the end."""
    plain = " ".join(text.split()).casefold().replace("’", "'").replace("“", '"').replace("”", '"')
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
