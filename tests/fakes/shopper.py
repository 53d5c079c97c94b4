"""A model of a few lines that knows what people want in a shop: it plans, acts and judges by the goal and the screen.

It drives the example shop, the built-in app and the web shop. To serve it: python -m tests.fakes.shopper [port]
"""

import asyncio
import json
import re
import sys
from dataclasses import dataclass
from typing import Any

from tests.fakes.llm import FakeEndpoint, Json, call, last_screen, text_of, tool_names

_ITEM = re.compile(
    r"\b(?:buy|order|put|add|choose|open)\s+(?:me\s+)?(?:an?|the|one)?\s*\"?([a-z]+(?: [a-z]+)?)\"?", re.I
)
_EMAIL = re.compile(r"[\w.]+@[\w.]+\w")
_PASSWORD = re.compile(r"password\s+(?:is\s+)?\"?(\w+)\"?", re.I)
_ADDED = re.compile(r"^Added\b")
_ORDERED = re.compile(r"^(?:Thank you|Order placed)")
_CART = re.compile(r"^(?:Go to cart|Cart(?: \(\d+\))?)$")


@dataclass(frozen=True)
class Move:
    """An action on an element, by its line of the screen."""

    tool: str
    line: Json
    text: str = ""

    @property
    def name(self) -> str:
        return str(_name(self.line))

    def sentence(self) -> str:
        if self.tool == "type":
            return f'Type "{self.text}" into "{self.name}"'
        return f'Tap "{self.name}"'

    def call(self) -> Json:
        return call(self.tool, element=self.line["n"], **({"text": self.text} if self.text else {}))


def shopper(asked: Json) -> Json:
    """The mind of a `FakeEndpoint`."""
    tools = tool_names(asked)
    if "verdict" in tools:
        return _judge(asked)
    words = "\n".join(text_of(message) for message in asked["messages"])
    goal = _goal(asked)
    lines = last_screen(asked)["elements"]
    seen = next((_name(line) for line in lines if _reached(goal, line)), None)
    moves = _moves(goal, words, lines)
    if "plan" in tools:
        if seen:
            return call("reached", sees=seen)
        return call("plan", steps=[move.sentence() for move in moves]) if moves else call("cannot", why="no way on")
    if seen:
        return call("done", why=f"it shows {seen}") if _called(asked) else _check(lines, seen)
    done = _called(asked)
    left = [move for move in moves if (move.tool, move.name) not in done]
    return left[0].call() if left else call("done" if done else "cannot", why="there is nothing more to do")


def _goal(asked: Json) -> str:
    for message in asked["messages"]:
        if message["role"] == "user" and text_of(message).startswith("{"):
            said = json.loads(text_of(message))
            return str(said.get("goal") or said.get("step") or "")
    return ""


def _moves(goal: str, words: str, lines: list[Json]) -> list[Move]:
    """What somebody with this goal does on this screen, in order."""
    item = _item(goal)
    email, add = _find(lines, r"Email", "field"), _find(lines, r"Add to cart", "button")
    if email is not None:
        return _log_in(words, lines, email)
    if any(_ADDED.match(str(_name(line))) for line in lines) or (item is None and add is None):
        return _taps(lines, _CART.pattern) or _check_out(lines)
    if add is not None and (item is None or _find(lines, item)):
        return [Move("tap", add)]
    return _check_out(lines) or (_taps(lines, item) if item else [])


def _log_in(words: str, lines: list[Json], email: Json) -> list[Move]:
    address, password = _EMAIL.search(words.replace("you@example.com", "")), _PASSWORD.search(words)
    field, button = _find(lines, r"Password", "field"), _find(lines, r"Log in", "button")
    said = address.group() if address else "ada@example.com"
    moves = [Move("type", email, said)]
    moves += [Move("type", field, password.group(1) if password else "lovelace")] if field else []
    return moves + ([Move("tap", button)] if button else [])


def _check_out(lines: list[Json]) -> list[Move]:
    for name in ("Yes, order", "Checkout"):
        if tapped := _taps([line for line in lines if line["role"] == "button"], name):
            return tapped
    moves = [Move("type", line, text) for name, text in _FORM if (line := _find(lines, name, "field"))]
    moves += [
        Move("tap", line) for line in lines if line["role"] == "checkbox" and "unchecked" in line.get("state", ())
    ]
    place = _find(lines, r"Place order", "button")
    return [*moves, Move("tap", place)] if place else []


_FORM = (("Full name", "Ada Lovelace"), ("Address", "12 St James's Square, London"))


def _taps(lines: list[Json], pattern: str) -> list[Move]:
    matching = [line for line in lines if _fits(line, pattern) and "disabled" not in line.get("state", ())]
    matching.sort(key=lambda line: line["role"] in ("heading", "text"))
    return [Move("tap", matching[0])] if matching else []


def _find(lines: list[Json], pattern: str, role: str | None = None) -> Json | None:
    return next((line for line in lines if _fits(line, pattern) and role in (None, line["role"])), None)


def _fits(line: Json, pattern: str) -> bool:
    return re.fullmatch(pattern, str(_name(line)), re.IGNORECASE) is not None


def _name(line: Json) -> Any:
    texts = ("label", "hint", "id") if line["role"] == "field" else ("text", "label", "id")
    return next((line[name] for name in texts if line.get(name)), "")


def _item(goal: str) -> str | None:
    match = _ITEM.search(goal)
    return match.group(1) if match else None


def _reached(goal: str, line: Json) -> bool:
    """Whether this line of the screen shows that the goal is reached."""
    name, item = str(_name(line)), _item(goal)
    if re.search(r"\b(?:buy|order|check out)\b", goal, re.IGNORECASE):
        return _ORDERED.match(name) is not None and '"' not in name
    if re.search(r"\bcart\b", goal, re.IGNORECASE):
        return _ADDED.match(name) is not None
    if item is not None:
        return line["role"] == "heading" and name.casefold() == item.casefold()
    return name in ("Products", "Items")


def _called(asked: Json) -> set[tuple[str, str]]:
    """What was done already, by tool and name; the executor tells the names."""
    told = [text_of(message) for message in asked["messages"] if message["role"] == "tool"]
    matches = (re.match(r'(\w+) \w+ "(.*?)".*: done$', text) for text in told)
    return {(match.group(1), match.group(2)) for match in matches if match}


def _check(lines: list[Json], seen: str) -> Json:
    return call("assert_visible", element=next(line["n"] for line in lines if _name(line) == seen))


def _judge(asked: Json) -> Json:
    """A step missed its aim when the screen answers with an error."""
    wrong = next((line for line in last_screen(asked)["elements"] if str(_name(line)).startswith("Wrong ")), None)
    if wrong is not None:
        return call("verdict", outcome="not_reached", why=f"it says {_name(wrong)}")
    return call("verdict", outcome="reached", why="the screen shows it")


async def _serve(port: int) -> None:
    async with FakeEndpoint(mind=shopper).serving(port) as endpoint:
        print(endpoint.url, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1]) if len(sys.argv) > 1 else 0))
