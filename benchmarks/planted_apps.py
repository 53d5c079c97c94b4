"""Apps for the simulated device with planted changes: two builds, five runs each, with much that changes by itself."""

import copy
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

import yaml
from PIL import Image, ImageOps

from benchmarks.planted_changes import RUNS, Case, Planted
from mobiletest_automation.devices.port import AppUnderTest, DeviceInfo, Seed
from mobiletest_automation.devices.simulated.device import SimulatedDevice
from mobiletest_automation.screen.changes import SeenScreen
from mobiletest_automation.screen.elements import Element, Point, walk

# An element of an app model.
Widget = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Words:
    """What an app is made of."""

    screens: tuple[str, ...]
    labels: tuple[str, ...]
    actions: tuple[str, ...]
    fields: tuple[str, ...]
    goods: tuple[str, ...]
    adverts: tuple[str, ...]


SHOP = Words(
    screens=("Start", "Cart", "Checkout", "Account", "Orders", "Search", "Wishlist", "Help", "Delivery", "Payment"),
    labels=("Free returns", "Your basket", "Best sellers", "Sold by us", "Secure payment", "Ships worldwide"),
    actions=("Pay", "Remove", "Add coupon", "Save for later", "Share", "Continue", "Send", "Apply", "Edit", "Reorder"),
    fields=("Email", "Street", "City", "Phone", "Voucher"),
    goods=("Blue mug", "Red mug", "Green plate", "Oak table", "Lamp", "Wool rug", "Clock", "Vase", "Bowl", "Chair"),
    adverts=("Summer sale", "Buy two get one", "New app", "Join the club", "Rate us"),
)
BANK = Words(
    screens=("Overview", "Transfer", "Cards", "Loans", "Settings", "Statements", "Contacts", "Limits", "Branches"),
    labels=("Available funds", "Pending bookings", "Standing orders", "Interest rate", "Exchange fees", "Insured"),
    actions=("Send money", "Block card", "Download", "Request", "Confirm", "Cancel", "Details", "Repeat", "Convert"),
    fields=("Recipient", "Amount", "Reference", "PIN", "Nickname"),
    goods=("Rent", "Salary", "Groceries", "Gym", "Train", "Phone bill", "Taxes", "Books", "Gift", "Insurance"),
    adverts=("Refer a friend", "Gold card", "Mortgage week", "Try savings", "Survey"),
)
_NEW = ("Later", "Explore", "Overhaul", "Proceed", "Discover", "Choose", "Undo", "Finish", "Review", "Inspect")


@dataclass(slots=True)
class App:
    """The screens of a build in the order in which a test visits them. `styles` has elements drawn in a colour."""

    package: str
    screens: dict[str, list[Widget]]
    styles: dict[tuple[str, str], tuple[int, int, int]] = field(default_factory=dict)


def make_app(chance: random.Random, words: Words, *, ids: float) -> App:
    """An app of six screens; the share `ids` of its elements has one."""
    names = chance.sample(words.screens, 6)
    app = App(f"com.example.app{chance.randrange(1000)}", {})
    for name in names:
        widgets: list[Widget] = [
            *({"type": "text", "text": text} for text in chance.sample(words.labels, 3)),
            *({"type": "button", "text": text} for text in chance.sample(words.actions, 4)),
            *({"type": "field", "label": text, "bind": "typed"} for text in chance.sample(words.fields, 1)),
        ]
        if chance.random() < 0.5:
            widgets.append({"type": "switch", "text": "Notify me", "bind": "on"})
        widgets += ({"type": "noise", "noise": kind} for kind in chance.sample(NOISE, 3))
        chance.shuffle(widgets)
        for widget in widgets:
            if widget["type"] != "noise" and chance.random() < ids:
                widget["id"] = "_".join(str(widget.get("text") or widget["label"]).lower().split())
        app.screens[name] = widgets
    return app


NOISE = ("clock", "counter", "word", "rows", "banner", "advert")


def add_noise(app: App, words: Words, run: random.Random) -> App:
    """The app as one run sees it."""
    screens = {
        name: [part for each in widgets for part in (_noise(each["noise"], words, run) if "noise" in each else [each])]
        for name, widgets in app.screens.items()
    }
    return App(app.package, screens)


