"""Sentences for real screens do exactly what they say, or are refused for the right reason.

The sentences of corpus/*.yaml were written before the rules were tried on them, except those of shop.yaml, which has
each wording that the rules know; each file is for one page source.
screens_dev and screens_blind have more keys, which the first file of screens_dev explains.
"""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from mobiletest_automation.screen.elements import Element, walk
from mobiletest_automation.screen.page_source.reader import read_source
from mobiletest_automation.sentences.grammar import parse_sentence
from mobiletest_automation.sentences.grounder import ground_sentence
from mobiletest_automation.sentences.grounding import Grounding, RefusalReason
from mobiletest_automation.sentences.intents import ELEMENT_CHECKS, Action, Intent

CORPUS = Path(__file__).parent / "corpus"
KEYS = {"say", "do", "why", "is", "nth", "value", "role", "holds", "or_refused"}
TAPS = (Action.TAP, Action.DOUBLE_TAP, Action.LONG_PRESS)
# Checks for which a container and its own text are one thing.
PARTS = (Action.ASSERT_VISIBLE, Action.ASSERT_NOT_VISIBLE, Action.ASSERT_ENABLED, Action.ASSERT_DISABLED)
_LIMIT = re.compile(r"(\d+) s")


@dataclass(frozen=True)
class Entry:
    """What a sentence of the corpus means; the action "none" comes with a reason.

    `names` are the names of the elements that are right, `nth` counts those with one name and role. `holds` is whether
    an assertion is true on the screen; None if it does not matter.
    """

    page: Path
    sentence: str
    actions: tuple[str, ...]
    reason: str | None
    names: tuple[str, ...]
    role: str | None
    nth: int
    value: str | None
    holds: bool | None
    or_refused: bool

    @property
    def screen(self) -> str:
        return self.page.name


def _entry(page: Path, row: dict[str, Any]) -> Entry:
    assert row.keys() <= KEYS, row
    actions = _texts(row.get("do", "none"))
    states_truth = page.parent != CORPUS and any(action.startswith("assert") for action in actions)
    return Entry(
        page=page,
        sentence=row["say"],
        actions=actions,
        reason=row.get("why"),
        names=_texts(row.get("is", [])),
        role=row.get("role"),
        nth=row.get("nth", 0),
        value=row.get("value"),
        holds=row.get("holds", True if states_truth else None),
        or_refused=row.get("or_refused", False),
    )


def _texts(one_or_more: str | list[str]) -> tuple[str, ...]:
    return (one_or_more,) if isinstance(one_or_more, str) else tuple(one_or_more)


@cache
def entries(folder: Path) -> list[Entry]:
    files = [(path, yaml.load(path.read_text(), yaml.CSafeLoader)) for path in sorted(folder.glob("*.yaml"))]
    return [_entry(path.parent / file["screen"], row) for path, file in files for row in file["sentences"]]


@cache
def screen(page: Path) -> Element:
    return read_source(page.read_text())


@cache
def parents(page: Path) -> dict[Element, Element]:
    return {child: parent for parent in walk(screen(page)) for child in parent.children}


def is_called(element: Element, name: str) -> bool:
    return name in (element.id, element.id.rsplit("/", 1)[-1], element.text, element.label, element.hint)


def meant_elements(entry: Entry) -> list[Element]:
    """For each name and role the first or nth element with them."""
    by_name: dict[tuple[str, str], list[Element]] = {}
    for element in walk(screen(entry.page)):
        for name in entry.names:
            if is_called(element, name) and entry.role in (None, element.role):
                by_name.setdefault((name, element.role), []).append(element)
    return [alike[max(entry.nth, 1) - 1] for alike in by_name.values() if len(alike) >= entry.nth]


def tap_receiver(page: Path, element: Element | None) -> Element | None:
    """The element that reacts to a tap on this one."""
    while element is not None and not _reacts(element):
        element = parents(page).get(element)
    return element


def _reacts(element: Element) -> bool:
    return element.clickable if "clickable" in element.attributes else element.tappable


def is_meant(entry: Entry, grounding: Grounding) -> bool:
    if not entry.names:
        return True
    meant = meant_elements(entry)
    if any(grounding.element is element for element in meant):
        return True
    if entry.page.parent == CORPUS or grounding.element is None or grounding.action not in (*TAPS, *PARTS):
        return False
    return any(is_same_control(entry.page, grounding.element, element, grounding.action) for element in meant)


def is_same_control(page: Path, element: Element, meant: Element, action: Action) -> bool:
    """Whether a tap on either lands on the same element; for a check, whether one is a part of the other."""
    receiver = tap_receiver(page, element)
    together = receiver is not None and receiver is tap_receiver(page, meant)
    if action in TAPS:
        return together
    return (together or element.text == meant.text) and (element in walk(meant) or meant in walk(element))


def has_value(entry: Entry, value: str | None) -> bool:
    limit = _LIMIT.fullmatch(entry.value or "")
    if limit is not None:
        return limit[1] in re.findall(r"\d+", value or "")
    return entry.value in (None, value)


