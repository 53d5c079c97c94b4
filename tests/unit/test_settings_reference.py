"""docs/settings.md says what every environment variable of the services is for."""

from pathlib import Path

import pytest

from deploy.settings_reference import SERVICES, reference, settings_of

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("service", SERVICES)
def test_every_setting_has_a_docstring(service: str) -> None:
    assert [name for name, field in settings_of(service).model_fields.items() if not field.description] == []


def test_the_page_is_current() -> None:
    """`make settings` writes it."""
    assert (ROOT / "docs" / "settings.md").read_text() == reference()
