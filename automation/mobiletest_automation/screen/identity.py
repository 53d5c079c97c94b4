"""What identifies an element on other screens: its resource id, label, role, class of text and ancestors' ids.

In this order of weight. Nothing is guessed: two elements are the same only where the match is unique.
"""

from dataclasses import dataclass
from itertools import islice, pairwise

from mobiletest_automation.flows.nodes import quote
from mobiletest_automation.flows.texts import cut, cut_beginning
from mobiletest_automation.model.results import BoundElement, ScreenArea
from mobiletest_automation.screen.elements import ID_SHOWN, NOWHERE, Bounds, Element, Role
from mobiletest_automation.screen.fingerprint import id_shape, normalized_words, own_id
from mobiletest_automation.screen.outline import Outline

# So many ancestors with ids count, the innermost first.
ANCESTORS = 3
# Characters of each text that is kept.
TEXT_LIMIT = 200
PATH_LIMIT = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class ElementIdentity:
    """An element as a step found it. `found_by` is how: id, text, label, position, css, model, cache, ...

    `path` has the roles from the screen down with the number (from 0) among the siblings of that role:
    "list[0]/cell[2]/button[0]". `ancestors` are the ids around it, the innermost first. `id` is empty if it is
    generated or a copy of the label. `bounds` are in pixels of the screen.
    """

    role: Role = Role.OTHER
    id: str = ""
    label: str = ""
    text: str = ""
    hint: str = ""
    path: str = ""
    ancestors: tuple[str, ...] = ()
    bounds: Bounds = NOWHERE
    found_by: str = ""

    @property
    def words(self) -> str:
        """The words that name it, without digits; empty if nothing does. What a field holds is no name."""
        return _words(self.role, self.label, self.text, self.hint)

    def describe(self) -> str:
        """Its role, name and id, for messages. The content of a field is not its name."""
        name = (self.label or self.hint) if self.role is Role.FIELD else (self.text or self.label or self.hint)
        named = f"{self.role} {quote(name)}" if name else str(self.role)
        return f"{named} (id {cut(self.id, ID_SHOWN)})" if self.id else named


def identity_of(element: Element, outline: Outline, found_by: str = "") -> ElementIdentity:
    """The identity of an element that is in the outline."""
    ancestors = outline.ancestors(element)
    return ElementIdentity(
        role=element.role,
        id=_stable_id(element),
        label=cut(element.label, TEXT_LIMIT),
        text="" if element.secret else cut(element.text, TEXT_LIMIT),
        hint=cut(element.hint, TEXT_LIMIT),
        path=cut_beginning(_path(element, ancestors), PATH_LIMIT),
        ancestors=tuple(islice(filter(None, map(_stable_id, ancestors)), ANCESTORS)),
        bounds=element.bounds,
        found_by=found_by,
    )


def as_bound(identity: ElementIdentity, screen: Bounds) -> BoundElement:
    """The identity as a step reports it, with its place as shares of the screen."""
    return BoundElement(
        role=identity.role,
        id=identity.id,
        label=identity.label,
        text=identity.text,
        hint=identity.hint,
        path=identity.path,
        ancestors=identity.ancestors,
        area=area_of(identity.bounds, screen),
        found_by=identity.found_by,
    )


def from_bound(bound: BoundElement) -> ElementIdentity:
    """The identity of an element that a step has reported, without its place in pixels."""
    return ElementIdentity(
        role=next((role for role in Role if role == bound.role), Role.OTHER),
        id=bound.id,
        label=bound.label,
        text=bound.text,
        hint=bound.hint,
        path=bound.path,
        ancestors=tuple(bound.ancestors),
        found_by=bound.found_by,
    )


def area_of(bounds: Bounds, screen: Bounds) -> ScreenArea | None:
    """The part that is on the screen, as shares of it; None if none is."""
    shown = bounds.intersection(screen)
    if shown is None:
        return None
    x, y = shown.x - screen.x, shown.y - screen.y
    shares = (x / screen.width, y / screen.height, shown.width / screen.width, shown.height / screen.height)
    return ScreenArea(*(round(share, 4) for share in shares))


def is_same(one: ElementIdentity, other: ElementIdentity) -> bool:
    """Whether both are the same element of the app, as far as they can be told apart.

    By their ids where both have one; else by role and words. Rows of a list with one id are one element.
    """
    if one.id and other.id:
        return one.id == other.id
    if one.role is not other.role or one.ancestors[:1] != other.ancestors[:1]:
        return False
    return one.words == other.words if one.words or other.words else one.path == other.path


def identity_key(identity: ElementIdentity) -> tuple[object, ...]:
    """Equal only for what `is_same` calls the same, and different for the same element only if one has no id."""
    if identity.id:
        return (identity.id,)
    return (identity.role, identity.ancestors[:1], identity.words, "" if identity.words else identity.path)


def find_same(identity: ElementIdentity, outline: Outline) -> Element | None:
    """The one visible element of the screen that is this one; None if none is, or if several could be.

    Candidates are those with its id; of several, or without an id, those that agree in the next thing by weight.
    """
    if identity.id:
        left = [each for each in outline.visible if _stable_id(each) == identity.id]
    elif identity.words:
        left = [each for each in outline.visible if each.role is identity.role and _words_of(each) == identity.words]
    else:
        return None
    for agrees in (_has_words, _has_role, _has_exact_texts, _has_ancestors):
        if len(left) <= 1:
            break
        left = [each for each in left if agrees(identity, each, outline)] or left
    return left[0] if len(left) == 1 else None


def _stable_id(element: Element) -> str:
    """The element's id without the package; empty if it was generated or is a copy of the label."""
    own = own_id(element)
    return cut(own.rsplit("/", 1)[-1], TEXT_LIMIT) if id_shape(own) else ""


def _words(role: Role, label: str, text: str, hint: str) -> str:
    return normalized_words((label or hint) if role is Role.FIELD else (label or text or hint))


def _words_of(element: Element) -> str:
    return _words(element.role, element.label, element.text, element.hint)


def _has_words(identity: ElementIdentity, element: Element, _outline: Outline) -> bool:
    return _words_of(element) == identity.words


def _has_role(identity: ElementIdentity, element: Element, _outline: Outline) -> bool:
    return element.role is identity.role


def _has_exact_texts(identity: ElementIdentity, element: Element, _outline: Outline) -> bool:
    texts = (element.label, element.text, element.hint)
    return tuple(cut(text, TEXT_LIMIT) for text in texts) == (identity.label, identity.text, identity.hint)


def _has_ancestors(identity: ElementIdentity, element: Element, outline: Outline) -> bool:
    ids = filter(None, map(_stable_id, outline.ancestors(element)))
    return tuple(islice(ids, ANCESTORS)) == identity.ancestors


def _path(element: Element, ancestors: list[Element]) -> str:
    """Without the screen itself, which every path would begin with."""
    line = [element, *ancestors]
    steps = []
    for child, parent in pairwise(line):
        alike = [each for each in parent.children if each.role is child.role]
        steps.append(f"{child.role}[{next(place for place, each in enumerate(alike) if each is child)}]")
    return "/".join(reversed(steps))
