"""The source of a start."""

import pytest

from services.executor.model.attribution import Ci, ExecutionSource, source_of

NO_CI = Ci()


@pytest.mark.parametrize(
    ("ci", "service_client", "via_gateway", "source"),
    [
        (NO_CI, None, True, ExecutionSource.API),
        (NO_CI, None, False, ExecutionSource.INTERNAL),
        (NO_CI, "mobiletest-cli/1.2", True, ExecutionSource.CLI),
        (NO_CI, "CLI", True, ExecutionSource.CLI),
        (NO_CI, "dashboard", True, ExecutionSource.UI),
        (NO_CI, "mobiletest-ui/3", True, ExecutionSource.UI),
        (NO_CI, "click-bot", True, ExecutionSource.API),
        (NO_CI, "acme/9", False, ExecutionSource.INTERNAL),
        (Ci(pr_number=7), None, True, ExecutionSource.CI),
        (Ci(branch=""), None, True, ExecutionSource.CI),
        (Ci(branch="main"), "mobiletest-cli", True, ExecutionSource.CI),
    ],
)
def test_the_first_matching_source_is_used(
    ci: Ci, service_client: str | None, via_gateway: bool, source: ExecutionSource
) -> None:
    assert source_of(ci, service_client, via_gateway=via_gateway) is source
