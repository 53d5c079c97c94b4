"""Every moment is in the time zone of the reader, with UTC on hover."""

from tests.dashboard.conftest import Visitor
from tests.dashboard.test_scopes import is_shown, pages_with_everything
from tests.e2e.test_gate import Ci
from tests.e2e.world import World
from tests.eventually import eventually

# Moments in texts and in what is shown on hover, but in a <time> that shows UTC on hover; days of charts have no hour.
FOREIGN = r"""() => {
  const moment = /\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}|\d{2}:\d{2}(:\d{2})?(\.\d+)?Z?\s*UTC/;
  const shown = [...document.querySelectorAll("body *")].flatMap((element) => [
    ...["title", "aria-label", "alt", "placeholder", "data-confirm"].map((name) => element.getAttribute(name)),
    ...[...element.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE).map((node) => node.data),
  ].filter((text) => moment.test(text)).map((text) => [element, text.trim()]));
  const foreign = shown.filter(([element]) => !element.matches("time, script, .log *, pre, code, [hidden] *"));
  const times = [...document.querySelectorAll("time")].filter(({ title, textContent }) =>
    !title.endsWith(" UTC") || moment.test(textContent));
  return [...foreign.map(([, text]) => text), ...times.map((time) => time.outerHTML)];
}"""


async def test_no_page_shows_a_moment_in_another_zone(visitor: Visitor, ci: Ci, world: World) -> None:
    """Whoever adds a moment to a page uses the macro `time`, or the filter `moments` for a sentence."""
    pages = await pages_with_everything(ci, world)
    await visitor.sign_in()
    foreign, times = {}, 0
    for page in pages:
        await eventually(lambda page=page: is_shown(visitor, page))
        if found := await visitor.page.evaluate(FOREIGN):
            foreign[page] = found
        times += await visitor.page.locator("time").count()
    assert foreign == {}
    assert times > len(pages)