@cache
def did(entry: Entry) -> Grounding:
    return ground_sentence(entry.sentence, screen(entry.page))


def passes(sentence: str, grounding: Grounding) -> bool | None:
    """Whether the assertion passes on this screen; None if it is none, or was refused."""
    if grounding.action in (Action.ASSERT_VISIBLE, Action.WAIT_FOR):
        return grounding.element is not None
    if grounding.action is Action.ASSERT_NOT_VISIBLE:
        return grounding.element is None
    if grounding.action not in ELEMENT_CHECKS:
        return None
    parsed = parse_sentence(sentence)
    said = isinstance(parsed, Intent) and parsed.action is grounding.action
    intent = parsed if isinstance(parsed, Intent) and said else Intent(action=grounding.action, value=grounding.value)
    return grounding.element is not None and ELEMENT_CHECKS[grounding.action](intent, grounding.element)


def is_right(entry: Entry, grounding: Grounding) -> bool:
    if grounding.reason is not None:
        return is_right_refusal(entry, grounding.reason)
    if grounding.action not in entry.actions or not is_meant(entry, grounding) or not has_value(entry, grounding.value):
        return False
    return entry.holds is None or passes(entry.sentence, grounding) is entry.holds


def is_right_refusal(entry: Entry, reason: RefusalReason) -> bool:
    """An assertion that must fail may do so because its element is not there."""
    if entry.or_refused or (entry.holds is False and reason is RefusalReason.NOT_FOUND):
        return True
    return "none" in entry.actions and entry.reason in ("refused", reason)


def test_each_sentence_does_what_the_corpus_says() -> None:
    wrong = [
        (entry.screen, entry.sentence, str(did(entry))) for entry in entries(CORPUS) if not is_right(entry, did(entry))
    ]
    assert wrong == []
    assert all(did(entry).reason is None or did(entry).message for entry in entries(CORPUS))


@pytest.mark.parametrize("folder", ["screens_dev", "screens_blind"])
def test_sentences_of_testers_are_carried_out_or_refused_but_never_misread(folder: str) -> None:
    read = entries(CORPUS.parent / folder)
    wrong = [entry for entry in read if not is_right(entry, did(entry))]
    right = len(read) - len(wrong)
    assert [(entry.screen, entry.sentence) for entry in wrong if did(entry).reason is None] == []
    assert right / len(read) > 0.95


NOT_CERTAIN = [
    ("screens_dev/booking.html", "Promo code is on"),
    ("screens_dev/members.html", "Name is checked"),
    ("screens_dev/members.html", 'Ida Holm is "Admin"'),
    ("screens_dev/ios_mail.ios.xml", 'Inbox is ""'),
    ("screens_dev/bank_flutter.android.xml", 'Recent transactions is "Hide balances"'),
    ("screens_dev/booking.html", "The logo is visible"),
    ("screens_dev/mail.android.xml", "The search bar is empty"),
    ("screens_dev/delivery_form.android.xml", "€14.90 is disabled"),
    ("screens_blind/users_web.html", "Bo Lind is disabled"),
    ("screens_blind/users_web.html", "The button next to Ada Byron is enabled"),
    ("screens_blind/checkout_web.html", "Desk lamp is enabled"),
    ("screens_blind/chat_android.android.xml", "I do not see It is here now"),
    ("screens_blind/chat_android.android.xml", 'The message is "OK"'),
    ("screens_blind/users_web.html", '"Online" is shown in the Two-factor of Ada Byron card'),
    ("screens_blind/sound_compose.android.xml", "I see Touch sounds with a green tick"),
    ("screens_blind/shop_filters.android.xml", "I see the Green tea icon"),
    ("screens_blind/parcel_detail.ios.xml", "The sheet is visible"),
    ("screens_blind/plan_web.html", 'I see "Nimbus" in the banner'),
]


@pytest.mark.parametrize(("page", "sentence"), NOT_CERTAIN)
def test_what_is_not_certain_is_refused(page: str, sentence: str) -> None:
    grounding = ground_sentence(sentence, screen(CORPUS.parent / page))
    assert grounding.reason is not None, (grounding.action, grounding.element and grounding.element.describe())


@pytest.mark.parametrize(
    ("page", "sentence", "holds"),
    [
        ("mail_sheet.ios.xml", '"Bike club" is visible in the "We meet at the bridge" row', True),
        ("mail_sheet.ios.xml", 'I do not see "Bike club" in the "We meet at the bridge" row', False),
        ("users_web.html", "The switch next to Ada Byron is on", True),
        ("users_web.html", "The switch next to Bo Lind is on", False),
        ("checkout_web.html", 'I see "€64.00" in the menu', False),
        ("users_web.html", 'I see "Compact view" in the header', False),
        ("shop_filters.android.xml", 'The Save for later row contains "$6.00"', None),
    ],
)
def test_places_are_judged_as_people_see_them(page: str, sentence: str, holds: bool | None) -> None:
    grounding = ground_sentence(sentence, screen(CORPUS.parent / "screens_blind" / page))
    assert passes(sentence, grounding) is holds
