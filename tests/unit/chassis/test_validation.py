import pytest
from mobiletest.catalog.v1 import apps_pb2, tests_pb2
from mobiletest.executor.v1 import executions_pb2

from services.chassis.errors import InvalidArgument
from services.chassis.validation import find_violations, validate_and_default


def test_missing_fields_get_their_defaults_and_given_values_are_kept() -> None:
    missing, given = apps_pb2.ListAppsRequest(), apps_pb2.ListAppsRequest(page=3, page_size=7)
    for request in (missing, given):
        validate_and_default(request)
    assert [(request.page, request.page_size) for request in (missing, given)] == [(1, 50), (3, 7)]


def test_whitespace_around_a_name_does_not_count() -> None:
    request = apps_pb2.CreateAppRequest(name=f" {'x' * 200}\n", platform="PLATFORM_IOS")
    validate_and_default(request)
    assert request.name == "x" * 200
    with pytest.raises(InvalidArgument) as error:
        validate_and_default(apps_pb2.CreateAppRequest(name=" \t", platform="PLATFORM_IOS"))
    assert [violation.field for violation in error.value.violations] == ["name"]


def test_violations_have_field_message_and_rule() -> None:
    request = apps_pb2.ListAppsRequest(page=0, page_size=501)
    with pytest.raises(InvalidArgument) as error:
        validate_and_default(request)
    violations = {violation.field: violation for violation in error.value.violations}
    assert set(violations) == {"page", "page_size"}
    assert violations["page"].type == "int32.gte"
    assert "1" in violations["page"].message


def test_violations_have_the_path_of_their_field() -> None:
    nested, listed = executions_pb2.StartTestRequest(), tests_pb2.CreateTestRequest(name="n", tags=["ok", ""])
    nested.run_config.execution_mode.retries = 9
    assert "run_config.execution_mode.retries" in {violation.field for violation in find_violations(nested)}
    assert "tags[1]" in {violation.field for violation in find_violations(listed)}
    assert find_violations(apps_pb2.ListAppsRequest(page=1)) == []
