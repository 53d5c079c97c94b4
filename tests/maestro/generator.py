"""Random flows on random screens, the same ones for the same seed."""

import json
from collections.abc import Callable, Iterator, Sequence
from random import Random
from xml.sax.saxutils import quoteattr

from tests.maestro.battery import HEADER, Section, with_all_attributes

WIDTH, HEIGHT = 540, 960
WORDS = ("Rye", "Spelt", "Oat", "Bun", "Rye bread", "Sold out", "4.90", "Add", "Save", "Item 1", "Item 2", "Café")
IDS = ("row", "name", "add", "price", "shop:id/row", "shop:id/name", "list", "footer")
STATES = ("enabled", "checked", "selected", "focused")
SIDES = ("below", "above", "leftOf", "rightOf")
KEYS = ("Enter", "Home", "Backspace", "Tab", "Volume Up", "Lock")

Json = str | float | bool | list["Json"] | dict[str, "Json"]


def generated(count: int, seed: int) -> Iterator[Section]:
    for number in range(count):
        chance = Random(f"{seed}-{number}")
        screens = tuple(_screen(chance) for _ in range(chance.choice((1, 1, 1, 2, 3))))
        steps = _Steps(chance)
        text = "".join(f"- {json.dumps(steps.any(), ensure_ascii=False)}\n" for _ in range(chance.randint(1, 4)))
        yield Section(id=f"random/{seed}-{number}", text=HEADER + text, screens=screens)


def _screen(chance: Random) -> str:
    """Rows of one to four elements, some of them in containers, the last ones below the screen."""
    rows, top = [], 0
    while top < HEIGHT + 200:
        height = chance.choice((60, 80, 100, 120))
        if top < HEIGHT < top + height:
            top = HEIGHT
        cells = [_cell(chance, top, height, place) for place in range(chance.randint(1, 4))]
        content = "".join(cells)
        if chance.random() < 0.5:
            bounds = f"[0,{top}][{WIDTH},{top + height}]"
            content = _node(chance, bounds, content, text=chance.random() < 0.1)
        rows.append(content)
        top += height + chance.choice((0, 0, 20))
    body = _node(chance, f"[0,0][{WIDTH},{HEIGHT}]", "".join(rows), text=False)
    return with_all_attributes(f'<hierarchy rotation="0" width="{WIDTH}" height="{HEIGHT}">{body}</hierarchy>')


def _cell(chance: Random, top: int, height: int, place: int) -> str:
    left = place * 135
    right, bottom = left + chance.choice((110, 120, 134)), top + height - chance.choice((0, 2, 10))
    inner = ""
    if chance.random() < 0.15:
        inner = _node(chance, f"[{left + 10},{top + 10}][{right - 10},{bottom - 10}]", "", text=True)
    return _node(chance, f"[{left},{top}][{right},{bottom}]", inner, text=chance.random() < 0.8)


def _node(chance: Random, bounds: str, content: str, *, text: bool) -> str:
    has = {"bounds": bounds}
    if text:
        has[chance.choice(("text", "text", "text", "content-desc"))] = chance.choice(WORDS)
    if chance.random() < 0.6:
        has["resource-id"] = chance.choice(IDS)
    if chance.random() < 0.4:
        has["clickable"] = "true"
    for state, usual in (("enabled", "true"), ("checked", "false"), ("selected", "false"), ("focused", "false")):
        if chance.random() < 0.08:
            has[state] = "false" if usual == "true" else "true"
    if "checked" in has:
        has["checkable"] = "true"
    attributes = " ".join(f"{name}={quoteattr(value)}" for name, value in has.items())
    return f"<node {attributes}>{content}</node>"


