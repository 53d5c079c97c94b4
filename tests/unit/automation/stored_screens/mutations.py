"""Steps on app models that are changed afterwards, so that it is known what a proposal should be about.

A screen of the model has named controls; one of them is the target of the step. The model is changed in one of the ways
of CHANGES, after which the target is still there, or of REMOVALS, after which it is gone for good. Which control a step
acts on is known by what it sets: each has an outcome of its own.
"""

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from random import Random
from typing import Any, TypeAlias

import yaml

from mobiletest_automation.devices.simulated.device import SimulatedDevice
from mobiletest_automation.flows.loader import Json, parse_flow
from mobiletest_automation.screen.identity import identity_of
from mobiletest_automation.screen.outline import Outline
from mobiletest_automation.stored_screens.healing import PastBinding, Proposal, propose
from mobiletest_automation.stored_screens.recheck import recheck
from mobiletest_automation.stored_screens.verdict import Verdict
from tests.unit.automation.devices.simulated.models import started
from tests.unit.automation.stored_screens.agreement import SteppingRun

Widget: TypeAlias = dict[str, Any]

NAMES = (
    *("Pay", "Log in", "Checkout", "Add to cart", "Save", "Help", "Search", "Profile", "Continue", "Delete account"),
    *("Send", "Share", "Settings", "Terms", "Apply coupon", "Remember me", "Track order", "Contact", "Refresh", "Done"),
)
SIMILAR = {name: (f"{name} later", f"{name} again", f"{name} with PayPal") for name in NAMES}
RENAMED = {name: (f"{name} now", f"Please {name.lower()}", f"Go: {name[::-1].capitalize()}") for name in NAMES}
TARGETS = ("button", "link", "tab")
# The share of models whose controls have ids: without one, nothing tells a renamed control from another one.
WITH_IDS = 0.85


@dataclass(frozen=True, slots=True)
class Case:
    """A step, the models before and after the change, and whether the target is still there."""

    change: str
    step: Json
    before: Widget
    after: Widget
    still_there: bool


@dataclass
class Healing:
    """What became of the cases of each change; `wrong` are proposals that act on anything but the target."""

    cases: dict[str, int] = field(default_factory=dict)
    proposed: dict[str, int] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    def note(self, case: Case, proposal: Proposal | None, effect: str) -> None:
        self.cases[case.change] = self.cases.get(case.change, 0) + 1
        if proposal is None:
            return
        self.proposed[case.change] = self.proposed.get(case.change, 0) + 1
        if not case.still_there or effect != "target":
            self.wrong.append(f"{case.change}: {case.step} -> {proposal.line} does {effect}: {proposal.why}")

    @property
    def share(self) -> float:
        """Of the cases whose target is still there, those with a proposal."""
        there = sum(count for change, count in self.cases.items() if change in CHANGES)
        return sum(count for change, count in self.proposed.items() if change in CHANGES) / there

    def rows(self) -> list[tuple[str, int, int]]:
        return [(change, count, self.proposed.get(change, 0)) for change, count in sorted(self.cases.items())]


async def heal(seed: int, cases: int) -> Healing:
    """A third of the cases remove the target."""
    random, healing = Random(seed), Healing()
    changes, removals = _in_turn(CHANGES), _in_turn(REMOVALS)
    while sum(healing.cases.values()) < cases:
        removes = sum(healing.cases.values()) % 3 == 2
        change = next(removals if removes else changes)
        while not await _try_case(_make_case(random, change, still_there=not removes), healing):
            pass
    return healing


def _in_turn(changes: dict[str, Any]) -> Iterator[str]:
    while True:
        yield from changes


async def _try_case(case: Case, healing: Healing) -> bool:
    """Whether it is a case: the step acts on the target before the change, and fails after it."""
    before, after = await _start(case.before), await _start(case.after)
    (parsed,) = parse_flow([case.step]).steps
    then, now = Outline(await before.view.tree()), Outline(await after.view.tree())
    bound = recheck(parsed, then)
    if bound.element is None or recheck(parsed, now).verdict is not Verdict.FAILS:
        return False
    if await _effect(before, case.step) != "target":
        return False
    proposal = propose(case.step, now, [PastBinding(identity_of(bound.element, then), then)] * 3)
    healing.note(case, proposal, await _effect(after, proposal.step) if proposal is not None else "")
    return True


