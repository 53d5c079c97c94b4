"""Small flows, written as sections of the text files in `battery`, with the screens in `screens`.

A section begins with `### ID SCREEN...`. Its head may also say `moving` (the list goes on moving after a swipe),
`env:NAME=VALUE`, and `differs:ROW`: the row of docs/maestro.md that says why it does not do what it does in Maestro.
The flow follows; without a header it is a list of steps of the app `com.example.shop`. `+++ PATH` begins a file beside
it; a file of `PNG` has a picture. `==> VERDICT; ACTION; ...` is what a flow that differs does here.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

from tests.fakes.workspaces import PNG
from tests.maestro.judge.flows import NO_SCREEN, JudgedFlow, Moves
from tests.maestro.table import FLOWS, MEDIA, PARTS

# Of the commands whose flows differ.
_ROWS = {
    "inputRandomEmail": "expressions",
    "inputRandomPersonName": "expressions",
    "openBrowser": "open-browser",
}
HERE = Path(__file__).parent
HEADER = "appId: com.example.shop\n---\n"
MOVES = Moves(-12, 14)
_ABSENT = {
    **dict.fromkeys(("text", "resource-id", "content-desc"), ""),
    "class": "android.view.View",
    **dict.fromkeys(("checkable", "checked", "clickable", "focusable", "focused", "scrollable"), "false"),
    **dict.fromkeys(("long-clickable", "password", "selected"), "false"),
    "enabled": "true",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A flow of the battery. `files` are by their paths; `differs` and `here` are "" for one that must not differ."""

    id: str
    text: str
    files: Mapping[str, bytes] = field(default_factory=dict)
    screens: tuple[str, ...] = (NO_SCREEN,)
    moves: Moves | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    differs: str = ""
    here: str = ""

    def write(self, folder: Path) -> JudgedFlow:
        """The flow in a folder of its own."""
        own = folder / self.id
        for path, content in {"flow.yaml": self.text.encode(), **self.files}.items():
            (own / path).parent.mkdir(parents=True, exist_ok=True)
            (own / path).write_bytes(content)
        return JudgedFlow(
            id=self.id, folder=own, path="flow.yaml", screens=self.screens, moves=self.moves, env=self.env
        )


def sections() -> Iterator[Section]:
    for file in sorted((HERE / "battery").glob("*.txt")):
        for section in re.split(r"^### ", file.read_text(), flags=re.MULTILINE)[1:]:
            head, _, body = section.partition("\n")
            yield _read_section(f"{file.stem}/{head}".split(), body)


def _read_section(head: list[str], body: str) -> Section:
    name, *words = head
    said = {word for word in words if ":" in word or word == "moving"}
    body, _, here = body.partition("\n==> ")
    text, *files = re.split(r"^\+\+\+ ", body + "\n", flags=re.MULTILINE)
    return Section(
        id=name,
        text=text if re.search(r"^(---|appId:)", text, re.MULTILINE) else HEADER + text,
        files=dict(_read_file(file) for file in files),
        screens=tuple(screen(word) for word in words if word not in said) or (NO_SCREEN,),
        moves=MOVES if "moving" in said else None,
        env=dict(word.removeprefix("env:").split("=") for word in said if word.startswith("env:")),
        differs=next((word.removeprefix("differs:") for word in said if word.startswith("differs:")), ""),
        here=here.strip(),
    )


def _read_file(file: str) -> tuple[str, bytes]:
    path, _, content = file.partition("\n")
    return path, PNG if content.strip() == "PNG" else content.encode()


@cache
def screen(name: str) -> str:
    """A screen of the folder."""
    return with_all_attributes((HERE / "screens" / f"{name}.xml").read_text())


def with_all_attributes(hierarchy: str) -> str:
    """With those that every node of a real hierarchy has."""
    root = ElementTree.fromstring(hierarchy)  # noqa: S314 (our own)
    root.set("rotation", "0")
    for node in root.iter("node"):
        for attribute, value in _ABSENT.items():
            node.attrib.setdefault(attribute, value)
    return ElementTree.tostring(root, encoding="unicode")


def command_sections() -> Iterator[Section]:
    """The flows of the table of commands and of the examples, on a screen that does not change."""
    media = {**{path: text.encode() for path, text in PARTS.items()}, **MEDIA}
    env = {"SECOND": "https://commands.example.com/second.html"}
    for command, text in FLOWS.items():
        yield Section(
            id=f"commands/{command}",
            text=text,
            files=media,
            screens=(screen("commands"),),
            env=env,
            differs=_ROWS.get(command, ""),
        )
    for file in sorted((HERE.parents[1] / "examples" / "flows").glob("*.yaml")):
        yield Section(id=f"examples/{file.stem}", text=file.read_text())
