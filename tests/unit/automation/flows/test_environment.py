"""Variables from outside of a flow: what is accepted, and what is shown of them."""

from typing import Any

import pytest

from mobiletest_automation.flows.environment import (
    NAMES_LIMIT,
    TOTAL_BYTES,
    VALUE_BYTES,
    InvalidEnvironment,
    check_environment,
    mask_environment,
    override,
    secrets_of,
    tells_runs_apart,
)


def problem_of(values: dict[str, Any]) -> tuple[str, str]:
    """The first field that is refused, and why."""
    with pytest.raises(InvalidEnvironment) as refusal:
        check_environment(values, "env")
    return refusal.value.problems[0]


def test_texts_and_references_to_secrets_are_accepted() -> None:
    values = {"USER": "ada", "_x1": "", "PASSWORD": {"secret": "staging.password-2"}}
    assert check_environment(values, "env") == values
    assert secrets_of(values) == {"PASSWORD": "staging.password-2"}


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (3, 'write "3" in quotes'),
        (True, 'write "true" in quotes'),
        (None, "must be a string"),
        (["a"], "must be a string"),
        ({"secret": 1}, "must be a string"),
        ({"secret": "a", "value": "b"}, '"secret" must be true or false'),
        ({"secret": True}, "must be a string"),
        ({"value": "a", "hidden": True}, "and nothing else"),
        ({"value": "a", "variant": "no"}, "and nothing else"),
        ({"value": 3}, 'value must be a string: write "3" in quotes'),
        ({"value": "x" * (VALUE_BYTES + 1)}, f"at most {VALUE_BYTES}"),
        ({"value": "***", "secret": True}, "send the value itself"),
        ({"secret": "../x"}, "the name of a secret must have"),
        ("x" * (VALUE_BYTES + 1), f"at most {VALUE_BYTES}"),
        ("é" * (VALUE_BYTES // 2 + 1), f"at most {VALUE_BYTES}"),
    ],
)
def test_an_invalid_value_is_named_with_what_to_do(value: object, says: str) -> None:
    field, message = problem_of({"OK": "x", "NAME": value})
    assert field == "env.NAME"
    assert says in message


@pytest.mark.parametrize("name", ["", "1x", "a-b", "a.b", "$x", "é", "x" * 101, "a\n"])
def test_an_invalid_name_is_quoted(name: str) -> None:
    field, message = problem_of({name: "x"})
    assert field == "env"
    assert "is not a name for a variable" in message


@pytest.mark.parametrize("name", ["maestro", "output", "http", "json", "faker", "MAESTRO_APP_ID", "MAESTRO_SHARD_ID"])
def test_names_of_built_in_variables_are_refused(name: str) -> None:
    assert problem_of({name: "x"}) == (f"env.{name}", "is the name of a built-in variable; choose another name")


def test_other_names_that_begin_like_those_of_maestro_are_free() -> None:
    assert check_environment({"MAESTRO_USER": "ada"}, "env") == {"MAESTRO_USER": "ada"}


def test_there_are_limits_for_all_variables_together() -> None:
    assert len(check_environment({f"N{n}": "" for n in range(NAMES_LIMIT)}, "env")) == NAMES_LIMIT
    assert "at most 100" in problem_of({f"N{n}": "" for n in range(NAMES_LIMIT + 1)})[1]
    large = {f"N{n}": "x" * VALUE_BYTES for n in range(TOTAL_BYTES // VALUE_BYTES)}
    assert f"at most {TOTAL_BYTES}" in problem_of(large)[1]
    assert f"at most {TOTAL_BYTES}" in problem_of({name: {"value": text} for name, text in large.items()})[1]


def test_every_problem_is_reported() -> None:
    with pytest.raises(InvalidEnvironment) as refusal:
        check_environment({"A": 1, "B": "x", "output": "x"}, "run_config.env")
    assert [field for field, _ in refusal.value.problems] == ["run_config.env.A", "run_config.env.output"]


def test_values_of_variables_named_like_secrets_are_not_shown() -> None:
    values = {"USER": "ada", "API_TOKEN": "t0ken", "PASSWORD": {"secret": "pw"}}
    assert mask_environment(values) == {"USER": "ada", "API_TOKEN": "***", "PASSWORD": {"secret": "pw"}}


def test_a_masked_value_that_is_sent_back_keeps_what_is_stored() -> None:
    stored = {"API_TOKEN": "t0ken", "USER": "ada"}
    assert check_environment({**mask_environment(stored), "USER": "***"}, "env", stored) == {
        "API_TOKEN": "t0ken",
        "USER": "***",
    }
    assert problem_of({"API_TOKEN": "***"})[0] == "env.API_TOKEN"


def test_declarations_without_effect_are_dropped() -> None:
    values = {
        "USER": {"value": "ada", "secret": False, "variant": True},
        "PIN_CODE": {"value": "4711", "secret": True},
        "RUN": {"value": "8", "variant": False},
        "PASSWORD": {"secret": "pw", "variant": False},
    }
    checked = check_environment(values, "env")
    assert checked == {**values, "USER": "ada"}
    assert [name for name, value in checked.items() if not tells_runs_apart(value)] == ["PASSWORD", "RUN"]
    assert secrets_of(checked) == {"PASSWORD": "pw"}


def test_a_declared_secret_is_not_shown() -> None:
    values = {"LOGIN": {"value": "ada", "secret": True}, "TOKEN": {"value": "t0ken", "variant": False}}
    assert mask_environment(values) == {
        "LOGIN": {"value": "***", "secret": True},
        "TOKEN": {"value": "***", "variant": False},
    }


@pytest.mark.parametrize("sent", ["***", {"value": "***"}, {"value": "***", "secret": False}])
def test_a_masked_text_that_is_sent_back_stays_secret(sent: object) -> None:
    stored = {"LOGIN": {"value": "ada", "secret": True}}
    assert check_environment({"LOGIN": sent}, "env", stored) == stored


def test_a_masked_text_can_be_declared_again() -> None:
    stored = {"API_TOKEN": "t0ken"}
    sent = {"API_TOKEN": {"value": "***", "variant": False}}
    assert check_environment(sent, "env", stored) == {"API_TOKEN": {"value": "t0ken", "variant": False}}


def test_declarations_hold_for_the_texts_that_override_the_declared_one() -> None:
    """So `-e RUN=9` needs no declaration when the workflow has one."""
    below = {"RUN": {"value": "", "variant": False}, "LOGIN": {"value": "", "secret": True}, "A": {"secret": "a"}}
    above = {"RUN": "9", "LOGIN": {"value": "ada", "variant": False}, "A": "text", "NEW": "x"}
    assert override(below, above) == {
        "RUN": {"value": "9", "variant": False},
        "LOGIN": {"value": "ada", "secret": True, "variant": False},
        "A": "text",
        "NEW": "x",
    }
    assert override({"LOGIN": {"value": "", "secret": True}}, {"LOGIN": {"secret": "a"}}) == {"LOGIN": {"secret": "a"}}
