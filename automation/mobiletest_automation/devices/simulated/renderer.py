"""The element tree of a simulated app's screen, with the platform's attributes, its XML and its picture."""

import io
import re
from dataclasses import replace

from PIL import Image, ImageDraw, ImageFont

from mobiletest_automation.devices.simulated.layout import BAR, SCREEN, WIDTH, PlacedWidget, layout_of
from mobiletest_automation.devices.simulated.running_app import RunningApp
from mobiletest_automation.flows.templates import to_text
from mobiletest_automation.screen.elements import CHECKABLE, TAPPABLE, Bounds, Element, Role, walk

_OTHER = ("android.view.View", "XCUIElementTypeOther")

_CLASSES = {
    Role.BUTTON: ("android.widget.Button", "XCUIElementTypeButton"),
    Role.LINK: ("android.widget.TextView", "XCUIElementTypeLink"),
    Role.FIELD: ("android.widget.EditText", "XCUIElementTypeTextField"),
    Role.CHECKBOX: ("android.widget.CheckBox", "XCUIElementTypeCheckBox"),
    Role.SWITCH: ("android.widget.Switch", "XCUIElementTypeSwitch"),
    Role.RADIO: ("android.widget.RadioButton", "XCUIElementTypeRadioButton"),
    Role.TAB: ("android.widget.TabWidget", "XCUIElementTypeTab"),
    Role.CELL: ("android.view.ViewGroup", "XCUIElementTypeCell"),
    Role.PICKER: ("android.widget.Spinner", "XCUIElementTypePicker"),
    Role.IMAGE: ("android.widget.ImageView", "XCUIElementTypeImage"),
    Role.HEADING: ("android.widget.TextView", "XCUIElementTypeStaticText"),
    Role.TEXT: ("android.widget.TextView", "XCUIElementTypeStaticText"),
    Role.LIST: ("android.widget.ListView", "XCUIElementTypeTable"),
    Role.DIALOG: ("android.app.Dialog", "XCUIElementTypeAlert"),
    Role.PROGRESS: ("android.widget.ProgressBar", "XCUIElementTypeActivityIndicator"),
    Role.SCREEN: ("android.widget.FrameLayout", "XCUIElementTypeApplication"),
}


def home_screen(platform: str) -> Element:
    """The tree while no app is running."""
    return _with_attributes(Element(role=Role.SCREEN, id="home", bounds=SCREEN), "home", platform)


def render(app: RunningApp, platform: str) -> Element:
    """The element tree of the app's current screen."""
    placed, _ = layout_of(app)
    children = [_element(one, app, platform) for one in placed]
    title = app.screen.title.fill(app.state)
    if title:
        heading = Element(role=Role.HEADING, text=title, bounds=Bounds(0, 0, WIDTH, BAR))
        children.insert(0, _with_attributes(heading, app.model.id, platform))
    screen = Element(role=Role.SCREEN, id=app.screen.name, bounds=SCREEN, children=tuple(children))
    return _with_attributes(screen, app.model.id, platform)


def _element(placed: PlacedWidget, app: RunningApp, platform: str) -> Element:
    widget, state = placed.widget, app.state
    held = to_text(state[widget.bind]) if widget.bind is not None else None
    text = widget.text.fill(state)
    if widget.role is Role.FIELD and held is not None:
        text = "•" * len(held) if widget.secret else held
    element = Element(
        role=widget.role,
        text=text,
        label=widget.label.fill(state),
        hint=widget.hint,
        id=widget.id,
        bounds=placed.bounds,
        enabled=widget.enabled.holds(state),
        visible=placed.on_screen,
        checked=bool(state[widget.bind]) if widget.bind is not None and widget.role in CHECKABLE else None,
        focused=app.focus == widget.key,
        selected=widget.selected.holds(state),
        clickable="tap" in widget.events or widget.role in TAPPABLE,
        secret=widget.secret,
        children=tuple(_element(one, app, platform) for one in placed.inside),
    )
    return _with_attributes(element, app.model.id, platform)


def _with_attributes(element: Element, package: str, platform: str) -> Element:
    attributes = _ios(element) if platform == "ios" else _android(element, package)
    return replace(element, attributes=attributes)


def _android(element: Element, package: str) -> dict[str, str]:
    bounds = element.bounds
    return {
        "class": _CLASSES.get(element.role, _OTHER)[0],
        "package": package,
        "resource-id": f"{package}:id/{element.id}" if element.id else "",
        "text": element.text,
        "content-desc": element.label,
        "hint": element.hint,
        "checkable": to_text(element.checked is not None),
        "checked": to_text(bool(element.checked)),
        "clickable": to_text(element.tappable),
        "enabled": to_text(element.enabled),
        "focused": to_text(element.focused),
        "selected": to_text(element.selected),
        "password": to_text(element.secret),
        "displayed": to_text(element.visible),
        "bounds": f"[{bounds.x:g},{bounds.y:g}][{bounds.right:g},{bounds.bottom:g}]",
    }


