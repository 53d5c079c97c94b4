"""The role, names and state of HTML elements by their tags and attributes, for static and live pages."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from mobiletest_automation.screen.elements import CHECKABLE, Role

_TAGS: Mapping[str, Role] = {
    **dict.fromkeys(("html", "body"), Role.SCREEN),
    **dict.fromkeys(("button", "summary"), Role.BUTTON),
    "textarea": Role.FIELD,
    "select": Role.PICKER,
    **dict.fromkeys(("img", "svg", "picture", "canvas", "video"), Role.IMAGE),
    **dict.fromkeys(("h1", "h2", "h3", "h4", "h5", "h6"), Role.HEADING),
    **dict.fromkeys(("ul", "ol", "menu", "table", "dl"), Role.LIST),
    **dict.fromkeys(("li", "tr", "option"), Role.CELL),
    "dialog": Role.DIALOG,
    **dict.fromkeys(("progress", "meter"), Role.PROGRESS),
    **dict.fromkeys(("p", "span", "label", "strong", "b", "em", "i", "small", "td", "th", "dt", "dd"), Role.TEXT),
    **dict.fromkeys(("legend", "caption", "code", "figcaption", "blockquote", "time", "output"), Role.TEXT),
    **dict.fromkeys(("pre", "mark", "u", "s", "del", "ins", "sub", "sup", "abbr"), Role.TEXT),
}
_INPUTS: Mapping[str, Role] = {
    **dict.fromkeys(("button", "submit", "reset", "image", "file"), Role.BUTTON),
    "checkbox": Role.CHECKBOX,
    "radio": Role.RADIO,
    "range": Role.SLIDER,
    "color": Role.PICKER,
    "hidden": Role.OTHER,
}
_ARIA: Mapping[str, Role] = {
    "button": Role.BUTTON,
    "link": Role.LINK,
    **dict.fromkeys(("textbox", "searchbox", "spinbutton"), Role.FIELD),
    "combobox": Role.PICKER,
    **dict.fromkeys(("checkbox", "menuitemcheckbox"), Role.CHECKBOX),
    "switch": Role.SWITCH,
    **dict.fromkeys(("radio", "menuitemradio"), Role.RADIO),
    "tab": Role.TAB,
    **dict.fromkeys(("listitem", "option", "menuitem", "row", "treeitem"), Role.CELL),
    "slider": Role.SLIDER,
    **dict.fromkeys(("img", "image"), Role.IMAGE),
    "heading": Role.HEADING,
    **dict.fromkeys(("list", "listbox", "menu", "table", "grid", "tree", "treegrid"), Role.LIST),
    **dict.fromkeys(("dialog", "alertdialog"), Role.DIALOG),
    **dict.fromkeys(("progressbar", "meter"), Role.PROGRESS),
    **dict.fromkeys(("presentation", "none", "generic", "group"), Role.OTHER),
    **dict.fromkeys(("alert", "status", "note", "cell", "gridcell"), Role.TEXT),
}
# Roles whose name is their whole inner text; for others only the text directly inside counts.
NAMED_BY_CONTENT = frozenset(
    {Role.BUTTON, Role.LINK, Role.TAB, Role.HEADING, Role.CHECKBOX, Role.SWITCH, Role.RADIO, Role.TEXT}
)

_TEST_IDS = ("data-testid", "data-test-id", "data-test", "data-cy", "data-qa")
# Flutter's identifier comes first: its `id` is a number that changes.
_GIVEN_IDS = ("flt-semantics-identifier", "id", *_TEST_IDS)
_IDS = (*_GIVEN_IDS, "name")
_INSTEAD_OF_IDS = ("aria-label", "title", "for")
_BUTTON_TEXTS = {"submit": "Submit", "reset": "Reset", "file": "Choose file"}


@dataclass(frozen=True, slots=True)
class Names:
    """The names of an `Element`."""

    text: str
    label: str
    hint: str
    id: str


def role_of(tag: str, attributes: Mapping[str, str]) -> Role:
    """The role by the ARIA role, or else by tag and type; tag and attribute names are in lower case."""
    for word in attributes.get("role", "").lower().split():
        if word == "combobox" and tag in ("input", "textarea"):
            return Role.FIELD
        if word in _ARIA:
            return _ARIA[word]
    if tag == "input":
        return _INPUTS.get(_type(attributes), Role.FIELD)
    if tag == "a":
        return Role.LINK if "href" in attributes else Role.TEXT
    if attributes.get("contenteditable", "false").lower() in ("", "true", "plaintext-only"):
        return Role.FIELD
    return _TAGS.get(tag, Role.OTHER)


def names_of(
    tag: str, attributes: Mapping[str, str], *, content: str, value: str | None = None, labels: Iterable[str] = ()
) -> Names:
    """The names of an element.

    `content` is its inner text for NAMED_BY_CONTENT, otherwise the text directly inside; for a select, the text of the
    selected option. `value` is its current value, None for that of its attribute. `labels` are the texts of its labels
    (aria-labelledby, label for, or a label around it).
    """
    role = role_of(tag, attributes)
    named = _collapse_spaces(" ".join(labels)) if attributes.get("aria-labelledby") else ""
    label = named or _collapse_spaces(attributes.get("aria-label", "")) or _collapse_spaces(" ".join(labels))
    label = label or _collapse_spaces(attributes.get("alt", "")) or _collapse_spaces(attributes.get("title", ""))
    hint = attributes.get("placeholder") or attributes.get("aria-placeholder") or ""
    identifier = next((attributes[name] for name in _IDS if attributes.get(name)), "")
    return Names(_text(tag, attributes, role, content, value), label, _collapse_spaces(hint), identifier)


def ids_of(attributes: Mapping[str, str]) -> list[str]:
    """All that counts as its id: ids and name; without an id also its accessible name, title, and what it is for."""
    has_id = any(attributes.get(name) for name in _GIVEN_IDS)
    names = _IDS if has_id else (*_IDS, *_INSTEAD_OF_IDS)
    return [attributes[name] for name in names if attributes.get(name)]


def checked_of(tag: str, attributes: Mapping[str, str], *, checked: bool | None = None) -> bool | None:
    """Whether it is checked; None if it cannot be, or partly is. `checked` is the state of an input of a live page."""
    if role_of(tag, attributes) not in CHECKABLE:
        return None
    state = attributes.get("aria-checked", attributes.get("aria-pressed", "")).lower()
    if state == "mixed":
        return None
    if tag == "input":
        return "checked" in attributes if checked is None else checked
    return state == "true"


def selected_of(attributes: Mapping[str, str]) -> bool:
    """Whether it is selected: a tab, an option, the current page of a menu."""
    current = attributes.get("aria-current", "false").lower() not in ("", "false")
    return "selected" in attributes or attributes.get("aria-selected", "").lower() == "true" or current


def enabled_of(attributes: Mapping[str, str]) -> bool:
    """Whether it is enabled by its own attributes; a disabled fieldset around it is not considered."""
    return "disabled" not in attributes and attributes.get("aria-disabled", "").lower() != "true"


def is_hidden(tag: str, attributes: Mapping[str, str]) -> bool:
    """Whether its own attributes hide it and its descendants; stylesheets are not considered."""
    if "hidden" in attributes or attributes.get("aria-hidden", "").lower() == "true":
        return True
    if tag == "input" and _type(attributes) == "hidden":
        return True
    return (tag == "dialog" and "open" not in attributes) or _is_hidden_by_style(attributes.get("style", ""))


def _is_hidden_by_style(style: str) -> bool:
    declared = (part.split(":", 1) for part in style.lower().split(";") if ":" in part)
    said = {name.strip(): value.replace("!important", "").strip() for name, value in declared}
    return (
        said.get("display") == "none"
        or said.get("visibility") in ("hidden", "collapse")
        or said.get("opacity") in ("0", "0.0", "0%")
    )


def _type(attributes: Mapping[str, str]) -> str:
    return attributes.get("type", "").strip().lower()


def _text(tag: str, attributes: Mapping[str, str], role: Role, content: str, value: str | None) -> str:
    """Its visible text, or the content of a field."""
    current = attributes.get("value", "") if value is None else value
    if tag == "input":
        if role is Role.BUTTON:
            return _collapse_spaces(current) or _BUTTON_TEXTS.get(_type(attributes), "")
        return current if role in (Role.FIELD, Role.PICKER, Role.SLIDER) else ""
    if tag == "textarea":
        return content if value is None else value
    return _collapse_spaces(content)


def _collapse_spaces(text: str) -> str:
    return " ".join(text.split())