async def _start(model: Widget) -> SimulatedDevice:
    return await started(yaml.safe_dump(model, sort_keys=False))


async def _effect(device: SimulatedDevice, step: Json) -> str:
    """What the step does in the app."""
    await SteppingRun(device, seconds=2).run(step)
    tree = await device.view.tree()
    return next((each.text for each in Outline(tree).visible if each.id.endswith("effect")), "")


def _make_case(random: Random, change: str, *, still_there: bool) -> Case:
    before = _model(random)
    after = deepcopy(before)
    widgets = after["screens"]["first"]["elements"]
    places = [place for place, each in enumerate(widgets) if each.get("tap") == _does("target")]
    (CHANGES | REMOVALS)[change](random, after["screens"], widgets, places[0])
    target = before["screens"]["first"]["elements"][places[0]]
    return Case(change, _step(random, target, before), before, after, still_there)


def _model(random: Random) -> Widget:
    names = random.sample(NAMES, random.randint(5, 8))
    target = random.randrange(len(names))
    with_ids = random.random() < WITH_IDS
    widgets: list[Widget] = [{"type": "text", "id": "effect", "text": "{did}"}]
    for place, name in enumerate(names):
        kind = random.choice(TARGETS if place == target else (*TARGETS, "text", "switch", "heading"))
        widget: Widget = {"type": kind, "text": name}
        if with_ids:
            widget["id"] = f"{name.lower().replace(' ', '_')}_{kind}"
        if kind in TARGETS:
            widget["tap"] = _does("target" if place == target else name)
        widgets.append(widget)
    other = [{"type": "text", "id": "effect", "text": "{did}"}, {"type": "button", "id": "leave", "text": "Leave"}]
    screens = {"first": {"title": "Shop", "elements": widgets}, "other": {"title": "Other", "elements": other}}
    app = {"id": "com.example.test", "name": "Test"}
    return {"app_model": 1, "app": app, "start": "first", "state": {"did": "nothing"}, "screens": screens}


def _does(what: str) -> Widget:
    return {"set": {"did": what}}


def _step(random: Random, target: Widget, model: Widget) -> Json:
    """In one of the ways in which people write steps about the target."""
    name, kind, widgets = target["text"], target["type"], model["screens"]["first"]["elements"]
    above = widgets[widgets.index(target) - 1].get("text", "")
    steps: list[Json] = [
        *(
            f'Tap "{name}"',
            f"Tap {name}",
            f'Tap the "{name}" {kind}',
            f'Long press "{name}"',
            f'Tap "{name}" below "{above}"',
        ),
        *({"tapOn": name}, {"tapOn": {"text": name}}, {"tapOn": {"text": name, "below": above}}),
        {"tapOn": {"text": name, "enabled": True, "retryTapIfNoChange": False}},
    ]
    if "id" in target:
        steps += [{"tapOn": {"id": target["id"]}}, f'Tap the element with id "{target["id"]}"']
        steps += [{"tapOn": {"id": target["id"], "text": name}}, {"doubleTapOn": {"id": target["id"]}}]
    return random.choice(steps)


# How the model changes. Each gets the screens, the widgets of the first one, and the place of the target.
Change: TypeAlias = Callable[[Random, dict[str, Any], list[Widget], int], None]


def _rename(random: Random, screens: dict[str, Any], widgets: list[Widget], place: int) -> None:
    widgets[place]["text"] = random.choice(RENAMED[widgets[place]["text"]])


def _rename_id(random: Random, screens: dict[str, Any], widgets: list[Widget], place: int) -> None:
    if "id" in widgets[place]:
        widgets[place]["id"] = random.choice(("btn_main", f"{widgets[place]['id']}_v2", "action"))


def _rename_both(random: Random, screens: dict[str, Any], widgets: list[Widget], place: int) -> None:
    _rename(random, screens, widgets, place)
    _rename_id(random, screens, widgets, place)


