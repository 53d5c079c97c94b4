"""Web sites with planted changes, read by Chromium: other layouts, words and noise than the simulated apps have."""

import copy
import html
import random
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.planted_changes import RUNS, Case, Planted
from mobiletest_automation.devices.webdriver.device import WebDriverDevice
from mobiletest_automation.screen.changes import SeenScreen

SIZES = ((420, 900), (420, 760), (1000, 800))
_STYLE = """
body { margin: 0; font: 15px sans-serif; color: #223 } header, footer { background: #eef; padding: 8px }
nav a { margin-right: 12px } section { padding: 10px } .flow { display: flex; flex-wrap: wrap; gap: 10px }
.grid { display: grid; grid-template-columns: repeat(2, 1fr); gap: 10px } .card { border: 1px solid #ccd; padding: 8px }
label { display: block; margin: 6px 0 } button { padding: 8px 14px } table { border-collapse: collapse }
td { padding: 4px 9px }
.ad { background: #fe9; padding: 14px; margin: 8px } .round { width: 30px; height: 30px; border-radius: 15px }
"""
_PAGES = ("Trips", "Hotels", "Flights", "Guides", "Bookings", "Profile", "Messages", "Deals", "Reviews", "Support")
_ACTIONS = (
    *("Book", "Compare", "Add to list", "Load more", "Filter", "Sort by price", "Show map", "Ask a question"),
    *("Print", "Export", "Subscribe", "Report", "Translate", "Follow", "Upgrade", "Invite friends"),
)
_SENTENCES = (
    *("Prices include taxes", "Breakfast is served daily", "Cancel for free", "Rated by travellers"),
    *("Partner of local guides", "Luggage is included", "Pets are welcome", "Parking nearby", "Open all year"),
    *("Voucher accepted", "Best price promise", "Accessible rooms"),
)
_FIELDS = ("Destination", "First name", "Passport", "Guests", "Promo code", "Airport")
_CITIES = ("Porto", "Kyoto", "Lima", "Oslo", "Rome", "Accra", "Hanoi", "Quito", "Riga", "Perth", "Turin", "Malmö")
_FRESH = ("Explore", "Reserve", "Decide", "Unlock", "Browse", "Notify", "Archive", "Restart", "Measure", "Describe")
_LAYOUTS = ("flow", "grid", "stack")
_LOOKS = (
    "color: #b00",
    "background: #084",
    "font-size: 24px",
    "font-weight: 900",
    "font-family: serif",
    "border: 4px solid #c0c",
    "padding: 22px",
)


@dataclass(slots=True, eq=False)
class Part:
    """An element of a page, or noise of a `kind`."""

    kind: str
    text: str = ""
    id: str = ""
    style: str = ""
    disabled: bool = False


@dataclass(slots=True)
class Page:
    name: str
    sections: list[tuple[str, list[Part]]] = field(default_factory=list)

    def parts(self) -> list[Part]:
        return [each for _, parts in self.sections for each in parts]


def make_site(chance: random.Random) -> list[Page]:
    return [_make_page(name, chance) for name in chance.sample(_PAGES, 6)]


def _make_page(name: str, chance: random.Random) -> Page:
    actions, sentences, fields = (chance.sample(pool, len(pool)) for pool in (_ACTIONS, _SENTENCES, _FIELDS))
    page = Page(name)
    for number in range(3):
        parts = [
            Part("h2", f"{sentences.pop()} here") if number else Part("p", sentences.pop()),
            *(Part(chance.choice(("button", "button", "a")), actions.pop()) for _ in range(chance.randrange(2, 4))),
            *(Part(chance.choice(("p", "span")), sentences.pop()) for _ in range(chance.randrange(1, 3))),
            *(Part("input", fields.pop()) for _ in range(chance.randrange(2))),
        ]
        head, *others = parts
        others.append(Part(chance.choice(NOISE)))
        chance.shuffle(others)
        for part in others:
            if chance.random() < 0.4:
                part.id = f"{part.text.lower().replace(' ', '-')}" if part.kind not in NOISE else ""
        page.sections.append((chance.choice(_LAYOUTS), [head, *others]))
    return page


NOISE = ("clock", "counter", "quote", "rows", "table", "ad", "portrait", "toast")


