"""One operation of the document."""

from typing import Any

from google.rpc import code_pb2

from services.gateway.contract.fields import Field, request_fields, rest_fields
from services.gateway.contract.operations import EMPTY, HTTP_BODY, Operation
from services.gateway.openapi import components
from services.gateway.openapi.schemas import Schemas

UPLOADS = "CreateBuild"
_STATUSES = {
    code_pb2.NOT_FOUND: "404",
    code_pb2.ALREADY_EXISTS: "409",
    code_pb2.FAILED_PRECONDITION: "409",
    code_pb2.ABORTED: "409",
}
WARNED = frozenset(("GetApp", "UpdateApp", "ListApps"))


def operation_object(operation: Operation, schemas: Schemas) -> dict[str, Any]:
    """The operation as OpenAPI writes it."""
    comment = schemas.comment(operation.descriptor.full_name)
    scope = operation.rpc.required_scope
    described: dict[str, Any] = {
        "operationId": operation.name,
        "tags": [operation.descriptor.containing_service.name],
        "summary": comment.partition(". ")[0].rstrip(".:"),
        "description": f"{comment} Needs the scope {scope}.",
        "parameters": _parameters(operation, schemas),
        "responses": {str(operation.status): _success(operation, schemas), **_errors(operation)},
    }
    if operation.takes_body:
        described["requestBody"] = _body(operation, schemas)
    return described


def _parameters(operation: Operation, schemas: Schemas) -> list[dict[str, Any]]:
    found = [_parameter("path", field.name, field, schemas) for field in _path_fields(operation)]
    if not operation.takes_body:
        found += [_parameter("query", field.name, field, schemas) for field in _other_fields(operation)]
    found += [_parameter("header", field.header, field, schemas) for field in _header_fields(operation)]
    shared = ["RequestId", "RequestTimeout", "Prefer"]
    if operation.rpc.takes_idempotency_key:
        shared.append("IdempotencyKey")
    return found + [{"$ref": f"#/components/parameters/{name}"} for name in shared]


def _parameter(place: str, name: str, field: Field, schemas: Schemas) -> dict[str, Any]:
    return {
        "name": name,
        "in": place,
        "required": place == "path" or field.required,
        "description": schemas.comment(field.descriptor.full_name),
        "schema": schemas.parameter(field),
    }


def _path_fields(operation: Operation) -> list[Field]:
    known = {field.name: field for field in request_fields(operation.input)}
    return [known[name] for name in operation.path_fields]


def _other_fields(operation: Operation) -> tuple[Field, ...]:
    """The fields of the query or body."""
    elsewhere = set(operation.path_fields)
    known = request_fields(operation.input)
    return tuple(f for f in known if f.name not in elsewhere and not f.header and not f.from_headers)


def _header_fields(operation: Operation) -> list[Field]:
    known = request_fields(operation.input)
    inner = [i for f in known if f.from_headers and f.message for i in rest_fields(f.message) if i.header]
    return [field for field in known if field.header] + inner


def _body(operation: Operation, schemas: Schemas) -> dict[str, Any]:
    sent = _other_fields(operation)
    content: dict[str, Any] = {"application/json": {"schema": schemas.body(operation.input, sent)}}
    if operation.name == UPLOADS:
        content["multipart/form-data"] = {"schema": components.UPLOAD}
    return {"required": any(field.required for field in sent), "content": content}


def _success(operation: Operation, schemas: Schemas) -> dict[str, Any]:
    names = ["X-Ignored-Fields"]
    names += ["Idempotent-Replayed"] if operation.rpc.takes_idempotency_key else []
    names += ["Location"] if operation.location else []
    names += ["Warning"] if operation.name in WARNED else []
    answer: dict[str, Any] = {"description": "Success.", "headers": components.headers(*names)}
    content = _content(operation, schemas)
    return {**answer, "content": content} if content else answer


def _content(operation: Operation, schemas: Schemas) -> dict[str, Any]:
    output = operation.output
    if output.full_name == EMPTY:
        return {}
    if output.full_name == HTTP_BODY:
        kind = "application/octet-stream" if operation.streams else "application/xml"
        return {kind: {"schema": {"type": "string", "contentMediaType": kind}}}
    if operation.streams:
        for shown in [field.message_type for field in output.oneofs[0].fields if field.message_type is not None]:
            schemas.response(shown)
        return {"text/event-stream": {"schema": {"type": "string", "contentMediaType": "text/event-stream"}}}
    return {"application/json": {"schema": schemas.response(output)}}


def _errors(operation: Operation) -> dict[str, Any]:
    """What may go wrong: by the shape of the request, and by the errors that the method declares."""
    statuses = {*components.ALWAYS, *(_STATUSES[code] for code in operation.errors)}
    if operation.path_fields or operation.takes_body:
        statuses |= components.WITH_PATH
    if operation.takes_body:
        statuses |= components.WITH_BODY
    return components.error_references(*sorted(statuses))
