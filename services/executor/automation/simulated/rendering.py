"""Makes the element tree of what a simulated app shows, with the attributes that the platform would give."""

from dataclasses import replace

from services.executor.automation.elements import CHECKABLE, Bounds, Element, Role
from services.executor.automation.simulated.app import RunningApp
from services.executor.automation.simulated.expressions import shown
from services.executor.automation.simulated.layout import BAR, HEIGHT, WIDTH, Placed, place
from services.executor.automation.simulated.model import Widget

_OTHER = ("android.view.View", "XCUIElementTypeOther")
_SCREEN = Bounds(0, 0, WIDTH, HEIGHT)

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


def layout_of(app: RunningApp) -> tuple[tuple[Placed, ...], float]:
    """What is there now, and how high it all is together."""
    if app.loading:
        return place((Widget(key=f"{app.screen.name}/loading", role=Role.PROGRESS, id="loading"),), BAR)
    placed, end = place(_present(app.screen.widgets, app), BAR - app.scrolled)
    return placed, end + app.scrolled


def _present(widgets: tuple[Widget, ...], app: RunningApp) -> tuple[Widget, ...]:
    there = (widget for widget in widgets if app.shows(widget))
    return tuple(replace(each, widgets=_present(each.widgets, app)) if each.widgets else each for each in there)


def home_screen(platform: str) -> Element:
    """What is there while the app is not running."""
    return _with_attributes(Element(role=Role.SCREEN, id="home", bounds=_SCREEN), "home", platform)


def render(app: RunningApp, platform: str) -> Element:
    """The element tree of the app's screen as it is now."""
    placed, _ = layout_of(app)
    children = [_element(one, app, platform) for one in placed]
    title = app.screen.title.fill(app.state)
    if title:
        heading = Element(role=Role.HEADING, text=title, bounds=Bounds(0, 0, WIDTH, BAR))
        children.insert(0, _with_attributes(heading, app.model.id, platform))
    screen = Element(role=Role.SCREEN, id=app.screen.name, bounds=_SCREEN, children=tuple(children))
    return _with_attributes(screen, app.model.id, platform)


def _element(placed: Placed, app: RunningApp, platform: str) -> Element:
    widget, state = placed.widget, app.state
    held = shown(state[widget.bind]) if widget.bind is not None else None
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
        clickable="tap" in widget.events,
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
        "checkable": shown(element.checked is not None),
        "checked": shown(bool(element.checked)),
        "clickable": shown(element.tappable),
        "enabled": shown(element.enabled),
        "focused": shown(element.focused),
        "selected": shown(element.selected),
        "displayed": shown(element.visible),
        "bounds": f"[{bounds.x:g},{bounds.y:g}][{bounds.right:g},{bounds.bottom:g}]",
    }


def _ios(element: Element) -> dict[str, str]:
    bounds = element.bounds
    value = shown(element.checked) if element.checked is not None else element.text
    return {
        "type": _CLASSES.get(element.role, _OTHER)[1],
        "name": element.id or element.label or element.text,
        "label": element.label or element.text,
        "value": value,
        "placeholderValue": element.hint,
        "enabled": shown(element.enabled),
        "visible": shown(element.visible),
        "selected": shown(element.selected),
        "x": f"{bounds.x:g}",
        "y": f"{bounds.y:g}",
        "width": f"{bounds.width:g}",
        "height": f"{bounds.height:g}",
    }
