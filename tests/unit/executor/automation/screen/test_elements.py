"""Rectangles of elements."""

import pytest

from services.executor.automation.screen.elements import Bounds


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
    assert bounds.overlaps(other) is overlap
    assert other.overlaps(bounds) is overlap
    assert (bounds.intersection(other) is not None) is overlap
