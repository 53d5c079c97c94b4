"""Pictures for models: their size, their grid, and the way back to the screen."""

import io
from zlib import crc32

import pytest
from PIL import Image

from mobiletest_automation.llm.screen_picture import LONGEST_SIDE, draw_picture
from mobiletest_automation.screen.elements import Bounds, Point
from mobiletest_automation.screen.pictures import UnreadablePicture
from tests.unit.automation.pictures import png

SCREEN = Bounds(0, 0, 360, 720)


def test_a_large_picture_is_scaled_down_and_its_pixels_map_to_the_screen() -> None:
    picture = draw_picture(png(size=(1080, 2160)), SCREEN, grid=False)
    assert (picture.width, picture.height, picture.rows) == (LONGEST_SIDE // 2, LONGEST_SIDE, 0)
    middle = picture.at(picture.width / 2, picture.height / 2)
    assert middle is not None
    assert (round(middle.x), round(middle.y)) == (180, 360)
    assert picture.at(picture.width, 0) is None
    assert picture.at(-1, 0) is None


def test_cells_are_named_from_the_top_left() -> None:
    picture = draw_picture(png(size=(360, 720)), SCREEN, grid=True)
    assert (picture.rows, picture.last_cell) == (20, "J20")
    assert picture.cell("A1") == Point(18, 18)
    assert picture.cell("j20") == Point(342, 702)
    for name in ("A0", "K1", "A21", "", "1A", "A²", "A1.5", "AA1"):
        assert picture.cell(name) is None


def test_the_grid_is_optional() -> None:
    def colours(grid: bool) -> int:
        picture = draw_picture(png(size=(360, 720)), SCREEN, grid=grid)
        return len(Image.open(io.BytesIO(picture.png)).getcolors() or [])

    assert (colours(False), colours(True) > 1) == (1, True)


@pytest.mark.parametrize("content", [b"", b"\x89PNG picture", b"<svg/>", png(size=(9, 9))[:40]])
def test_an_unreadable_screenshot_is_an_error(content: bytes) -> None:
    with pytest.raises(UnreadablePicture):
        draw_picture(content, SCREEN, grid=True)


def test_a_decompression_bomb_is_an_error() -> None:
    claims = bytearray(png(size=(1, 1)))
    claims[16:24] = (60_000).to_bytes(4, "big") * 2
    claims[29:33] = crc32(claims[12:29]).to_bytes(4, "big")
    with pytest.raises(UnreadablePicture):
        draw_picture(bytes(claims), SCREEN, grid=False)
