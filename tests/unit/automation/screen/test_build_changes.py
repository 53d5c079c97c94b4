from collections.abc import Sequence
from dataclasses import replace
from io import BytesIO
from itertools import permutations

import pytest
from PIL import Image, ImageDraw

from benchmarks.planted_apps import SHOP, make_case
from benchmarks.planted_changes import Score
from mobiletest_automation.screen.build_changes import compare_builds
from mobiletest_automation.screen.changes import (
    COMES_AND_GOES,
    LINES_LIMIT,
    NOT_REACHED,
    ScreenChange,
    SeenScreen,
    summarize,
)
from mobiletest_automation.screen.elements import Bounds, Element, Role

WIDTH, HEIGHT, LINE = 400, 800, 40
TITLE = Element(role=Role.HEADING, text="Cart")
PAY = Element(role=Role.BUTTON, text="Pay", id="pay")
REMOVE = Element(role=Role.BUTTON, text="Remove")
TERMS = Element(role=Role.TEXT, text="Terms apply")
COUPON = Element(role=Role.FIELD, label="Coupon")


def text(words: str) -> Element:
    return Element(role=Role.TEXT, text=words)


def screen(*elements: Element, title: Element = TITLE, scrolled: float = 0) -> Element:
    """The elements one below the other."""
    placed = [
        replace(each, bounds=Bounds(10, place * LINE - scrolled, WIDTH - 20, LINE))
        for place, each in enumerate((title, *elements))
    ]
    return Element(role=Role.SCREEN, bounds=Bounds(0, 0, WIDTH, HEIGHT), children=tuple(placed))


def seen(*trees: Element, test: str = "Buy", step: str = "Open the cart", picture: str = "") -> list[SeenScreen]:
    """Each tree by a run of its own."""
    return [SeenScreen(tree, f"run {place}", test, step, 1, picture) for place, tree in enumerate(trees)]


CART = screen(PAY, TERMS, REMOVE, COUPON)


def lines(before: Sequence[Element], after: Sequence[Element]) -> list[str]:
    return summarize(compare_builds(seen(*before), seen(*after)))


@pytest.mark.parametrize(
    ("after", "line"),
    [
        (screen(PAY, TERMS, REMOVE, text("Gift wrap"), COUPON), 'text "Gift wrap" was added'),
        (screen(PAY, TERMS, COUPON), 'button "Remove" is gone'),
        (screen(replace(PAY, text="Buy now"), TERMS, REMOVE, COUPON), 'button "Pay" was renamed to "Buy now"'),
        (screen(PAY, TERMS, replace(REMOVE, text="Delete"), COUPON), 'button "Remove" was renamed to "Delete"'),
        (screen(PAY, text("No terms"), REMOVE, COUPON), 'text "Terms apply" was renamed to "No terms"'),
        (screen(TERMS, REMOVE, COUPON, PAY), 'button "Pay" was moved'),
        (screen(PAY, TERMS, replace(REMOVE, enabled=False), COUPON), 'button "Remove" is disabled'),
        (screen(replace(PAY, role=Role.LINK), TERMS, REMOVE, COUPON), 'button "Pay" became a link'),
        (screen(replace(PAY, id="buy"), TERMS, REMOVE, COUPON), 'button "Pay" has the id "buy" instead of "pay"'),
    ],
)
def test_a_change_of_an_element_is_one_line(after: Element, line: str) -> None:
    assert lines([CART] * 3, [after] * 3) == [f'"Cart": {line}']
    assert lines([CART], [after]) == [f'"Cart": {line} (not certain)']


def test_equal_screens_have_no_changes_wherever_they_are_scrolled_to() -> None:
    scrolled = screen(PAY, TERMS, REMOVE, COUPON, scrolled=100)
    assert lines([CART] * 3, [scrolled, CART, scrolled]) == []


def test_what_varies_within_one_build_is_no_change() -> None:
    orders = permutations(["Oak", "Elm", "Fir"])

    def varied(clock: str, word: str, *others: Element) -> Element:
        rows = [Element(role=Role.CELL, children=(text(name),)) for name in next(orders)]
        listing = Element(role=Role.LIST, children=tuple(rows))
        return screen(PAY, text(clock), text(word), TERMS, *others, listing, COUPON)

    banner = Element(role=Role.BUTTON, text="Summer sale")
    before = [varied("9:41", "alpha"), varied("9:58", "beta", banner), varied("10:02", "gamma")]
    after = [varied("17:20", "delta", banner), varied("17:31", "epsilon"), varied("17:44", "zeta")]
    assert lines(before, after) == []


def test_numbers_and_dates_that_differ_between_builds_are_no_change() -> None:
    assert lines([screen(text("Monday, 3 May"))] * 3, [screen(text("Friday, 12 June"))] * 3) == []
    assert lines([screen(text("3 items"))], [screen(text("12 items"))]) == []


