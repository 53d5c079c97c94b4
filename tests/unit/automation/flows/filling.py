"""Fills in steps as the executor does, with given values of expressions."""

from collections.abc import Mapping

from mobiletest_automation.flows.parser import fill_step
from mobiletest_automation.flows.steps import Step
from mobiletest_automation.flows.templates import parse_template
from mobiletest_automation.flows.variables import pending_scalars


def fill(step: Step, values: Mapping[str, str]) -> Step:
    """The step with the values of its expressions by their sources; those without one are empty."""
    scalars = pending_scalars(step.pending) if step.pending is not None else ()
    return fill_step(step, [fill_text(scalar.raw, values) for scalar in scalars])


def fill_text(text: str, values: Mapping[str, str]) -> str:
    parts = parse_template(text).parts
    return "".join(part if isinstance(part, str) else values.get(part.source, "") for part in parts)
