"""The source of a start."""

import pytest

from services.executor.model.attribution import Ci, ExecutionSource, Origin, source_of


@pytest.mark.parametrize(
    ("origin", "source"),
    [
        (Origin(), ExecutionSource.API),
        (Origin(via_gateway=False), ExecutionSource.INTERNAL),
        (Origin(service_client="mobiletest-cli/1.2"), ExecutionSource.CLI),
        (Origin(service_client="CLI"), ExecutionSource.CLI),
        (Origin(service_client="dashboard"), ExecutionSource.UI),
        (Origin(service_client="mobiletest-ui/3"), ExecutionSource.UI),
        (Origin(service_client="click-bot"), ExecutionSource.API),
        (Origin(service_client="acme/9", via_gateway=False), ExecutionSource.INTERNAL),
        (Origin(ci=Ci(pr_number=7)), ExecutionSource.CI),
        (Origin(ci=Ci(branch="")), ExecutionSource.CI),
        (Origin(ci=Ci(branch="main"), service_client="mobiletest-cli"), ExecutionSource.CI),
        (Origin(ci=Ci(branch="main"), scheduled=True), ExecutionSource.SCHEDULE),
        (Origin(ci=Ci(branch="main"), scheduled=True, rerun_of="an id"), ExecutionSource.RERUN),
    ],
)
def test_the_first_matching_source_is_used(origin: Origin, source: ExecutionSource) -> None:
    assert source_of(origin) is source
