"""How an operator's limits are set, kept and combined with the defaults."""

import pytest
from mobiletest.types.v1 import limits_pb2

from services.catalog.commands import changed_limits
from services.catalog.grpc.organisation_limits import limits_message, limits_of
from services.catalog.model.organisation_limits import OrganisationLimits
from services.chassis.errors import InvalidArgument


def test_limits_are_set_and_unset_by_name() -> None:
    limits = limits_pb2.OrganisationLimits(streams=3, uploads=2)
    changed = changed_limits(limits, ["artifact_bytes=5000000000", "script_hosts=a.b,*.c.d"], ["streams"])
    assert limits_of(changed) == OrganisationLimits(
        uploads=2, artifact_bytes=5_000_000_000, script_hosts=("a.b", "*.c.d")
    )


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("speed=3", "unknown limit"),
        ("uploads=many", "uploads"),
        ("uploads=-1", "uploads"),
        ("script_hosts=http://a.b", "script_hosts"),
        ("uploads", "parse"),
    ],
)
def test_an_invalid_limit_is_refused(assignment: str, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        changed_limits(limits_pb2.OrganisationLimits(), [assignment], [])


def test_messages_keep_what_is_set() -> None:
    limits = OrganisationLimits(requests_per_second=1, model_calls_per_day=0, allowed_models=("a",))
    assert limits_of(limits_message(limits)) == limits


def test_limits_are_those_set_over_the_defaults() -> None:
    defaults = OrganisationLimits(api_keys=100, artifact_bytes=10, allowed_models=("*",))
    limits = OrganisationLimits(api_keys=2, uploads=0, allowed_models=("a",)).over(defaults)
    assert limits == OrganisationLimits(api_keys=2, uploads=0, artifact_bytes=10, allowed_models=("a",))