def _rename_and_move(random: Random, screens: dict[str, Any], widgets: list[Widget], place: int) -> None:
    _rename(random, screens, widgets, place)
    _move(random, screens, widgets, place)


def _move(random: Random, screens: dict[str, Any], widgets: list[Widget], place: int) -> None:
    widget = widgets.pop(place)
    widgets.insert(1 if place > 2 else len(widgets), widget)


def _wrap(random: Random, screens: dict[str, Any], widgets: list[Widget], place: int) -> None:
    _rename(random, screens, widgets, place)
    widgets[place] = {"type": "row", "id": "wrapper", "elements": [widgets[place]]}


def _change_role(random: Random, screens: dict[str, Any], widgets: list[Widget], place: int) -> None:
    widgets[place]["type"] = random.choice([kind for kind in TARGETS if kind != widgets[place]["type"]])


def _duplicate(random: Random, screens: dict[str, Any], widgets: list[Widget], place: int) -> None:
    """A second one of the same text, which does something else."""
    copy = {**widgets[place], "tap": _does("copy")}
    widgets.insert(random.randrange(1, len(widgets) + 1), {**copy, "id": "copy"} if "id" in copy else copy)


def _add_look_alike(random: Random, screens: dict[str, Any], widgets: list[Widget], place: int) -> None:
    """Besides, the target has another text."""
    text = widgets[place]["text"]
    _rename(random, screens, widgets, place)
    look_alike = {
        "type": "button",
        "text": random.choice(SIMILAR[text]),
        "id": "look_alike",
        "tap": _does("look-alike"),
    }
    widgets.insert(random.randrange(1, len(widgets) + 1), look_alike)


def _remove(random: Random, screens: dict[str, Any], widgets: list[Widget], place: int) -> None:
    del widgets[place]


def _replace_by_similar(random: Random, screens: dict[str, Any], widgets: list[Widget], place: int) -> None:
    """Another control with a similar text and id in the same place."""
    widget = widgets[place]
    similar = {**widget, "text": random.choice(SIMILAR[widget["text"]]), "tap": _does("similar")}
    widgets[place] = {**similar, "id": f"{widget['id']}_later"} if "id" in widget else similar


def _replace_elsewhere(random: Random, screens: dict[str, Any], widgets: list[Widget], place: int) -> None:
    """Another control with the same text and another id in another place."""
    widget = widgets.pop(place)
    decoy = {**widget, "tap": _does("decoy")} | ({"id": "decoy"} if "id" in widget else {})
    widgets.insert(1 if place > len(widgets) / 2 else len(widgets), decoy)


def _leave_as_text(random: Random, screens: dict[str, Any], widgets: list[Widget], place: int) -> None:
    """Its id, or its text, is now that of a text which does nothing."""
    widget = widgets[place]
    words = {"id": widget["id"], "text": "Not available"} if "id" in widget else {"text": widget["text"]}
    widgets[place] = {"type": "text", **words}


def _go_elsewhere(random: Random, screens: dict[str, Any], widgets: list[Widget], place: int) -> None:
    """Another screen is shown, on which the id of the target belongs to another control."""
    widget = widgets[place]
    there = {"type": widget["type"], "text": "Pay by invoice", "tap": _does("other screen")}
    screens["other"]["elements"].append({**there, "id": widget["id"]} if "id" in widget else there)
    screens["first"], screens["other"] = screens["other"], screens["first"]


CHANGES: dict[str, Change] = {
    "text renamed": _rename,
    "id renamed": _rename_id,
    "text and id renamed": _rename_both,
    "moved": _move,
    "renamed and moved": _rename_and_move,
    "renamed and wrapped": _wrap,
    "role changed": _change_role,
    "duplicated": _duplicate,
    "renamed beside a look-alike": _add_look_alike,
}
REMOVALS: dict[str, Change] = {
    "removed": _remove,
    "replaced by a similar one": _replace_by_similar,
    "replaced elsewhere": _replace_elsewhere,
    "left as a text": _leave_as_text,
    "another screen": _go_elsewhere,
}
