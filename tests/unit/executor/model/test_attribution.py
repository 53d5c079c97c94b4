"""The source of a start."""

import pytest

from services.executor.model.attribution import Ci, ExecutionSource, is_run_url, source_of

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
        (Ci(base_branch="main"), "CLI", True, ExecutionSource.CLI),
        (Ci(pr_number=7), None, True, ExecutionSource.CI),
        (Ci(branch=""), None, True, ExecutionSource.CI),
        (Ci(branch="main"), "mobiletest-cli", True, ExecutionSource.CI),
    ],
)
def test_the_first_matching_source_is_used(
    ci: Ci, service_client: str | None, via_gateway: bool, source: ExecutionSource
) -> None:
    assert source_of(ci, service_client, via_gateway=via_gateway) is source


@pytest.mark.parametrize(
    "url", ["", "https://ci.example/1", "HTTP://jenkins:8080/job/a%20b/1/", "https://ci.example/ä?x=1"]
)
def test_the_url_of_a_ci_run_may_be_a_link(url: str) -> None:
    assert is_run_url(url)


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "ci.example/1", "https://", "http:/x", "http://a b", "https://x\n", " "]
)
def test_what_must_not_become_a_link_is_not_the_url_of_a_ci_run(url: str) -> None:
    assert not is_run_url(url)
