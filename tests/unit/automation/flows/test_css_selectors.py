"""CSS selectors are refused only if no browser accepts them."""

import pytest

from mobiletest_automation.flows.css_syntax import css_problem
from mobiletest_automation.flows.loader import parse_flow
from mobiletest_automation.flows.selectors import css_selectors_of


@pytest.mark.parametrize(
    "source",
    [
        *("#total", "#a .b", "a > b, c + d ~ e", '[data-x="1,2)"]', ":is(a, b > c)", 'a:not([x=")"])', "p::part(x)"),
        *(".sm\\:w-1", "#\\31 2", "*|a", "a||b", ".über", ":scope > a", "[a=b", "li:nth-child(2n + 1)"),
        *("[href$='.pdf' i]", ":has(> img)", "a/* c,, d */b", "& a"),
    ],
)
def test_what_a_browser_may_accept_is_accepted(source: str) -> None:
    assert css_problem(source) == ""


PROBLEMS: list[tuple[str, str]] = [
    ("", "empty"),
    ("a, , b", "empty"),
    ("a,", "empty"),
    ("> a", "combinator"),
    ("a +", "combinator"),
    ("//div[@id]", '"/" has no meaning'),
    ("a { color: red }", '"{" has no meaning'),
    ('"Log in"', "has no meaning"),
    ("#1", 'no name begins after "#"'),
    ("..a", 'no name begins after "."'),
    ("a:", 'no name begins after ":"'),
    ("a)", '")" closes nothing'),
    ("a[(b])", '"]" closes nothing'),
]


def test_what_no_browser_accepts_is_a_problem() -> None:
    assert [row for row in PROBLEMS if row[1] not in css_problem(row[0])] == []


SELECTORS: list[tuple[dict[str, object], set[str]]] = [
    ({"tapOn": "Pay"}, set()),
    ({"tapOn": {"css": ".a"}}, {".a"}),
    ({"assertVisible": {"text": "x", "below": {"css": ".a"}}}, {".a"}),
    ({"tapOn": {"containsDescendants": [{"css": ".a"}, {"childOf": {"css": ".b"}}]}}, {".a", ".b"}),
    ({"extendedWaitUntil": {"visible": {"css": ".a"}, "notVisible": {"css": ".b"}}}, {".a", ".b"}),
    ({"takeScreenshot": {"path": "x", "cropOn": {"css": ".a"}}}, {".a"}),
    ({"swipe": {"direction": "UP", "from": {"css": ".a"}}}, {".a"}),
    ({"repeat": {"while": {"visible": {"css": ".a"}}, "commands": [{"tapOn": {"css": ".b"}}]}}, {".a"}),
    ({"runFlow": {"when": {"notVisible": {"css": ".a"}}, "commands": [{"tapOn": {"css": ".b"}}]}}, {".a"}),
]


def test_a_command_has_the_selectors_of_its_own_elements() -> None:
    css = [css_selectors_of(parse_flow([step]).steps[0].command) for step, _ in SELECTORS]
    assert css == [selectors for _, selectors in SELECTORS]
