"""What the protos say about REST."""

from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from buf.validate import validate_pb2
from google.protobuf.descriptor import FieldDescriptor
from mobiletest.catalog.v1 import apps_pb2
from mobiletest.executor.v1 import executions_pb2
from mobiletest.types.v1 import ci_pb2, platform_pb2

from services.chassis.proto_values import enum_spellings
from services.gateway.contract.fields import Field, field_rules, mask_field, option, request_fields, rest_fields
from services.gateway.contract.operations import all_operations, find_operation
from services.gateway.openapi.document import load_comments

INTERFACE = {
    ("POST", "/api/v1/apps"),
    ("GET", "/api/v1/apps"),
    ("GET", "/api/v1/apps/{app_id}"),
    ("PATCH", "/api/v1/apps/{app_id}"),
    ("GET", "/api/v1/apps/{app_id}/workspace"),
    ("GET", "/api/v1/apps/{app_id}/test_matrix"),
    ("GET", "/api/v1/apps/{app_id}/coverage"),
    ("PATCH", "/api/v1/apps/builds/{version_id}"),
    ("GET", "/api/v1/apps/builds/{version_id}/runs"),
    ("POST", "/api/v1/execution/api/execute_workflow_id_async"),
    ("POST", "/api/v1/tests/execute"),
    ("GET", "/api/v1/tests"),
}


def test_endpoints_of_the_interface_exist_and_answer_200() -> None:
    found = {(operation.verb, operation.template): operation for operation in all_operations()}
    assert found.keys() >= INTERFACE
    assert {found[route].status for route in INTERFACE} == {200}


def test_every_operation_needs_a_scope_and_is_open_to_the_gateway() -> None:
    for operation in all_operations():
        assert operation.rpc.required_scope in ("read", "write", "execute", "admin"), operation.name
        assert "gateway" in operation.rpc.callers, operation.name


def test_operation_has_its_path_and_status() -> None:
    create = find_operation(all_operations(), "CreateTest")
    assert (create.status, create.location) == (201, "/api/v1/tests/{id}")
    assert find_operation(all_operations(), "DeleteApp").status == 204
    assert find_operation(all_operations(), "CancelExecution").status == 202
    assert find_operation(all_operations(), "GetRun").path_fields == ("execution_id", "run_id")
    assert find_operation(all_operations(), "WatchExecution").streams


def test_unknown_operation_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        find_operation(all_operations(), "Nothing")


def test_enums_are_spelled_as_in_the_contract() -> None:
    assert list(enum_spellings(platform_pb2.Platform.DESCRIPTOR).items()) == [(1, "iOS"), (2, "Android")]


def test_spellings_of_an_enum_differ_in_more_than_case() -> None:
    for enum in {field.enum_type for operation in all_operations() for field in operation.input.fields}:
        folded = [text.casefold() for text in enum_spellings(enum).values()] if enum is not None else []
        assert len(folded) == len(set(folded)), enum


def test_required_fields_are_marked_for_every_reader() -> None:
    for operation in all_operations():
        for field in request_fields(operation.input):
            assert field.required == field.rules.required, field.descriptor.full_name


def test_rest_has_no_internal_fields() -> None:
    assert "revision" not in {field.name for field in rest_fields(apps_pb2.App.DESCRIPTOR)}


def test_update_mask_is_not_a_request_field() -> None:
    message: Any = apps_pb2.UpdateAppRequest.DESCRIPTOR
    without: Any = apps_pb2.GetAppRequest.DESCRIPTOR
    assert mask_field(message) == "update_mask"
    assert "update_mask" not in {field.name for field in request_fields(message)}
    assert mask_field(without) is None


def test_bounds_come_from_the_rules() -> None:
    page_size = apps_pb2.ListAppsRequest.DESCRIPTOR.fields_by_name["page_size"]
    assert (field_rules(page_size).minimum, field_rules(page_size).maximum) == (1, 500)
    app_id = apps_pb2.GetAppRequest.DESCRIPTOR.fields_by_name["app_id"]
    assert field_rules(app_id).required
    assert field_rules(app_id).uuid


def nested_fields(fields: Iterable[Field]) -> Iterator[Field]:
    for field in fields:
        yield field
        if field.message is not None and not field.message.full_name.startswith("google."):
            yield from nested_fields(request_fields(field.message))


def test_every_rule_of_a_request_is_one_that_the_decoder_checks() -> None:
    known = {"gt", "gte", "lt", "lte", "min_len", "max_len", "min_items", "max_items", "uuid", "unique", "in", "items"}
    known |= {"single_line", "multi_line"}
    enums = {"defined_only", "not_in"}  # a spelling exists only for defined values other than 0
    for operation in all_operations():
        for field in nested_fields(request_fields(operation.input)):
            rules = option(field.descriptor, validate_pb2.field)
            kind = rules.WhichOneof("type")
            names = {rule.name for rule, _ in getattr(rules, kind).ListFields()} if kind else set()
            assert names <= (enums if kind == "enum" else known), field.descriptor.full_name
            assert not rules.cel, field.descriptor.full_name


def test_headers_come_from_the_contract_option() -> None:
    headers = [field.contract.header for field in rest_fields(ci_pb2.CiAttribution.DESCRIPTOR)]
    assert headers[3] == "X-CI-PR-Number"
    assert all(headers)


def test_comments_are_found_by_full_name() -> None:
    found = load_comments()
    assert found["mobiletest.catalog.v1.App.name"].startswith("The name of the app")
    assert found["mobiletest.catalog.v1.Apps.CreateApp"].startswith("Creates an app")
    assert (
        found["mobiletest.executor.v1.ExecutionKind.EXECUTION_KIND_TEST"]
        == "The execution of one test, or of several that a request named."
    )


def test_defaults_and_nullability_come_from_the_contract_option() -> None:
    by_name = {field.name: field for field in rest_fields(executions_pb2.StartWorkflowRequest.DESCRIPTOR)}
    assert by_name["override_build_config"].contract.default_value == "false"
    assert not by_name["override_build_config"].nullable
    assert by_name["run_config"].nullable
    assert by_name["workflow_id"].descriptor.type == FieldDescriptor.TYPE_STRING
