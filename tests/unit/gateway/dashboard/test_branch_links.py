"""Links from branches and pull requests to where they are kept."""

import pytest

from services.gateway.dashboard.pull_requests import pull_request_url


@pytest.mark.parametrize(
    ("system", "repository", "name", "url"),
    [
        ("github", "https://github.com/team/app.git", "7", "https://github.com/team/app/pull/7"),
        ("GitLab CI", "https://git.example/team/app/", "7", "https://git.example/team/app/-/merge_requests/7"),
        ("jenkins", "https://git.example/team/app", "7", None),
        (None, "https://git.example/team/app", "7", None),
        ("github", "javascript:alert(1)", "7", None),
        ("github", "https://[", "7", None),
        ("github", "team/app", "7", None),
        ("github", None, "7", None),
    ],
)
def test_a_pull_request_is_a_link_where_its_form_is_known(
    system: str | None, repository: str | None, name: str, url: str | None
) -> None:
    item = {"kind": "pull_request", "name": name, "repository": repository, "ci_system": system}
    assert pull_request_url(item) == url
    assert pull_request_url(item | {"kind": "branch"}) is None
