"""Pictures for tests."""

import io
from collections.abc import Callable

from PIL import Image

Color = tuple[int, int, int]
WHITE: Color = (255, 255, 255)


def png(
    color: Color = WHITE, size: tuple[int, int] = (40, 300), paint: Callable[[Image.Image], object] | None = None
) -> bytes:
    picture = Image.new("RGB", size, color)
    if paint is not None:
        paint(picture)
    content = io.BytesIO()
    picture.save(content, "PNG", compress_level=1)
    return content.getvalue()
