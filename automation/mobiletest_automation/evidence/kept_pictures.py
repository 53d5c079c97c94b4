"""Pictures of screens as they are kept: smaller, without secrets, with a hash in which volatile areas do not count."""

import re
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from io import BytesIO

from PIL import Image, ImageDraw

from mobiletest_automation.screen.elements import Bounds, Element, Role, walk
from mobiletest_automation.screen.fingerprint import belongs_to_system
from mobiletest_automation.screen.pictures import read_picture

# The longer side of a kept picture in pixels.
SIDE_LIMIT = 1_280
HASH_BYTES = 16
QUALITY = 60
# Of WebP's seven methods the second: a third of the time of the usual one, for a tenth more bytes.
METHOD = 1
# Of a phone's screen: where its clock is, which no tree of an app has.
STATUS_BAR_SHARE = 0.04
_PAINT = (96, 96, 96)
_STATUS_BAR = re.compile(r"XCUIElementTypeStatusBar|statusBarBackground", re.ASCII)
_TIME = re.compile(
    r"(?:\d{4}-\d{2}-\d{2}T?)?\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?:Z\b|\s?[AaPp]\.?[Mm]\b\.?)?", re.UNICODE
)


def without_times(text: str) -> str:
    """The text without times of the day and durations, which change while nobody does anything."""
    return _TIME.sub("", text) if ":" in text else text


def stable_state(root: Element, mask: Callable[[str], str] = str) -> tuple[object, ...]:
    """What a screen shows except for what changes by itself: of two equal states one picture is enough.

    Without secrets: its hash may be public, and short ones could be tried out.
    """
    return tuple(
        (each.role, each.bounds)
        if belongs_to_system(each)
        else (
            each.role,
            "" if each.secret else without_times(mask(each.text)),
            without_times(mask(each.label)),
            each.id,
            each.bounds,
            each.enabled,
            each.checked,
            each.selected,
            each.visible,
        )
        for each in walk(root)
    )


def volatile_areas(root: Element, *, phone: bool) -> Iterator[Bounds]:
    """Where the picture may change by itself: clocks, progress, the caret of a field, a phone's status bar."""
    if phone:
        screen = root.bounds
        yield Bounds(screen.x, screen.y, screen.width, screen.height * STATUS_BAR_SHARE)
    for each in walk(root):
        caret = each.focused and each.editable
        clock = not each.children and (_TIME.search(each.text) or _TIME.search(each.label))
        if each.visible and (caret or clock or each.role is Role.PROGRESS or _is_status_bar(each)):
            yield each.bounds


def _is_status_bar(element: Element) -> bool:
    return bool(_STATUS_BAR.search(element.attributes.get("type", "")) or _STATUS_BAR.search(element.id))


class KeptPicture:
    """A screenshot, made smaller. Its methods take tens of milliseconds: call them in a thread."""

    def __init__(self, screenshot: bytes, screen: Bounds, secret: Iterable[Bounds]) -> None:
        """`secret` are painted over, in pixels of `screen`.

        Raises:
            UnreadablePicture: it is no picture, damaged or too large.
        """
        picture = read_picture(screenshot)
        self._scale_x = picture.width / (screen.width or picture.width or 1)
        self._scale_y = picture.height / (screen.height or picture.height or 1)
        self._screen = screen
        full = picture.size
        picture.thumbnail((SIDE_LIMIT, SIDE_LIMIT), Image.Resampling.BOX, reducing_gap=None)
        self._scale_x *= picture.width / full[0]
        self._scale_y *= picture.height / full[1]
        self._picture = picture
        self._secret = list(secret)
        self._paint(picture, self._secret)

    def hash(self, root: Element, *, phone: bool) -> str:
        """Equal for pictures that differ only in volatile areas and have the same areas painted over.

        What fields say that have the caret counts.
        """
        stable = self._picture.copy()
        self._paint(stable, volatile_areas(root, phone=phone))
        digest = blake2b(f"{stable.width}x{stable.height}".encode(), digest_size=HASH_BYTES)
        digest.update(stable.tobytes())
        for area in self._secret:
            digest.update(repr(area).encode())
        for each in walk(root):
            if each.focused and each.editable and not each.secret:
                digest.update(f"\n{each.text}".encode())
        return digest.hexdigest()

    def as_webp(self) -> bytes:
        content = BytesIO()
        self._picture.save(content, "WEBP", quality=QUALITY, method=METHOD)
        return content.getvalue()

    def _paint(self, picture: Image.Image, areas: Iterable[Bounds]) -> None:
        draw = ImageDraw.Draw(picture)
        for area in areas:
            shown = area.intersection(self._screen)
            if shown is not None:
                left, top = (shown.x - self._screen.x) * self._scale_x, (shown.y - self._screen.y) * self._scale_y
                right, bottom = left + shown.width * self._scale_x, top + shown.height * self._scale_y
                draw.rectangle((left, top, right, bottom), fill=_PAINT)
