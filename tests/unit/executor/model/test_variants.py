"""The variant of a run: which values tell runs apart, and what happens to one that differs in every run."""

from typing import Any

from mobiletest_automation.flows.environment import NAMES_LIMIT, VALUE_BYTES
from mobiletest_automation.model.variants import EMPTY_VARIANT, SHOWN_VALUES, Variant, dimensions, make_variant
from services.executor.model.variants import NO_VARIANTS, VALUES_LIMIT, VARIANTS_LIMIT, KnownVariants, add_variant


def variant(env: dict[str, Any], *read: str) -> Variant:
    return make_variant(dimensions(env, read or tuple(env)))


def after(*envs: dict[str, Any]) -> tuple[list[Variant], KnownVariants]:
    """The variants of runs with these variables, one after the other, and what is known then."""
    known, variants = NO_VARIANTS, []
    for env in envs:
        each, known = add_variant(known, dimensions(env, env))
        variants.append(each)
    return variants, known


def test_only_variables_that_are_read_and_not_excluded_count() -> None:
    env = {"LOCALE": "de", "UNREAD": "1", "RUN": {"value": "7", "variant": False}}
    assert variant(env, "LOCALE", "RUN") == variant({"LOCALE": "de"})
    assert variant(env, "LOCALE").label == "LOCALE=de"
    assert variant(env, "RUN") == EMPTY_VARIANT
    assert variant({"LOCALE": "de"}).id != variant({"LOCALE": "fr"}).id != variant({"USER": "fr"}).id


def test_secrets_count_by_name() -> None:
    """Whatever their values are: those of references are not even known here."""
    assert variant({"LOGIN": {"value": "ada", "secret": True}}) == variant({"LOGIN": {"value": "x", "secret": True}})
    assert variant({"PASSWORD": "old"}) == variant({"PASSWORD": "new"})
    staging, production = variant({"CODE": {"secret": "staging"}}), variant({"CODE": {"secret": "production"}})
    assert (staging.label, production.label) == ("CODE=secret staging", "CODE=secret production")
    assert staging.id != production.id
    assert variant({"PASSWORD": "old"}).label == "PASSWORD=***"
    assert variant({"CODE": {"secret": ""}}).id != variant({"CODE": '{"secret": ""}'}).id


def test_shown_values_are_bounded_and_long_ones_distinguished() -> None:
    one, other = ({"TEXT": "x" * (VALUE_BYTES - 1) + end} for end in "ab")
    assert variant(one).label != variant(other).label
    assert len(variant(one).label) < 80
    lines = variant({"TEXT": "a\nb"})
    assert "\n" not in lines.label
    many = variant({f"NAME_{n}": "y" * 50 for n in range(NAMES_LIMIT)})
    assert 0 < sum(len(name) + len(value) for name, value in many.values.items()) <= SHOWN_VALUES
    assert variant({f"NAME_{n}": "y" * 50 for n in range(NAMES_LIMIT - 1)}).id != many.id


def test_a_known_variant_changes_nothing() -> None:
    (first, again), known = after({"LOCALE": "de"}, {"LOCALE": "de"})
    assert first == again
    assert add_variant(known, {"LOCALE": "de"})[1] is known
    assert add_variant(known, {}) == (EMPTY_VARIANT, known)


def test_a_value_that_differs_in_every_run_is_left_out_of_the_variant() -> None:
    envs = [{"LOCALE": "de" if n % 2 else "fr", "RUN": str(n)} for n in range(VARIANTS_LIMIT + 10)]
    variants, known = after(*envs)
    kept, folded = variants[:VARIANTS_LIMIT], variants[VARIANTS_LIMIT:]
    assert len({each.id for each in kept}) == VARIANTS_LIMIT
    assert {(each.label, each.left_out) for each in folded} == {("LOCALE=de", ("RUN",)), ("LOCALE=fr", ("RUN",))}
    assert len(known.ids) == 2
    (only, *_, last), _ = after(*({"RUN": str(n)} for n in range(VARIANTS_LIMIT + 1)))
    assert (only.id != "", last) == (True, Variant(left_out=("RUN",)))


def test_what_is_remembered_is_bounded() -> None:
    """Also of a test with many variables that all differ in every run."""
    names = [f"N{n}" for n in range(NAMES_LIMIT)]
    variants, known = after(*({name: f"{name}{n}" for name in names} for n in range(2 * VARIANTS_LIMIT)))
    assert sum(map(len, known.values.values())) <= VALUES_LIMIT
    assert len(known.ids) <= VARIANTS_LIMIT
    assert len(variants[-1].left_out) > 0
