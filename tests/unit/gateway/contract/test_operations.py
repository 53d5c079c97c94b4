"""What the protos say about REST."""

from collections.abc import Iterable, Iterator

from buf.validate import validate_pb2

from services.chassis.proto_values import enum_spellings
from services.gateway.contract.fields import Field, option, request_fields
from services.gateway.contract.operations import all_operations, find_operation

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
    operations = {(operation.verb, operation.template): operation for operation in all_operations()}
    assert operations.keys() >= INTERFACE
    assert {operations[route].status for route in INTERFACE} == {200}


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


def test_spellings_of_an_enum_differ_in_more_than_case() -> None:
    for enum in {field.enum_type for operation in all_operations() for field in operation.input.fields}:
        folded = [text.casefold() for text in enum_spellings(enum).values()] if enum is not None else []
        assert len(folded) == len(set(folded)), enum


def test_required_fields_are_marked_for_every_reader() -> None:
    for operation in all_operations():
        for field in request_fields(operation.input):
            assert field.required == field.rules.required, field.descriptor.full_name


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