def _noise(kind: str, words: Words, run: random.Random) -> list[Widget]:
    match kind:
        case "clock":
            time = f"{run.randrange(1, 12)}:{run.randrange(60):02} {run.choice(('AM', 'PM'))}"
            return [{"type": "text", "text": time}]
        case "counter":
            count = run.randrange(1, 30)
            return [{"type": "text", "id": "count", "text": f"{count} new messages" if count > 1 else "1 new message"}]
        case "word":
            return [{"type": "text", "text": " ".join(run.sample(words.goods, 2))}]
        case "rows":
            goods = run.sample(words.goods, run.choice((3, 4)))
            return [{"type": "list", "id": "rows", "elements": [_row(each, run) for each in goods]}]
        case "banner":
            shown = {"type": "button", "text": run.choice(words.adverts), "id": "banner"}
            return [shown] if run.random() < 0.5 else []
        case _:
            return [{"type": "text", "text": run.choice(words.adverts)}] if run.random() < 0.5 else []


def _row(name: str, run: random.Random) -> Widget:
    price = {"type": "text", "text": f"${run.randrange(5, 90)}"}
    return {"type": "row", "elements": [{"type": "text", "text": name}, price, {"type": "button", "text": "Choose"}]}


KINDS = (
    "screen added",
    "screen gone",
    "added",
    "gone",
    "button renamed",
    "text changed",
    "moved",
    "disabled",
    "restyled",
    "id changed",
    "role changed",
)


class Planter:
    """Changes an app; each element and each of `screens` at most once."""

    def __init__(self, app: App, chance: random.Random, words: Words) -> None:
        self.app = app
        self._chance = chance
        self._words = words
        self._touched: set[int] = set()
        self._free = list(app.screens)[1:]
        chance.shuffle(self._free)

    def plant(self, kind: str) -> Planted:
        if kind == "screen added":
            return self._add_screen()
        name = (
            self._free.pop()
            if kind == "screen gone"
            else self._chance.choice([*self._free, next(iter(self.app.screens))])
        )
        if kind == "screen gone":
            del self.app.screens[name]
            return Planted("gone", frozenset({name}), planted_as=kind)
        planted = _PLANTERS[kind](self, name)
        return Planted(planted[0], frozenset({name}), frozenset(planted[1]), kind)

    def _add_screen(self) -> Planted:
        name = self._chance.choice([each for each in self._words.screens if each not in self.app.screens])
        made = make_app(self._chance, self._words, ids=0.5)
        screens = list(self.app.screens.items())
        screens.insert(self._chance.randrange(1, len(screens)), (name, next(iter(made.screens.values()))))
        self.app.screens = dict(screens)
        return Planted("new", frozenset({name}), planted_as="screen added")

    def pick(self, screen: str, accepts: Callable[[Widget], bool]) -> Widget:
        free = [each for each in self.app.screens[screen] if "noise" not in each and id(each) not in self._touched]
        widget = self._chance.choice([each for each in free if accepts(each)] or free)
        self._touched.add(id(widget))
        return widget

    def fresh(self, screen: str, words: tuple[str, ...] = _NEW) -> str:
        used = {name_of(each) for each in self.app.screens[screen]}
        return self._chance.choice([each for each in words if each not in used])

    def added(self, screen: str) -> tuple[str, list[str]]:
        text = self.fresh(screen)
        widget = {"type": self._chance.choice(("button", "text")), "text": text}
        self._touched.add(id(widget))
        widgets = self.app.screens[screen]
        widgets.insert(self._chance.randrange(len(widgets) + 1), widget)
        return "added", [text]

    def gone(self, screen: str) -> tuple[str, list[str]]:
        widget = self.pick(screen, lambda _: True)
        self.app.screens[screen].remove(widget)
        return "gone", [name_of(widget)]

    def renamed(self, screen: str, kind: str) -> tuple[str, list[str]]:
        widget = self.pick(screen, lambda each: each["type"] == kind)
        before = name_of(widget)
        after = self.fresh(screen) if self._chance.random() < 0.5 else f"{before} now"
        widget["text" if "text" in widget else "label"] = after
        return "renamed", [before, after]

    def moved(self, screen: str) -> tuple[str, list[str]]:
        widgets = self.app.screens[screen]
        widget = self.pick(screen, lambda _: True)
        place = widgets.index(widget)
        far = [
            each
            for each in range(len(widgets))
            if sum("noise" not in one for one in widgets[min(each, place) : max(each, place) + 1]) > 3
        ]
        widgets.remove(widget)
        widgets.insert(self._chance.choice(far), widget)
        return "moved", [name_of(widget)]

    def disabled(self, screen: str) -> tuple[str, list[str]]:
        widget = self.pick(screen, lambda each: each["type"] in ("button", "field", "switch"))
        widget["enabled"] = "false"
        return "disabled", [name_of(widget)]

    def restyled(self, screen: str) -> tuple[str, list[str]]:
        widget = self.pick(screen, lambda each: each["type"] in ("button", "text"))
        self.app.styles[screen, name_of(widget)] = self._chance.choice(((190, 20, 30), (10, 120, 60), (150, 40, 160)))
        return "restyled", [name_of(widget)]

    def id_changed(self, screen: str) -> tuple[str, list[str]]:
        widget = self.pick(screen, lambda each: "id" in each)
        if "id" not in widget:
            return self.renamed(screen, widget["type"])
        before, widget["id"] = widget["id"], f"{widget['id']}_view"
        return "id_changed", [before, widget["id"]]

    def role_changed(self, screen: str) -> tuple[str, list[str]]:
        widget = self.pick(screen, lambda each: each["type"] == "button")
        widget["type"] = "link" if widget["type"] == "button" else "button"
        return "role_changed", [name_of(widget)]