def test_the_status_bar_does_not_count() -> None:
    bar = Element(role=Role.BUTTON, text="Wifi", attributes={"package": "com.android.systemui"})
    assert lines([CART] * 3, [screen(PAY, TERMS, REMOVE, COUPON, bar)] * 3) == []


def test_what_may_only_be_scrolled_out_of_view_is_not_gone() -> None:
    def listing(*names: str) -> Element:
        rows = [Element(role=Role.BUTTON, text=name) for name in names]
        placed = [replace(row, bounds=Bounds(0, 100 + 50 * place, 400, 50)) for place, row in enumerate(rows)]
        return Element(
            role=Role.SCREEN,
            bounds=Bounds(0, 0, 400, 200),
            children=(TITLE, Element(role=Role.LIST, bounds=Bounds(0, 100, 400, 100), children=tuple(placed))),
        )

    assert lines([listing("Oak", "Elm", "Fir")] * 3, [listing("Oak", "Elm")] * 3) == []
    assert lines([listing("Oak", "Elm", "Fir")] * 3, [listing("Oak", "Fir")] * 3) == ['"Cart": button "Elm" is gone']


HOME = screen(text("Welcome"), Element(role=Role.BUTTON, text="Shop"), title=text(""))
REVIEW = screen(text("Is this right?"), Element(role=Role.BUTTON, text="Yes"), title=text("Review"))


def journeys(*trees: Element, runs: int = 3, test: str = "Buy", steps: str = "Go on") -> list[SeenScreen]:
    return [
        SeenScreen(tree, f"run {run}", test, steps, place) for run in range(runs) for place, tree in enumerate(trees)
    ]


def kinds(changes: list[ScreenChange]) -> list[tuple[str, bool, str]]:
    return [(change.kind.value, change.certain, change.reason) for change in changes]


def test_a_screen_is_new_or_gone_if_runs_of_the_other_build_saw_something_else_at_its_step() -> None:
    with_review, without = journeys(HOME, REVIEW, CART), journeys(HOME, CART)
    assert kinds(compare_builds(without, with_review)) == [("new", True, "")]
    assert kinds(compare_builds(with_review, without)) == [("gone", True, "")]
    assert kinds(compare_builds(with_review, journeys(HOME, CART, runs=2))) == [("gone", False, "")]


@pytest.mark.parametrize(
    "other",
    [
        journeys(HOME),
        journeys(HOME, CART, test="Another test"),
        # the test has another step before, so that its steps may show other screens
        journeys(HOME, CART, steps="Tap it"),
    ],
)
def test_a_screen_is_not_known_where_no_run_of_the_other_build_came_to_its_step(other: list[SeenScreen]) -> None:
    own = journeys(HOME, REVIEW)
    assert kinds(compare_builds(own, other))[:1] == [("unknown", False, NOT_REACHED)]
    assert ("unknown", False, NOT_REACHED) in kinds(compare_builds(other, own))


def test_a_screen_that_only_some_runs_saw_is_not_known() -> None:
    other_run = [replace(each, run_id="another run") for each in journeys(HOME, CART, runs=1)]
    sometimes = [*journeys(HOME, REVIEW), *other_run]
    assert kinds(compare_builds(sometimes, journeys(HOME, CART))) == [("unknown", False, COMES_AND_GOES)]


def picture(color: str, shift: int = 0) -> bytes:
    drawn = Image.new("RGB", (WIDTH, HEIGHT), "white")
    ImageDraw.Draw(drawn).text((20 + shift, LINE + 10), "Pay", fill=color)
    content = BytesIO()
    drawn.save(content, "WEBP", lossless=True)
    return content.getvalue()


@pytest.mark.parametrize(("color", "restyled"), [("red", True), ("black", False)])
def test_an_element_of_another_colour_is_restyled(color: str, restyled: bool) -> None:
    pictures = {"before": picture("black"), "after": picture(color, shift=1)}
    builds = [seen(CART, CART, CART, picture=each) for each in pictures]
    expected = ['"Cart": button "Pay" looks different'] if restyled else []
    assert summarize(compare_builds(*builds, pictures.get)) == expected
    assert compare_builds(*builds, lambda _: b"no picture") == []


def test_summaries_are_bounded_and_act_on_nothing() -> None:
    hostile = screen(text("\x1b[2J\n::error::\ud800" + "x" * 500), *(text(f"{chr(97 + n)}{n}") for n in range(26)))
    (first, *_) = summaries = lines([screen()] * 3, [hostile] * 3)
    assert "\x1b" not in first
    assert "\n" not in first
    assert len(first) < 200
    assert len(summaries) <= LINES_LIMIT
    assert summaries[-1] == '"Cart": 16 more changes'


async def test_planted_changes_are_reported_and_nothing_else() -> None:
    """A sample of `python -m benchmarks.build_changes`."""
    case = await make_case(8, SHOP, platform="android", ids=0.5, changes=8, runs=3)
    score = Score()
    score.add(case, compare_builds(case.before, case.after, case.pictures.get))
    assert score.mistakes == []
