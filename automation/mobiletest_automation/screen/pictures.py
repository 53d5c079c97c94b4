"""Screenshots as pixels: reading them, and cutting out an element."""

from io import BytesIO

from PIL import Image, UnidentifiedImageError

from mobiletest_automation.screen.elements import Bounds

PIXELS_LIMIT = 64_000_000


class UnreadablePicture(Exception):
    """A screenshot or another picture cannot be read; the message says why."""


def read_picture(content: bytes, what: str = "screenshot", *, pixels: int = PIXELS_LIMIT) -> Image.Image:
    """The pixels of a PNG or JPEG of at most so many `pixels`, without transparency.

    Raises:
        UnreadablePicture: it is no picture, damaged or too large.
    """
    try:
        with Image.open(BytesIO(content), formats=("PNG", "JPEG")) as opened:
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
