"""Screenshots as pixels: reading them, cutting out an element, and comparing them with a baseline."""

from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO

from PIL import Image, ImageChops, ImageMath, ImageOps, UnidentifiedImageError

from mobiletest_automation.screen.elements import Bounds

PIXELS_LIMIT = 64_000_000
# Of two pictures that are compared.
COMPARED_PIXELS_LIMIT = 16_000_000
# Colors that are no further apart than this share of black to white are equal, as in Maestro.
COLOR_TOLERANCE = 0.1

# Rows that are compared at once, which bounds the memory.
STRIP_ROWS = 128

_TOLERATED = (COLOR_TOLERANCE**2) * 3 * 255**2
_MARK = (255, 0, 0)


class UnreadablePicture(Exception):
    """A screenshot or another picture cannot be read; the message says why."""


def read_picture(
    content: bytes, what: str = "screenshot", *, pixels: int = PIXELS_LIMIT, formats: Sequence[str] = ("PNG", "JPEG")
) -> Image.Image:
    """The pixels of a picture of at most so many `pixels` in one of these `formats`, without transparency.

    Raises:
        UnreadablePicture: it is no picture, damaged or too large.
    """
    try:
        with Image.open(BytesIO(content), formats=list(formats)) as opened:
            if opened.width * opened.height > pixels:
                raise UnreadablePicture(f"the {what} is too large: it has more than {pixels:,} pixels")
            return opened.convert("RGB")
    except (UnidentifiedImageError, Image.DecompressionBombError, OSError, SyntaxError, ValueError) as error:
        raise UnreadablePicture(f"the {what} cannot be read ({type(error).__name__})") from error


def picture_size(content: bytes) -> tuple[int, int]:
    """Width and height, without reading the pixels.

    Raises:
        UnreadablePicture: it is no picture, damaged or too large.
    """
    try:
        with Image.open(BytesIO(content), formats=("PNG", "JPEG")) as opened:
            return opened.size
    except (UnidentifiedImageError, Image.DecompressionBombError, OSError, SyntaxError, ValueError) as error:
        raise UnreadablePicture(f"the screenshot cannot be read ({type(error).__name__})") from error


def write_png(picture: Image.Image) -> bytes:
    content = BytesIO()
    picture.save(content, "PNG", optimize=False)
    return content.getvalue()


def crop_screenshot(screenshot: bytes, screen: Bounds, part: Bounds) -> bytes | None:
    """A PNG of the part of the screen; None if nothing of it is on the screen.

    `screen` and `part` are in the device's coordinates, of which a pixel may be a fraction. Takes milliseconds of CPU:
    call it in a thread.

    Raises:
        UnreadablePicture: it is no picture, damaged or too large.
    """
    visible = screen.intersection(part)
    if visible is None:
        return None
    picture = read_picture(screenshot)
    x, y = picture.width / screen.width, picture.height / screen.height
    left, top = round((visible.x - screen.x) * x), round((visible.y - screen.y) * y)
    right, bottom = round((visible.right - screen.x) * x), round((visible.bottom - screen.y) * y)
    if right <= left or bottom <= top:
        return None
    return write_png(picture.crop((left, top, right, bottom)))


@dataclass(frozen=True, slots=True)
class PictureComparison:
    """`equal_share` (0 to 1) of the pixels are equal; `difference` is a PNG that marks the others in red."""

    equal_share: float
    difference: bytes


def compare_pictures(actual: bytes, baseline: bytes) -> PictureComparison:
    """Compare a screenshot with a baseline. Takes up to a second: call it in a thread.

    Raises:
        UnreadablePicture: one is no picture, damaged or too large, or their sizes differ.
    """
    picture = read_picture(actual, pixels=COMPARED_PIXELS_LIMIT)
    expected = read_picture(baseline, "baseline", pixels=COMPARED_PIXELS_LIMIT)
    if picture.size != expected.size:
        sizes = " x ".join(map(str, picture.size)), " x ".join(map(str, expected.size))
        raise UnreadablePicture(f"the screenshot has {sizes[0]} pixels and the baseline {sizes[1]}")
    differing = _differing_pixels(picture, expected)
    unequal = differing.histogram()[255]
    return PictureComparison(1 - unequal / (picture.width * picture.height), _draw(picture, differing))


def _differing_pixels(picture: Image.Image, expected: Image.Image) -> Image.Image:
    """A mask: 255 where the colors differ."""
    mask = Image.new("L", picture.size)
    for top in range(0, picture.height, STRIP_ROWS):
        box = (0, top, picture.width, min(top + STRIP_ROWS, picture.height))
        apart = ImageChops.difference(picture.crop(box), expected.crop(box))
        red, green, blue = (channel.convert("I") for channel in apart.split())
        distant = ImageMath.lambda_eval(
            lambda of: (of["r"] * of["r"] + of["g"] * of["g"] + of["b"] * of["b"] > of["limit"]) * 255,
            r=red,
            g=green,
            b=blue,
            limit=int(_TOLERATED),
        )
        mask.paste(distant.convert("L"), box)
    return mask


def _draw(picture: Image.Image, differing: Image.Image) -> bytes:
    """The picture in pale grey with the differing pixels in red."""
    pale = ImageOps.grayscale(picture).point([255 - (255 - level) * 2 // 5 for level in range(256)]).convert("RGB")
    pale.paste(_MARK, mask=differing)
    return write_png(pale)
