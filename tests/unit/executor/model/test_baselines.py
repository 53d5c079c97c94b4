"""Keys of baselines."""

import pytest

from mobiletest_automation.model.baseline_keys import baseline_key, is_baseline_key, key_of_artifact


@pytest.mark.parametrize("name", ["home.png", "a/b/Über uns.jpg", "../..", "x" * 200, "$%&", "-"])
@pytest.mark.parametrize("form", ["android-1x1", "ios-1290x2796"])
def test_a_key_comes_back_from_the_artifact(name: str, form: str) -> None:
    key = baseline_key(name, form)
    assert is_baseline_key(key)
    assert len(f"{key}-difference") <= 60
    assert key_of_artifact(f"attempt-2-step-1003-{key}-actual.png") == key


def test_names_and_forms_have_keys_of_their_own() -> None:
    names = ("a/b.png", "a-b.png", "A-b.png", "c/a/b.png")
    keys = {baseline_key(name, form) for name in names for form in ("ios-1x1", "ios-1x2", "android-1x1")}
    assert len(keys) == 12


@pytest.mark.parametrize("name", ["attempt-1-step-001.png", "attempt-1-step-001-x-actual.png", "../x", ""])
def test_other_artifacts_have_none(name: str) -> None:
    assert key_of_artifact(name) is None
    assert not is_baseline_key(name)