def _ios(element: Element) -> dict[str, str]:
    bounds = element.bounds
    value = to_text(element.checked) if element.checked is not None else element.text
    return {
        "type": "XCUIElementTypeSecureTextField" if element.secret else _CLASSES.get(element.role, _OTHER)[1],
        "name": element.id or element.label or element.text,
        "label": element.label or element.text,
        "value": value,
        "placeholderValue": element.hint,
        "enabled": to_text(element.enabled),
        "visible": to_text(element.visible),
        "selected": to_text(element.selected),
        "x": f"{bounds.x:g}",
        "y": f"{bounds.y:g}",
        "width": f"{bounds.width:g}",
        "height": f"{bounds.height:g}",
    }


_ROOTS = {"android": ("hierarchy", "class"), "ios": ("AppiumAUT", "type")}
# Characters that XML cannot hold.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def to_xml(root: Element, platform: str) -> str:
    """The tree as UiAutomator2 (android) or XCUITest (ios) would say it; the elements' classes are the tags."""
    name, kind = _ROOTS[platform]
    head = f'<?xml version="1.0" encoding="UTF-8"?>\n<{name} simulated="true">'
    return "\n".join((head, *_lines(root, kind, "  "), f"</{name}>\n"))


def _lines(element: Element, kind: str, indent: str) -> list[str]:
    tag = element.attributes.get(kind, "node")
    said = " ".join(f"{name}={_quoted(value)}" for name, value in element.attributes.items())
    if not element.children:
        return [f"{indent}<{tag} {said}/>"]
    inside = [line for child in element.children for line in _lines(child, kind, indent + "  ")]
    return [f"{indent}<{tag} {said}>", *inside, f"{indent}</{tag}>"]


def _quoted(value: str) -> str:
    from xml.sax.saxutils import quoteattr  # imports urllib.request, and that HTTP and MIME

    return quoteattr(_FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", value), {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})


_PAPER = (250, 250, 250)
_INK = (60, 60, 70)
_FADED = (190, 190, 195)
_CHECKED = (52, 168, 83)
# Of the shades of characters, from 0 to 255.
_FAINTEST = 96
# The height of a text in pixels.
_LINE = 18
_FONT = ImageFont.load_default(14)
_FILLS = {
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


def draw_screen(root: Element) -> bytes:
    """A PNG, a pixel per unit of `bounds`: for each visible element a box in the colour of its role, and its text."""
    picture = Image.new("RGB", (round(root.bounds.width), round(root.bounds.height)), _PAPER)
    for element in walk(root):
        if element.visible and element is not root:
            _draw(picture, element)
    content = io.BytesIO()
    picture.save(content, "PNG", compress_level=1)
    return content.getvalue()


def _draw(picture: Image.Image, element: Element) -> None:
    box = element.bounds
    if element.role in _FILLS:
        _fill(picture, box, _FILLS[element.role] if element.enabled else _FADED)
    if element.role in (Role.FIELD, Role.CELL):
        _fill(picture, replace(box, height=1), _INK)
        _fill(picture, replace(box, y=box.bottom - 1, height=1), _INK)
    if element.checked is not None:
        _fill(picture, Bounds(box.x + 6, box.y + 10, 16, box.height - 20), _CHECKED if element.checked else _FADED)
    text = element.text or element.label
    if text and not element.children:
        indent = 28 if element.checked is not None else 8
        line = Bounds(box.x + indent, box.y + (box.height - _LINE) / 2, box.width - indent - 8, _LINE)
        _draw_text(picture, line, text, _PAPER if element.role is Role.BUTTON else _INK)


def _draw_text(picture: Image.Image, box: Bounds, text: str, color: tuple[int, int, int]) -> None:
    width, height = round(box.width), round(box.height)
    if width > 0 and height > 0:
        shown = text[:width]
        strip = _letters(shown, width) if shown.isascii() and shown.isprintable() else _shades(shown, width)
        picture.paste(color, (round(box.x), round(box.y)), strip)


def _letters(text: str, width: int) -> Image.Image:
    strip = Image.new("L", (width, _LINE))
    ImageDraw.Draw(strip).text((0, _LINE / 2), text, fill=255, font=_FONT, anchor="lm")
    return strip


def _shades(text: str, width: int) -> Image.Image:
    """A bar whose shades are the characters: the font knows only those of ASCII."""
    shades = bytes(_FAINTEST + ord(each) * factor % (256 - _FAINTEST) for factor in (67, 29) for each in text)
    bar = Image.frombytes("L", (len(text), 2), shades)
    return bar.resize((min(width, 7 * len(text)), _LINE), Image.Resampling.NEAREST)


def _fill(picture: Image.Image, box: Bounds, color: tuple[int, int, int]) -> None:
    picture.paste(color, (round(box.x), round(box.y), round(box.right), round(box.bottom)))
