"""Compares a picture with its baseline, pixel by pixel, and draws the difference."""

from dataclasses import dataclass

from PIL import Image, ImageChops, ImageMath, ImageOps

from mobiletest_automation.screen.pictures import UnreadablePicture, read_picture, write_png

PIXELS_LIMIT = 16_000_000
# Colors that are no further apart than this share of black to white are equal, as in Maestro.
COLOR_TOLERANCE = 0.1

# Rows that are compared at once, which bounds the memory.
STRIP_ROWS = 128

_TOLERATED = (COLOR_TOLERANCE**2) * 3 * 255**2
_MARK = (255, 0, 0)


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
    picture = read_picture(actual, pixels=PIXELS_LIMIT)
    expected = read_picture(baseline, "baseline", pixels=PIXELS_LIMIT)
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