_PLANTERS: dict[str, Callable[[Planter, str], tuple[str, list[str]]]] = {
    "added": Planter.added,
    "gone": Planter.gone,
    "button renamed": lambda planter, screen: planter.renamed(screen, "button"),
    "text changed": lambda planter, screen: planter.renamed(screen, "text"),
    "moved": Planter.moved,
    "disabled": Planter.disabled,
    "restyled": Planter.restyled,
    "id changed": Planter.id_changed,
    "role changed": Planter.role_changed,
}


def name_of(widget: Widget) -> str:
    return str(widget.get("text") or widget.get("label") or widget.get("id") or "")


async def make_case(number: int, words: Words, *, platform: str, ids: float, changes: int, runs: int = RUNS) -> Case:
    """Both builds of an app, seen by their runs. Each number plants other kinds of changes."""
    chance = random.Random(number)
    case = Case(f"{platform} app {number}")
    old = make_app(chance, words, ids=ids)
    new = copy.deepcopy(old)
    planter = Planter(new, chance, words)
    kinds = [KINDS[(number * changes + each) % len(KINDS)] for each in range(changes)]
    case.planted = [planter.plant(kind) for kind in sorted(kinds, key=KINDS.index)]
    for place, (build, seen) in enumerate(((old, case.before), (new, case.after))):
        for run in range(runs):
            name = f"{number}-{place}-{run}"
            seen += await _run(build, name, case, words=words, platform=platform)
    return case


async def _run(app: App, run: str, case: Case, *, words: Words, platform: str) -> list[SeenScreen]:
    """Visit each screen; some runs have scrolled before they look."""
    chance = random.Random(run)
    seen_app = add_noise(app, words, chance)
    build = AppUnderTest(read=_reader(_model(seen_app)))
    device = SimulatedDevice(DeviceInfo("device", platform, simulated=True), build, Seed(run, 1))
    await device.app.launch()
    running = device.app.installed
    assert running is not None
    seen: list[SeenScreen] = []
    # The steps of the test are the same in both builds; the last screen is the first one again.
    for place, screen in enumerate((*app.screens, next(iter(app.screens)))):
        running.go(screen)
        if chance.random() < 0.3:
            await device.view.swipe(Point(180, 500), Point(180, 400))
        tree = await device.view.tree()
        key = f"{case.name} {run} {place}"
        case.pictures[key] = draw_styles(await device.view.screenshot(), tree, screen, app)
        step = f"Open tab {place}"
        seen.append(SeenScreen(tree, run, "Visit everything", step, place, key))
    return seen


def _reader(content: bytes) -> Callable[[int], Any]:
    async def read(limit: int) -> bytes:
        return content[:limit]

    return read


def _model(app: App) -> bytes:
    screens = {name: {"title": name, "elements": widgets} for name, widgets in app.screens.items()}
    model = {
        "app_model": 1,
        "app": {"id": app.package},
        "start": next(iter(app.screens)),
        "state": {"typed": "", "on": False},
        "screens": screens,
    }
    return yaml.safe_dump(model, sort_keys=False).encode()


def draw_styles(screenshot: bytes, tree: Element, screen: str, app: App) -> bytes:
    """The screenshot with the elements that have a style in its colour; models of apps have no styles."""
    styles = {name: color for (where, name), color in app.styles.items() if where == screen}
    if not styles:
        return screenshot
    picture = Image.open(BytesIO(screenshot)).convert("RGB")
    for element in walk(tree):
        color = styles.get(element.name)
        if color is None or not element.visible:
            continue
        bounds = element.bounds
        box = round(bounds.x), round(bounds.y), round(bounds.right), round(bounds.bottom)
        part = picture.crop(box).convert("L")
        picture.paste(ImageOps.colorize(part, color, (255, 255, 255)), (box[0], box[1]))
    content = BytesIO()
    picture.save(content, "PNG", compress_level=1)
    return content.getvalue()
