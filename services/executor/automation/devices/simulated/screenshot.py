"""Draws a screen as a PNG: for each element a box in the colour of its role, with a bar as long as its text."""

import struct
import zlib

from services.executor.automation.screen.elements import Bounds, Element, Role, walk

SCALE = 0.5
"""Pixels of the screenshot per pixel of the screen."""

Color = tuple[int, int, int]

_PAPER: Color = (250, 250, 250)
_INK: Color = (60, 60, 70)
_FADED: Color = (190, 190, 195)
_FILLS: dict[Role, Color] = {
    Role.BUTTON: (66, 133, 244),
    Role.LINK: (250, 250, 250),
    Role.FIELD: (255, 255, 255),
    Role.HEADING: (225, 228, 235),
    Role.CHECKBOX: (235, 240, 235),
    Role.SWITCH: (235, 240, 235),
    Role.TAB: (210, 220, 240),
    Role.CELL: (240, 240, 245),
    Role.IMAGE: (200, 225, 200),
    Role.PROGRESS: (255, 200, 90),
}
_CHECKED: Color = (52, 168, 83)


def draw_screen(root: Element) -> bytes:
    """A PNG of the visible elements."""
    canvas = _Canvas(round(root.bounds.width * SCALE), round(root.bounds.height * SCALE))
    for element in walk(root):
        if element.visible and element is not root:
            _draw(canvas, element)
    return canvas.png()


def _draw(canvas: "_Canvas", element: Element) -> None:
    box = element.bounds
    fill = _FILLS.get(element.role)
    if fill is not None:
        canvas.fill(box, fill if element.enabled else _FADED)
    if element.role in (Role.FIELD, Role.CELL):
        canvas.outline(box, _INK)
    if element.checked is not None:
        canvas.fill(Bounds(box.x + 6, box.y + 10, 16, box.height - 20), _CHECKED if element.checked else _FADED)
    length = min(len(element.text or element.label) * 7.0, box.width - 16)
    if length > 0 and not element.children:
        indent = 28 if element.checked is not None else 8
        color = _PAPER if element.role is Role.BUTTON else _INK
        canvas.fill(Bounds(box.x + indent, box.y + box.height / 2 - 4, length - indent + 8, 8), color)


class _Canvas:
    """Rows of RGB pixels."""

    def __init__(self, width: int, height: int) -> None:
        self.width = max(width, 1)
        self.height = max(height, 1)
        self.rows = [bytearray(bytes(_PAPER) * self.width) for _ in range(self.height)]

    def fill(self, box: Bounds, color: Color) -> None:
        left, right = self._columns(box)
        top, bottom = self._lines(box)
        for y in range(top, bottom):
            self.rows[y][left * 3 : right * 3] = bytes(color) * (right - left)

    def outline(self, box: Bounds, color: Color) -> None:
        thin = 1 / SCALE
        self.fill(Bounds(box.x, box.y, box.width, thin), color)
        self.fill(Bounds(box.x, box.bottom - thin, box.width, thin), color)

    def png(self) -> bytes:
        header = struct.pack(">IIBBBBB", self.width, self.height, 8, 2, 0, 0, 0)
        pixels = b"".join(b"\x00" + bytes(row) for row in self.rows)
        chunks = (_chunk(b"IHDR", header), _chunk(b"IDAT", zlib.compress(pixels, 6)), _chunk(b"IEND", b""))
        return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)

    def _columns(self, box: Bounds) -> tuple[int, int]:
        left = min(max(round(box.x * SCALE), 0), self.width)
        return left, max(min(round(box.right * SCALE), self.width), left)

    def _lines(self, box: Bounds) -> tuple[int, int]:
        top = min(max(round(box.y * SCALE), 0), self.height)
        return top, max(min(round(box.bottom * SCALE), self.height), top)


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
