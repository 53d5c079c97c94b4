"""Texts of app models with variables in braces."""

from services.executor.automation.devices.simulated.app_model import TextTemplate
from services.flows.values import Value

STATE: dict[str, Value] = {"cart": 2, "price": 1.5, "signed_in": True, "total": 12.0}


def test_placeholders_are_replaced_by_values() -> None:
    assert TextTemplate("{cart} at ${price}, {signed_in} {{x}}").fill(STATE) == "2 at $1.5, true {x}"
    assert TextTemplate("{total}").fill(STATE) == "12"


def test_names_are_those_outside_of_doubled_braces() -> None:
    assert TextTemplate("{cart} {{email}}").names == {"cart"}
