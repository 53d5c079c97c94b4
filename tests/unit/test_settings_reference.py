"""docs/settings.md says what every environment variable of the services is for."""

from pathlib import Path

import pytest

from deploy.settings_reference import SERVICES, descriptions, reference, settings_of

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("service", SERVICES)
def test_every_setting_has_a_docstring(service: str) -> None:
    assert [name for name, text in descriptions(settings_of(service)).items() if not text] == []


def test_the_page_is_current() -> None:
    """`make settings` writes it."""
    assert (ROOT / "docs" / "settings.md").read_text() == reference()
