"""How apps are told apart on pages."""

from collections.abc import Mapping

import pytest

from services.gateway.dashboard.app_names import AppNames


def app(app_id: str, name: str, platform: str = "Android") -> Mapping[str, str]:
    return {"id": app_id, "name": name, "platform": platform}


NAMES = AppNames(
    [app("1" * 36, "Courier"), app("2" * 36, "Courier"), app("3" * 36, "Bank"), app("4" * 36, "Bank", "iOS")], 4
)


@pytest.mark.parametrize(
    ("app_id", "name", "text"),
    [
        ("1" * 36, "Courier", "Courier (Android, 11111111)"),
        ("2" * 36, "Courier", "Courier (Android, 22222222)"),
        ("3" * 36, "Bank", "Bank (Android)"),
        ("4" * 36, "Bank", "Bank (iOS)"),
    ],
)
def test_a_short_id_is_shown_only_where_a_platform_has_the_name_twice(app_id: str, name: str, text: str) -> None:
    assert NAMES.text(app_id, name) == text


def test_choices_of_one_platform_do_not_repeat_it() -> None:
    assert NAMES.text("1" * 36, "Courier", of_platform=True) == "Courier (11111111)"
    assert NAMES.text("4" * 36, "Bank", of_platform=True) == "Bank"


def test_a_deleted_app_is_not_taken_for_one_that_is_left() -> None:
    assert NAMES.text("5" * 36, "Bank") == "Bank (55555555)"
    assert NAMES.text("5" * 36, "Gone") == "Gone"


def test_of_more_apps_than_are_known_no_name_is_taken_to_occur_once() -> None:
    names = AppNames([app("3" * 36, "Bank")], 2)
    assert names.text("3" * 36, "Bank") == "Bank (Android, 33333333)"
    assert names.text("6" * 36, "Bank") == "Bank (66666666)"
