"""Elements that look different in the pictures of two builds: their size, colours or typeface."""

from itertools import product
from typing import cast

from PIL import Image, ImageChops, ImageFilter, ImageStat

from mobiletest_automation.screen.elements import Bounds, Element
from mobiletest_automation.screen.pictures import UnreadablePicture, read_picture

_PIXELS_LIMIT = 16_000_000
# Levels of a colour (0 to 255) that antialiasing and compression change.
_LEVELS = 40
# The share of an element's pixels that have to differ, or that of what is not its background, and how many.
_SHARE = 0.02
_SHARE_OF_INK = 0.3
_PIXELS = 12
# Pixels that a border has, and by which the size of a text may differ.
_EDGE = 4
_SHIFT = 2
# An element that is higher by this share and by this share of the screen has another size.
_HIGHER = 0.12
_OF_SCREEN = 0.006
# A text with more ink by this factor has another weight.
_INK = 1.25
_INK_LEVELS = 1.5


def open_picture(content: bytes) -> Image.Image | None:
    """The pixels of a stored picture; None if it cannot be read or is too large."""
    try:
        return read_picture(content, pixels=_PIXELS_LIMIT, formats=("WEBP", "PNG", "JPEG"))
    except UnreadablePicture:
        return None


def crop_element(picture: Image.Image, screen: Bounds, element: Element) -> Image.Image | None:
    """The pixels of an element that is wholly in view; None if it is not."""
    box = element.bounds
    if not screen.width or not screen.height or screen.intersection(box) is None:
        return None
    if box.x < screen.x - 1 or box.y < screen.y - 1 or box.right > screen.right + 1 or box.bottom > screen.bottom + 1:
        return None
    across, down = picture.width / screen.width, picture.height / screen.height
    corners = (
        max(round((box.x - screen.x) * across), 0),
        max(round((box.y - screen.y) * down), 0),
        min(round((box.right - screen.x) * across), picture.width),
        min(round((box.bottom - screen.y) * down), picture.height),
    )
    if corners[2] - corners[0] < 2 or corners[3] - corners[1] < 2:
        return None
    return picture.crop(corners)


def has_other_height(before: Bounds, after: Bounds, screen: Bounds) -> bool:
    """Whether the element is higher or lower by more than rounding."""
    apart = abs(before.height - after.height)
    return apart > _HIGHER * min(before.height, after.height) and apart > _OF_SCREEN * screen.height


def looks_different(one: Image.Image, other: Image.Image) -> bool:
    """Whether the pixels differ by more than a shift of a pixel, antialiasing and compression.

    Of pictures of different sizes what they hold and its background are compared, with or without their edges: a
    layout may stretch a box around what it holds.
    """
    if one.size == other.size:
        return _differ(one, other)
    return all(_hold_others(_without_edges(one, edge), _without_edges(other, edge)) for edge in (0, _EDGE))


def _without_edges(picture: Image.Image, edge: int) -> Image.Image:
    edge = min(edge, (min(picture.size) - 1) // 4)
    return picture.crop((edge, edge, picture.width - edge, picture.height - edge))


def _hold_others(one: Image.Image, other: Image.Image) -> bool:
    """Whether the background or what is on it differs."""
    colors = _background(one), _background(other)
    if any(abs(level - other_level) > _LEVELS for level, other_level in zip(*colors, strict=True)):
        return True
    mine, its = _content(one, colors[0]), _content(other, colors[1])
    if mine is None or its is None:
        return (mine is None) is not (its is None)
    if abs(mine.width - its.width) > _SHIFT or abs(mine.height - its.height) > _SHIFT:
        return True
    shifts = product((0, -1, 1), (0, -1, 1))
    return all(_differ(*_overlap(mine, its, shift)) for shift in shifts)


def _overlap(one: Image.Image, other: Image.Image, shift: tuple[int, int]) -> tuple[Image.Image, Image.Image]:
    """The parts that lie on each other if the other one is shifted right and down."""
    left, top = (max(each, 0) for each in shift)
    width = max(min(one.width - left, other.width - left + shift[0]), 1)
    height = max(min(one.height - top, other.height - top + shift[1]), 1)
    return (
        one.crop((left, top, left + width, top + height)),
        other.crop((left - shift[0], top - shift[1], left - shift[0] + width, top - shift[1] + height)),
    )


def _background(picture: Image.Image) -> tuple[int, int, int]:
    """The most frequent colour."""
    colors = cast("list[tuple[int, tuple[int, int, int]]]", picture.getcolors(picture.width * picture.height))
    return max(colors)[1]


def _content(picture: Image.Image, background: tuple[int, int, int]) -> Image.Image | None:
    """The part that differs from the background; None if nothing does."""
    apart = ImageChops.difference(picture, Image.new("RGB", picture.size, background))
    box = _brightest(apart).point(_MARKED).getbbox()
    return picture.crop(box) if box is not None else None


def _differ(one: Image.Image, other: Image.Image) -> bool:
    if not _count(_brightest(ImageChops.difference(one, other)).point(_MARKED)):
        return False
    count = _count(ImageChops.lighter(_beyond(one, other), _beyond(other, one)))
    if count >= _PIXELS and count >= _SHARE * one.width * one.height:
        return True
    ink = max(_count(_ink(each).point(_MARKED)) for each in (one, other))
    return (count >= _PIXELS and count >= _SHARE_OF_INK * ink) or _has_other_weight(one, other)


# 255 for differences beyond antialiasing.
_MARKED = [255 if level > _LEVELS else 0 for level in range(256)]


def _count(mask: Image.Image) -> int:
    return mask.histogram()[255]


def _beyond(one: Image.Image, other: Image.Image) -> Image.Image:
    """A mask: 255 where no pixel around the same place of the other picture has a similar colour."""
    darkest, lightest = other.filter(ImageFilter.MinFilter(3)), other.filter(ImageFilter.MaxFilter(3))
    outside = ImageChops.lighter(ImageChops.subtract(one, lightest), ImageChops.subtract(darkest, one))
    return _brightest(outside).point(_MARKED)


def _brightest(picture: Image.Image) -> Image.Image:
    """The highest of each pixel's three colours."""
    red, green, blue = picture.split()
    return ImageChops.lighter(ImageChops.lighter(red, green), blue)


def _has_other_weight(one: Image.Image, other: Image.Image) -> bool:
    """Whether one has much more that differs from its background: a bolder or larger typeface."""
    inks = sorted(float(ImageStat.Stat(_ink(each)).mean[0]) for each in (one, other))
    return inks[1] - inks[0] > _INK_LEVELS and inks[1] > _INK * inks[0]


def _ink(picture: Image.Image) -> Image.Image:
    """The difference of each pixel to the most frequent level of grey, which is the background."""
    grey = picture.convert("L")
    levels = grey.histogram()
    background = max(range(256), key=levels.__getitem__)
    return ImageChops.difference(grey, Image.new("L", grey.size, background))
