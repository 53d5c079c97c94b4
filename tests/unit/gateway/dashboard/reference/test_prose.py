"""Descriptions of operations: what they do, their errors by status, their scope."""

import pytest

from services.gateway.dashboard.reference.prose import split_description


def test_the_parts_of_a_description() -> None:
    text = split_description(
        "Deletes an app. Its id is never used again. NOT_FOUND: no such app, see app_id; "
        "PERMISSION_DENIED and RESOURCE_EXHAUSTED: as for StartTest. Requires the scope write.",
        "Deletes an app",
    )
    assert (text.prose, text.scope) == ("Its id is never used again.", "write")
    assert [(cause.statuses, cause.text) for cause in text.causes] == [
        ((404,), "no such app, see <code>app_id</code>"),
        ((403, 429), "as for StartTest"),
    ]


@pytest.mark.parametrize(
    ("cause", "status"),
    [
        ("INVALID_ARGUMENT with the reason RANGE_NOT_SATISFIABLE", 416),
        ("FAILED_PRECONDITION with the reason NOT_READY", 409),
    ],
)
def test_a_reason_may_have_a_status_of_its_own(cause: str, status: int) -> None:
    (found,) = split_description(f"Reads. {cause}: it is so. Requires the scope read.", "Reads").causes
    assert found.statuses == (status,)
    assert found.text == f"it is so (<code>{cause.rpartition(' ')[2]}</code>)"


def test_a_description_without_anything_else_is_its_summary() -> None:
    text = split_description("Lists apps.", "Lists apps")
    assert (text.prose, text.causes, text.scope) == ("", (), "")