def render_page(page: Page, run: random.Random) -> str:
    links = "".join(f'<a href="#">{each}</a>' for each in ("Home", "Destinations", "Company"))
    sections = "".join(
        f'<section><div class="{layout}">{"".join(_render(each, run) for each in parts)}</div></section>'
        for layout, parts in page.sections
    )
    count = run.randrange(1, 9)
    return (
        f'<!doctype html><meta charset="utf-8"><title>{page.name}</title><style>{_STYLE}</style>'
        f"<header><nav>{links}<span>Inbox ({count})</span></nav></header><h1>{page.name}</h1>{sections}"
        f"<footer><small>Updated {run.randrange(24)}:{run.randrange(60):02}</small></footer>"
    )


def _path(page: Page) -> str:
    return f"{page.name.lower()}.html"


def _render(part: Part, run: random.Random) -> str:
    if part.kind in NOISE:
        return _render_noise(part.kind, run)
    text, disabled = html.escape(part.text), " disabled" if part.disabled else ""
    identifier = f' id="{part.id}"' if part.id else ""
    style = f' style="{part.style}"' if part.style else ""
    match part.kind:
        case "input":
            return f"<label{style}>{text} <input{identifier}{disabled}></label>"
        case "a":
            return f'<a href="#"{identifier}{style}>{text}</a>'
        case _:
            return f"<{part.kind}{identifier}{style}{disabled}>{text}</{part.kind}>"


def _render_noise(kind: str, run: random.Random) -> str:
    match kind:
        case "clock":
            return f"<time>{run.randrange(24)}:{run.randrange(60):02}:{run.randrange(60):02}</time>"
        case "counter":
            return f"<p>{run.randrange(2, 400)} people are looking at this</p>"
        case "quote":
            return f"<blockquote>{' and '.join(run.sample(_CITIES, 2))}</blockquote>"
        case "rows":
            rows = run.sample(_CITIES, run.randrange(3, 6))
            return f"<ul>{''.join(f'<li><b>{each}</b> <button>Pick</button></li>' for each in rows)}</ul>"
        case "table":
            rows = run.sample(_CITIES, 4)
            return f"<table>{''.join(f'<tr><td>{each}<td>{run.randrange(90)}' for each in rows)}</table>"
        case "ad":
            return (
                f'<div class="ad">{run.choice(_CITIES)} from {run.randrange(99)} €</div>' if run.random() < 0.5 else ""
            )
        case "portrait":
            return f'<div class="round" style="background: hsl({run.randrange(360)} 80% 60%)"></div>'
        case _:
            return "<p role=status>Saved</p>" if run.random() < 0.4 else ""


class PagePlanter:
    """Changes a site; each element at most once."""

    def __init__(self, site: list[Page], chance: random.Random) -> None:
        self.site = site
        self._chance = chance
        self._touched: set[Part] = set()
        self._old = {page.name for page in site}

    def plant(self, kind: str) -> Planted:
        if kind == "screen added":
            name = self._chance.choice([each for each in _PAGES if each not in {page.name for page in self.site}])
            self.site.insert(self._chance.randrange(1, len(self.site)), _make_page(name, self._chance))
            return Planted("new", frozenset({name}), planted_as=kind)
        pages = [page for page in self.site if page.name in self._old]
        page = self._chance.choice(pages[1:-1] if kind == "screen gone" else pages)
        if kind == "screen gone":
            self.site.remove(page)
            return Planted("gone", frozenset({page.name}), planted_as=kind)
        reported, names = _PAGE_PLANTERS[kind](self, page)
        return Planted(reported, frozenset({page.name}), frozenset(names), kind)

    def _pick(self, page: Page, *kinds: str) -> Part:
        parts = [each for each in page.parts() if each.kind not in NOISE and each not in self._touched]
        part = self._chance.choice([each for each in parts if not kinds or each.kind in kinds] or parts)
        self._touched.add(part)
        return part

    def _section_of(self, page: Page, part: Part) -> list[Part]:
        return next(parts for _, parts in page.sections if part in parts)

    def _fresh(self, page: Page) -> str:
        return self._chance.choice([each for each in _FRESH if each not in {part.text for part in page.parts()}])

    def added(self, page: Page) -> tuple[str, list[str]]:
        part = Part(self._chance.choice(("button", "p", "a")), self._fresh(page))
        _, parts = self._chance.choice(page.sections)
        parts.insert(self._chance.randrange(len(parts) + 1), part)
        self._touched.add(part)
        return "added", [part.text]

    def gone(self, page: Page) -> tuple[str, list[str]]:
        part = self._pick(page)
        self._section_of(page, part).remove(part)
        return "gone", [part.text]

    def renamed(self, page: Page, *kinds: str) -> tuple[str, list[str]]:
        part = self._pick(page, *kinds)
        before, part.text = part.text, self._fresh(page) if self._chance.random() < 0.5 else f"{part.text} today please"
        return "renamed", [before, part.text]

    def moved(self, page: Page) -> tuple[str, list[str]]:
        part = self._pick(page)
        here = self._section_of(page, part)
        others = [parts for _, parts in page.sections if parts is not here]
        here.remove(part)
        there = self._chance.choice(others)
        there.insert(self._chance.randrange(1, len(there) + 1), part)
        return "moved", [part.text]

    def disabled(self, page: Page) -> tuple[str, list[str]]:
        part = self._pick(page, "button", "input")
        if part.kind not in ("button", "input"):
            part.kind = "button"
            return "role_changed", [part.text]
        part.disabled = True
        return "disabled", [part.text]

    def restyled(self, page: Page) -> tuple[str, list[str]]:
        part = self._pick(page, "button", "p", "a", "h2")
        part.style = self._chance.choice(_LOOKS)
        return "restyled", [part.text]

    def id_changed(self, page: Page) -> tuple[str, list[str]]:
        part = next((each for each in page.parts() if each.id and each not in self._touched), None)
        if part is None:
            return self.renamed(page)
        self._touched.add(part)
        before, part.id = part.id, f"{part.id}-main"
        return "id_changed", [before, part.id]

    def role_changed(self, page: Page) -> tuple[str, list[str]]:
        part = self._pick(page, "button", "a")
        part.kind = "button" if part.kind == "a" else "a"
        return "role_changed", [part.text]


