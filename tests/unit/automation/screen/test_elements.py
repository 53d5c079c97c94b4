"""Rectangles of elements."""

import pytest

from mobiletest_automation.screen.elements import Bounds


@pytest.mark.parametrize(
    ("other", "overlap"),
    [
        (Bounds(5, 5, 10, 10), True),
        (Bounds(2, 2, 1, 1), True),
        (Bounds(-5, -5, 100, 100), True),
        (Bounds(10, 0, 5, 5), False),
        (Bounds(0, 10, 5, 5), False),
        (Bounds(-5, 2, 5, 5), False),
        (Bounds(2, 2, 0, 5), False),
    ],
)
def test_bounds_overlap_where_they_have_an_area_in_common(other: Bounds, overlap: bool) -> None:
    bounds = Bounds(0, 0, 10, 10)
    assert (bounds.intersection(other) is not None) is overlap
    assert bounds.intersection(other) == other.intersection(bounds)


@pytest.mark.parametrize(
    ("bounds", "share"),
    [
        (Bounds(0, 0, 10, 10), 1),
        (Bounds(-5, 0, 10, 10), 0.5),
        (Bounds(95, 95, 10, 10), 0.25),
        (Bounds(200, 0, 9, 9), 0),
        (Bounds(100, 0, 9, 9), 0),
        # What covers everything, a line by its length, and nothing.
        (Bounds(-900, -900, 2000, 2000), 1),
        (Bounds(50, 50, 200, 0), 0.25),
        (Bounds(50, 101, 200, 0), 0),
        (Bounds(50, 50, 0, 0), 0),
    ],
)
def test_share_of_an_element_that_is_on_the_screen(bounds: Bounds, share: float) -> None:
    assert bounds.share_within(Bounds(0, 0, 100, 100)) == share
