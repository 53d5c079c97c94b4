"""The stack's variables: defaults, and a bad value that names its variable."""

from pathlib import Path

import pytest

from deploy.local.settings import InvalidSetting, StackSettings, check_service_names, from_environment


def test_without_variables_the_defaults_apply() -> None:
    settings = from_environment({})
    assert (settings.state_dir, settings.port, settings.workers) == (Path(".local").absolute(), 8080, 1)
    assert (settings.mongo_uri, settings.kafka_bootstrap) == (None, None)


def test_an_empty_variable_counts_as_unset() -> None:
    assert from_environment({"MOBILETEST_PORT": "", "MOBILETEST_MONGO_URI": ""}) == from_environment({})


def test_given_servers_are_used() -> None:
    settings = from_environment({"MOBILETEST_MONGO_URI": "mongodb://db", "MOBILETEST_KAFKA_BOOTSTRAP": "kafka:9092"})
    assert (settings.mongo_uri, settings.kafka_bootstrap) == ("mongodb://db", "kafka:9092")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MOBILETEST_PORT", "http"),
        ("MOBILETEST_PORT", "-1"),
        ("MOBILETEST_PORT", "65536"),
        ("MOBILETEST_EXAMPLES", "none"),
        ("MOBILETEST_WORKERS", "0"),
        ("MOBILETEST_WORKERS", "65"),
    ],
)
def test_an_invalid_value_names_its_variable(name: str, value: str) -> None:
    with pytest.raises(InvalidSetting, match=f"{name}={value}"):
        from_environment({name: value})


def test_a_configured_port_is_never_replaced_by_another() -> None:
    assert from_environment({}).next_port
    assert not from_environment({"MOBILETEST_PORT": "8080"}).next_port


@pytest.mark.parametrize(("value", "loads"), [("", True), ("true", True), ("False", False)])
def test_examples_can_be_switched_off(value: str, loads: bool) -> None:
    assert from_environment({"MOBILETEST_EXAMPLES": value}).examples is loads


@pytest.mark.parametrize("value", ["0", "65535"])
def test_the_lowest_and_highest_ports_are_valid(value: str) -> None:
    assert from_environment({"MOBILETEST_PORT": value}).port == int(value)


def test_services_that_others_start_are_known_by_name() -> None:
    check_service_names(StackSettings(Path(), workers=2, without=frozenset({"executor", "worker-2"})))
    with pytest.raises(InvalidSetting, match=r"worker-2: .* there are catalog, executor, reporting, worker-1, gateway"):
        check_service_names(StackSettings(Path(), workers=1, without=frozenset({"executor", "worker-2"})))
