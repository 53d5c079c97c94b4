"""The examples of the API documentation, recorded again: what the service answers today has the same shape."""

from services.gateway.openapi.examples import load_examples
from tests.reference.recording import record_examples
from tests.reference.stable_values import json_shape
from tests.shared_infrastructure import SharedStack


async def test_the_service_still_answers_what_the_documentation_shows(stack: SharedStack) -> None:
    stored, recorded = load_examples(), await record_examples(stack, step_milliseconds=10)
    assert list(recorded) == list(stored), "run `make examples`"
    different = {name: set(json_shape(stored[name])) ^ set(json_shape(recorded[name])) for name in stored}
    assert {name: paths for name, paths in different.items() if paths} == {}, (
        "run `make examples` and review the change"
    )
