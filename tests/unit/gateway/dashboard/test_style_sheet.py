"""The dashboard's style sheet: contrast as WCAG 2.2 AA asks for in both themes, and no colour without a shape."""

import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest

from deploy.vendored_files import DASHBOARD

STATIC = DASHBOARD / "static"
STYLE_SHEET = (STATIC / "dashboard.css").read_text()
MODULES = sorted(STATIC.glob("*.js"))
# Success criteria 1.4.3 and 1.4.11.
TEXT, GRAPHICS = 4.5, 3.0
WHITE = "#fff"
SURFACES = ("canvas", "surface", "sunken", "hover")
LARGEST_STYLE_SHEET = 30 * 1024


def colours(theme: str) -> dict[str, str]:
    """The colour variables of a theme, without their dashes."""
    matches = re.findall(r"^  --([\w-]+): (#\w+|light-dark\((#\w+), (#\w+)\));$", STYLE_SHEET, flags=re.MULTILINE)
    return {name: {"light": light, "dark": dark}[theme] if light else colour for name, colour, light, dark in matches}


def luminance(colour: str) -> float:
    """The relative luminance of "#rgb" or "#rrggbb", as WCAG 2.2 defines it."""
    digits = colour[1:] if len(colour) == 7 else "".join(digit * 2 for digit in colour[1:])
    channels = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in channels]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    """From 1 to 21."""
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def text_pairs(names: set[str]) -> Iterator[tuple[str, str]]:
    """Text and background, both by name."""
    outcomes = [name.removesuffix("-tint") for name in names if name.endswith("-tint")]
    tints = [f"{outcome}-tint" for outcome in outcomes]
    yield from product(("text", "muted", "link"), (*SURFACES, *tints))
    yield from product(outcomes, SURFACES)
    yield from zip(outcomes, tints, strict=True)
    yield from ((name, name.removeprefix("on-")) for name in names if name.startswith("on-"))


def graphics_pairs(names: set[str]) -> Iterator[tuple[str, str]]:
    """Graphics and background, both by name."""
    fills = [name for name in names if name.endswith("-fill")]
    yield from product(("outline", "focus", *fills), SURFACES)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_stands_out_from_its_background(theme: str) -> None:
    palette = colours(theme)
    measured = {pair: contrast(palette[pair[0]], palette[pair[1]]) for pair in text_pairs(set(palette))}
    assert len(measured) > 60
    assert {pair: round(ratio, 2) for pair, ratio in measured.items() if ratio < TEXT} == {}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_graphics_stand_out_from_their_background(theme: str) -> None:
    palette = colours(theme)
    measured = {pair: contrast(palette[pair[0]], palette[pair[1]]) for pair in graphics_pairs(set(palette))}
    measured |= {("#fff", name): contrast(WHITE, colour) for name, colour in palette.items() if name.endswith("-fill")}
    assert {pair: round(ratio, 2) for pair, ratio in measured.items() if ratio < GRAPHICS} == {}


def classes_that_set(variable: str) -> set[str]:
    rules = re.findall(r"^((?:\.[\w-]+(?:, )?)+) \{[^}]*?--" + variable + ":", STYLE_SHEET, flags=re.MULTILINE)
    return {name for selectors in rules for name in selectors.split(", ")}


def test_no_outcome_is_said_by_its_colour_only() -> None:
    assert classes_that_set("ink") == classes_that_set("shape") >= {".passed", ".failed", ".no-verdict", ".flaky"}


def test_variables_are_defined_and_used() -> None:
    defined = set(re.findall(r"(--[\w-]+):", STYLE_SHEET)) - {"--tip"}
    used = set(re.findall(r"var\((--[\w-]+)", STYLE_SHEET))
    assert defined == used


def test_pictures_are_in_the_sheet() -> None:
    """The content security policy permits no other hosts, and a file would be one more request for each page."""
    addresses = re.findall(r'url\("([^"]*)"\)', STYLE_SHEET)
    assert len(addresses) == STYLE_SHEET.count("url(") > 0
    for address in addresses:
        kind, _, picture = address.partition(",")
        assert kind == "data:image/svg+xml"
        assert ElementTree.fromstring(unquote(picture)).tag == "{http://www.w3.org/2000/svg}svg"  # noqa: S314


def test_classes_are_used() -> None:
    """By a template, a module or Swagger UI; those of depths are composed."""
    sheets = "".join(path.read_text() for path in STATIC.glob("*.css"))
    selectors = re.sub(r"/\*.*?\*/|\{[^{}]*\}|url\([^)]*\)", " ", sheets, flags=re.DOTALL)
    classes = set(re.findall(r"\.([a-z][\w-]*)", selectors, flags=re.IGNORECASE))
    sources = [*MODULES, STATIC / "vendor/swagger-ui.css", *DASHBOARD.glob("templates/*.html"), *DASHBOARD.glob("*.py")]
    words = set(re.findall(r"[\w-]+", "".join(path.read_text() for path in sources)))
    words |= {word.replace("_", "-") for word in words}
    assert {name for name in classes - words if not name.startswith("depth-")} == set()


def test_the_style_sheet_is_small() -> None:
    assert len(STYLE_SHEET.encode()) <= LARGEST_STYLE_SHEET


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.name)
def test_modules_are_small_and_import_existing_ones(module: Path) -> None:
    text = module.read_text()
    assert len(text.splitlines()) < 150
    assert all((STATIC / name).exists() for name in re.findall(r'from "\./([^"]+)"', text))
