"""Makes an animation of pictures: what only the children of `video_maker` import."""

from collections.abc import Iterable
from io import BytesIO

from PIL import Image, ImageOps

from mobiletest_automation.screen.pictures import UnreadablePicture, read_picture

# Of one kept picture.
PIXELS_LIMIT = 4_000_000
LONGEST_SIDE = 640
_QUALITY = 70


def animate(frames: Iterable[tuple[bytes, int]]) -> bytes:
    """The animation (WebP) of pictures, each shown for these milliseconds; empty if none can be read.

    All have the size of the first one; one of another shape is shown whole, between bars.
    """
    size, pictures, durations = None, list[Image.Image](), list[int]()
    for content, milliseconds in frames:
        try:
            picture = read_picture(content, "picture", pixels=PIXELS_LIMIT, formats=("WEBP",))
        except UnreadablePicture:
            continue
        if size is None:
            picture.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
            size = picture.size
        pictures.append(picture if picture.size == size else ImageOps.pad(picture, size))
        durations.append(milliseconds)
    if not pictures:
        return b""
    animation = BytesIO()
    options = {"save_all": True, "append_images": pictures[1:], "duration": durations, "quality": _QUALITY, "method": 0}
    pictures[0].save(animation, "WEBP", **options)
    return animation.getvalue()
