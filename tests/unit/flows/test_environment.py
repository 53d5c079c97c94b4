"""Variables from outside of a flow: what is accepted, and what is shown of them."""

from typing import Any

import pytest

from services.flows.environment import (
    NAMES_LIMIT,
    TOTAL_BYTES,
    VALUE_BYTES,
    InvalidEnvironment,
    check_environment,
    mask_environment,
    secrets_of,
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
        ({"secret": "a", "value": "b"}, "and nothing else"),
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
