"""Screenshots for vision models: scaled down, with an optional grid, and mapped back to points of the screen."""

from dataclasses import dataclass

from PIL import Image, ImageDraw

from mobiletest_automation.screen.elements import Bounds, Point
from mobiletest_automation.screen.pictures import read_picture, write_png

LONGEST_SIDE = 1_024
COLUMNS = 10
_LINE = (255, 0, 128, 150)
_LABEL = (255, 0, 128, 255)
_LABEL_PAPER = (255, 255, 255, 190)


@dataclass(frozen=True, slots=True)
class ScreenPicture:
    """A PNG for the model. `rows` is 0 without a grid; `screen` is what it shows in the device's coordinates."""

    png: bytes
    width: int
    height: int
    rows: int
    screen: Bounds

    def at(self, x: float, y: float) -> Point | None:
        """The point of the screen at these pixels of the picture."""
        if not (0 <= x < self.width and 0 <= y < self.height):
            return None
        return self.screen.at((x + 0.5) / self.width, (y + 0.5) / self.height)

    def cell(self, name: str) -> Point | None:
        """The middle of a cell of the grid, such as "C4": a column's letter and a row's number, from A1."""
        column, row = ord(name[:1].upper() or " ") - ord("A"), name[1:]
        if not (0 <= column < COLUMNS and row.isascii() and row.isdigit() and 1 <= int(row) <= self.rows):
            return None
        return self.screen.at((column + 0.5) / COLUMNS, (int(row) - 0.5) / self.rows)

    @property
    def last_cell(self) -> str:
        return f"{chr(ord('A') + COLUMNS - 1)}{self.rows}"


def draw_picture(screenshot: bytes, screen: Bounds, *, grid: bool) -> ScreenPicture:
    """The picture of a screenshot. Takes milliseconds of CPU: call it in a thread.

    Raises:
        UnreadablePicture: it is no picture, damaged or too large.
    """
    image = read_picture(screenshot)
    image.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
    rows = max(1, round(COLUMNS * image.height / image.width)) if grid else 0
    if rows:
        _draw_grid(image, rows)
    return ScreenPicture(write_png(image), image.width, image.height, rows, screen)


def _draw_grid(image: Image.Image, rows: int) -> None:
    draw = ImageDraw.Draw(image, "RGBA")
    for column in range(1, COLUMNS):
        x = round(image.width * column / COLUMNS)
        draw.line([(x, 0), (x, image.height)], fill=_LINE)
    for row in range(1, rows):
        y = round(image.height * row / rows)
        draw.line([(0, y), (image.width, y)], fill=_LINE)
    for column in range(COLUMNS):
        for row in range(rows):
            corner = (image.width * column / COLUMNS + 1, image.height * row / rows + 1)
            name = f"{chr(ord('A') + column)}{row + 1}"
            draw.rectangle(draw.textbbox(corner, name), fill=_LABEL_PAPER)
            draw.text(corner, name, fill=_LABEL)
