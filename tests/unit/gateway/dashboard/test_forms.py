"""What browsers do with the forms of the dashboard when the scripts that send them are off, late or blocked."""

import re
from pathlib import Path

import pytest

from services.gateway.dashboard import pages

TEMPLATES = Path(pages.__file__).parent / "templates"
TAG = r"<%s\b(?:\{\{.*?\}\}|\{%%.*?%%\}|[^>])*>"
FORM = re.compile(f"({TAG % 'form'})(.*?)</form>", re.DOTALL)
SUBMIT = re.compile(r"<button type=\"submit\"(?:\{\{.*?\}\}|\{%.*?%\}|[^>])*>", re.DOTALL)
# The attributes of forms that only search, and may be sent in an address.
SEARCHES = {"class", "role", "action", "aria-label", "data-reference-search"}
FORMS = [
    pytest.param(*form.groups(), id=f"{path.name}-{number}")
    for path in sorted(TEMPLATES.glob("*.html"))
    for number, form in enumerate(FORM.finditer(path.read_text()))
]


@pytest.mark.parametrize(("tag", "content"), FORMS)
def test_only_searches_are_sent_in_an_address(tag: str, content: str) -> None:
    names = {name for name, _ in re.findall(r'([a-z-]+)="([^"]*)"', tag)} | set(re.findall(r"\s(data-[a-z-]+)", tag))
    assert 'method="post"' in tag or names <= SEARCHES, tag
    assert 'type="password"' not in content or 'method="post"' in tag


@pytest.mark.parametrize(("tag", "content"), FORMS)
def test_a_form_that_needs_a_script_waits_for_it(tag: str, content: str) -> None:
    """Its buttons are disabled until the script listens; one with an action works without."""
    buttons = SUBMIT.findall(content)
    if 'method="post"' in tag and "action=" not in tag:
        assert buttons
        assert [button for button in buttons if not button.endswith(" disabled>")] == []


def test_every_form_is_read() -> None:
    assert len(FORMS) == sum(path.read_text().count("<form") for path in TEMPLATES.glob("*.html"))