class _Steps:
    """Steps as JSON values."""

    def __init__(self, chance: Random) -> None:
        self._chance = chance
        self._depth = 0

    def any(self) -> Json:
        simple: Sequence[Callable[[], Json]] = (
            *(self._tap, self._tap, self._tap, self._assertion, self._assertion, self._movement),
            *(self._text, self._app, self._script, self._key),
        )
        blocks: Sequence[Callable[[], Json]] = (self._run, self._repeat, self._retry)
        return self._chance.choice((*simple, *blocks) if self._depth < 2 else simple)()

    def _tap(self) -> Json:
        command = self._chance.choice(("tapOn", "tapOn", "tapOn", "doubleTapOn", "longPressOn"))
        selector = self._selector()
        if command == "tapOn" and self._chance.random() < 0.15:
            selector["repeat"] = self._chance.randint(1, 3)
            selector["delay"] = 5
        if self._chance.random() < 0.15:
            selector["point"] = f"{self._chance.randint(0, 99)}%,{self._chance.randint(0, 99)}%"
        return {command: self._with_optional(selector)}

    def _assertion(self) -> Json:
        match self._chance.randrange(4):
            case 0:
                return {"assertNotVisible": self._with_optional(self._selector())}
            case 1:
                return {"extendedWaitUntil": {"visible": self._selector(), "timeout": 200}}
            case _:
                return {"assertVisible": self._with_optional(self._selector())}

    def _movement(self) -> Json:
        direction = self._chance.choice(("UP", "DOWN", "LEFT", "RIGHT"))
        match self._chance.randrange(5):
            case 0:
                return {"swipe": {"direction": direction, "duration": self._chance.choice((200, 400, 1000))}}
            case 1:
                x, y = self._chance.randint(5, 95), self._chance.randint(5, 95)
                return {"swipe": {"start": f"{x}%,{y}%", "end": f"{y}%,{x}%"}}
            case 2:
                way = self._chance.choice(("LEFT", "RIGHT"))
                return {"swipe": {"from": {"text": self._word(), "index": 0}, "direction": way}}
            case 3:
                element: dict[str, Json] = {"text": self._word()}
                return {"scrollUntilVisible": {"element": element, "direction": direction, "timeout": 2500}}
            case _:
                return "scroll"

    def _text(self) -> Json:
        match self._chance.randrange(4):
            case 0:
                return {"inputText": f"${{output.n || 'none'}} {self._word()}"}
            case 1:
                return {"eraseText": self._chance.randint(1, 20)}
            case 2:
                return {"copyTextFrom": {"text": self._word()}}
            case _:
                return {"inputText": self._word()}

    def _app(self) -> Json:
        state = self._chance.random() < 0.5
        choices: Sequence[Json] = (
            "launchApp",
            "stopApp",
            "back",
            "hideKeyboard",
            {"launchApp": {"clearState": state, "stopApp": not state}},
            {"launchApp": {"permissions": {"camera": self._chance.choice(("allow", "deny", "unset"))}}},
            {"launchApp": {"arguments": {"n": self._chance.randint(0, 9), "on": state, "who": self._word()}}},
            {"openLink": f"shop://items/{self._chance.randint(1, 9)}"},
            {"setLocation": {"latitude": self._chance.randint(-80, 80), "longitude": 4.5}},
        )
        return self._chance.choice(choices)

    def _script(self) -> Json:
        number = self._chance.randint(0, 3)
        choices: Sequence[Json] = (
            {"evalScript": f"${{output.n = (output.n || 0) + {number}}}"},
            {"evalScript": f"${{output.list = [1, 2, 3].slice({number})}}"},
            {"assertTrue": f"${{(output.n || 0) >= {number}}}"},
            {"assertTrue": f"${{output.list && output.list.length > {number}}}"},
            {"inputText": "${(output.list || []).join('-')}x"},
            {"inputText": f"${{output.n > {number} ? 'many' : 'few'}}"},
        )
        return self._chance.choice(choices)

    def _key(self) -> Json:
        return {"pressKey": self._chance.choice(KEYS)}

    def _run(self) -> Json:
        run: dict[str, Json] = {"commands": self._commands()}
        if self._chance.random() < 0.7:
            run["when"] = self._condition()
        if self._chance.random() < 0.3:
            run["env"] = {"WHO": self._word()}
        return {"runFlow": run}

    def _repeat(self) -> Json:
        repeat: dict[str, Json] = {"times": self._chance.randint(0, 3), "commands": self._commands()}
        if self._chance.random() < 0.4:
            repeat["while"] = self._condition()
        return {"repeat": repeat}

    def _retry(self) -> Json:
        return {"retry": {"maxRetries": self._chance.randint(0, 3), "commands": self._commands()}}

    def _commands(self) -> list[Json]:
        self._depth += 1
        commands = [self.any() for _ in range(self._chance.randint(1, 2))]
        self._depth -= 1
        return commands

    def _condition(self) -> dict[str, Json]:
        match self._chance.randrange(4):
            case 0:
                return {"visible": self._selector()}
            case 1:
                return {"notVisible": self._selector()}
            case 2:
                return {"platform": self._chance.choice(("Android", "iOS"))}
            case _:
                return {"true": f"${{(output.n || 0) < {self._chance.randint(0, 3)}}}"}

    def _selector(self, depth: int = 0) -> dict[str, Json]:
        chance = self._chance
        selector: dict[str, Json] = {}
        match chance.randrange(6):
            case 0 | 1 | 2:
                selector["text"] = self._pattern()
            case 3:
                selector["id"] = chance.choice(IDS)
            case 4:
                selector |= {"id": chance.choice(IDS), "text": self._word()}
            case _:
                selector["text"] = self._pattern()
                selector[chance.choice(STATES)] = chance.random() < 0.5
        if depth < 2 and chance.random() < 0.35:
            selector[chance.choice(SIDES)] = self._selector(depth + 1)
        if depth == 0 and chance.random() < 0.15:
            selector["childOf"] = self._selector(depth + 1)
        if depth == 0 and chance.random() < 0.1:
            selector.pop("text", None)
            selector["containsChild"] = {"text": self._word()}
        if depth == 0 and "text" in selector and chance.random() < 0.05:
            selector["containsDescendants"] = [self._selector(depth + 1)]
        if chance.random() < 0.15:
            selector["index"] = chance.randint(-2, 2)
        return selector

    def _with_optional(self, selector: dict[str, Json]) -> Json:
        return {**selector, "optional": True} if self._chance.random() < 0.4 else selector

    def _word(self) -> str:
        return self._chance.choice(WORDS)

    def _pattern(self) -> str:
        return self._chance.choice((*WORDS, "Rye.*", "Item \\d", "rye|oat", ".*out", ".*"))
