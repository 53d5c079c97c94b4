"""Elements that look different in the pictures of two builds: their size, colours or typeface."""

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

    Of pictures of different sizes the part from the top left corner is compared that both have.
    """
    size = min(one.width, other.width), min(one.height, other.height)
    one, other = one.crop((0, 0, *size)), other.crop((0, 0, *size))
    if not _count(_brightest(ImageChops.difference(one, other)).point(_MARKED)):
        return False
    count = _count(ImageChops.lighter(_beyond(one, other), _beyond(other, one)))
    if count >= _PIXELS and count >= _SHARE * size[0] * size[1]:
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
