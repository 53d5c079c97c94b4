"""The variables of a run, and what happens when its secrets cannot be read."""

from dataclasses import replace
from typing import Any

import pytest

from mobiletest_automation.attempt_request import AttemptRequest
from mobiletest_automation.devices.port import DeviceFailure
from mobiletest_automation.model.failures import Category
from mobiletest_automation.model.run_config import RunConfig
from services.chassis.errors import FailedPrecondition, Unavailable
from services.executor.ports.runs import Claim
from services.executor.worker.processes.messages import RunAttempt, UnknownMessage, decode, encode
from services.executor.worker.variables import VariableReader
from tests.fakes.attempt_processes import LIMITS
from tests.fakes.executor import FakeCatalog, plan
from tests.unit.executor.model.builders import claimed_run, execution_of

REQUEST = AttemptRequest(run_id="r", attempt=1, platform="android", steps=[], env={"PASSWORD": "s3cret"})


def claimed(of_start: dict[str, Any], of_test: dict[str, Any]) -> Claim:
    """A run with these variables."""
    run = claimed_run()
    execution = replace(execution_of(run), run_config=RunConfig(env=of_start))
    return Claim(execution, run, replace(plan(), env=of_test))


async def test_variables_of_the_test_override_those_of_the_start() -> None:
    claim = claimed({"USER": "ada", "CITY": "Paris"}, {"USER": "bob"})
    variables = await VariableReader(FakeCatalog()).read(claim)
    assert (variables.values, variables.secrets) == ({"USER": "bob", "CITY": "Paris"}, frozenset())


async def test_secrets_are_read_through_an_outage() -> None:
    catalog = FakeCatalog()
    catalog.secrets = {"pw": "s3cret", "other": "x"}
    catalog.outages = [Unavailable("away")]
    claim = claimed({"PASSWORD": "overridden"}, {"PASSWORD": {"secret": "pw"}, "LOGIN": {"secret": "pw"}})
    variables = await VariableReader(catalog).read(claim)
    assert variables.values == {"PASSWORD": "s3cret", "LOGIN": "s3cret"}
    assert variables.secrets == {"PASSWORD", "LOGIN"}
    assert "s3cret" not in repr(variables)


@pytest.mark.parametrize(
    ("outages", "message"),
    [
        ([], 'The variable PASSWORD refers to the secret "pw", which does not exist'),
        ([FailedPrecondition('the secret "pw" cannot be decrypted')], '"pw" cannot be decrypted'),
    ],
)
async def test_a_secret_that_cannot_be_read_is_an_error_of_the_configuration(
    outages: list[Exception], message: str
) -> None:
    catalog = FakeCatalog()
    catalog.outages = [*outages]
    with pytest.raises(DeviceFailure) as failure:
        await VariableReader(catalog).read(claimed({"PASSWORD": {"secret": "pw"}}, {}))
    assert (failure.value.category, message in failure.value.message) == (Category.CONFIG_INVALID, True)


def test_an_error_about_a_message_of_a_process_shows_no_values() -> None:
    order = encode(RunAttempt(request=REQUEST, cpu=LIMITS.cpu))
    damaged = order.replace(b'"PASSWORD":"s3cret"', b'"PASSWORD":["s3cret"]')
    head, _, body = damaged.partition(b"\n")
    number, kind, _ = head.split(b" ")
    with pytest.raises(UnknownMessage) as invalid:
        decode(b"%s %s %d\n" % (number, kind, len(body)) + body).parse(RunAttempt)
    assert "request.env.PASSWORD" in str(invalid.value)
    assert "s3cret" not in str(invalid.value)