_PAGE_PLANTERS: dict[str, Callable[[PagePlanter, Page], tuple[str, list[str]]]] = {
    "added": PagePlanter.added,
    "gone": PagePlanter.gone,
    "button renamed": lambda planter, page: planter.renamed(page, "button", "a"),
    "text changed": lambda planter, page: planter.renamed(page, "p", "h2", "span"),
    "moved": PagePlanter.moved,
    "disabled": PagePlanter.disabled,
    "restyled": PagePlanter.restyled,
    "id changed": PagePlanter.id_changed,
    "role changed": PagePlanter.role_changed,
}
KINDS = ("screen added", "screen gone", *_PAGE_PLANTERS)


@dataclass(frozen=True, slots=True)
class Browser:
    """A browser, and the folder that is served at `url`."""

    device: WebDriverDevice
    folder: Path
    url: str


async def make_web_case(number: int, browser: Browser, *, changes: int) -> Case:
    """Both builds of a site, seen by their runs in windows of different sizes."""
    chance = random.Random(f"site {number}")
    case = Case(f"site {number}")
    old = make_site(chance)
    new = copy.deepcopy(old)
    planter = PagePlanter(new, chance)
    kinds = [KINDS[(number * changes + each) % len(KINDS)] for each in range(changes)]
    case.planted = [planter.plant(kind) for kind in sorted(kinds, key=KINDS.index)]
    for build, (site, seen) in enumerate(((old, case.before), (new, case.after))):
        for run in range(RUNS):
            size = SIZES[run % len(SIZES)]
            seen += [each async for each in _visit(site, f"{number}-{build}-{run}", size, browser, case)]
    return case


async def _visit(
    site: list[Page], run: str, size: tuple[int, int], browser: Browser, case: Case
) -> AsyncIterator[SeenScreen]:
    chance, device = random.Random(run), browser.device
    await device.driver.post("/window/rect", {"width": size[0], "height": size[1]})
    # The steps of the test are the same in both builds; the last page is the first one again.
    for place, page in enumerate((*site, site[0])):
        (browser.folder / _path(page)).write_text(render_page(page, chance), encoding="utf-8")
        await device.driver.open_url(f"{browser.url}/{_path(page)}?run={run}-{place}")
        await device.driver.execute(f"scrollTo(0, {chance.choice((0, 0, 60, 200))})")
        tree = await device.view.tree()
        key = f"{case.name} {run} {place}"
        case.pictures[key] = await device.view.screenshot()
        yield SeenScreen(tree, run, "Look around", f"Open page {place}", place, key)
