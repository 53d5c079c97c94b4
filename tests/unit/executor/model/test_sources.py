"""Which source a start has."""

import pytest

from services.executor.model.sources import Ci, Origin, Source, source_of


@pytest.mark.parametrize(
    ("origin", "source"),
    [
        (Origin(), Source.API),
        (Origin(via_gateway=False), Source.INTERNAL),
        (Origin(service_client="mobiletest-cli/1.2"), Source.CLI),
        (Origin(service_client="CLI"), Source.CLI),
        (Origin(service_client="dashboard"), Source.UI),
        (Origin(service_client="mobiletest-ui/3"), Source.UI),
        (Origin(service_client="click-bot"), Source.API),
        (Origin(service_client="acme/9", via_gateway=False), Source.INTERNAL),
        (Origin(ci=Ci(pr_number=7)), Source.CI),
        (Origin(ci=Ci(branch="")), Source.CI),
        (Origin(ci=Ci(branch="main"), service_client="mobiletest-cli"), Source.CI),
        (Origin(ci=Ci(branch="main"), scheduled=True), Source.SCHEDULE),
        (Origin(ci=Ci(branch="main"), scheduled=True, rerun_of="an id"), Source.RERUN),
    ],
)
def test_the_first_source_that_fits_is_taken(origin: Origin, source: Source) -> None:
    assert source_of(origin) is source
