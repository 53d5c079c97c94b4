"""What tells the variants of a test apart."""

from services.reporting.model.variants import LABEL_LENGTH, KnownVariants, labels


def test_only_values_that_differ_are_named() -> None:
    both = {"WANT": "x", "LOCALE": "de", "SERVER": "staging"}
    variants = {"t@1": both, "t@2": {**both, "LOCALE": "fr"}, "t@3": {"WANT": "x", "SERVER": "staging"}}
    assert labels(variants) == {"t@1": "LOCALE=de", "t@2": "LOCALE=fr", "t@3": "no LOCALE"}
    assert labels({"t": {}, "t@1": {"WANT": "x"}}) == {"t": "no WANT", "t@1": "WANT=x"}


def test_a_single_variant_needs_no_name() -> None:
    assert labels({"t@1": {"LOCALE": "de"}}) == {}
    assert KnownVariants({"t": {"t@1": {"LOCALE": "de"}}}).label("t@1") == ""


def test_variants_that_differ_only_in_hidden_values_are_distinguished() -> None:
    assert labels({"t@0a1b2c3d4e": {"A": "1"}, "t@ff": {"A": "1"}}) == {
        "t@0a1b2c3d4e": "variant 0a1b2c3d",
        "t@ff": "variant ff",
    }
    many = {f"NAME_{number}": "x" * 60 for number in range(50)}
    long = labels({"t@1": many, "t@2": {**many, "OTHER": "1"}, "t@3": {}})
    assert len(set(long.values())) == 3
    assert all(len(label) <= LABEL_LENGTH + 20 for label in long.values())


def test_subjects_of_tests() -> None:
    known = KnownVariants({"t": {"t": {}, "t@1": {"A": "1"}}})
    assert known.of_tests(["t", "u"]) == ["t", "t@1", "u"]
    both = known.with_others(KnownVariants({"v": {"v@1": {"A": "1"}, "v@2": {"A": "2"}}}))
    assert (both.label("t@1"), both.label("v@2"), both.label("u")) == ("A=1", "A=2", "")
