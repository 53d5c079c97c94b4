"""The operations of the document, which stand under its paths."""

from typing import Any

from google.rpc import code_pb2

from services.gateway.contract.fields import Field, RequestFields
from services.gateway.contract.operations import EMPTY, HTTP_BODY, Operation
from services.gateway.decoding.core_schemas import SEEN
from services.gateway.openapi import components
from services.gateway.openapi.components import Part
from services.gateway.openapi.schemas import Schemas

# A file. OpenAPI 3.1 needs no format, but generators of clients do: others take a file for text.
BINARY: Part = {"type": "string", "format": "binary", "contentMediaType": "application/octet-stream"}

UPLOAD: Part = {
    "type": "object",
    "description": "The artifact and its description. The fields may come before or after the file.",
    "properties": {
        "version": {
            "type": "string",
            "minLength": 1,
            "maxLength": 200,
            "description": f"The default is that of the artifact.{SEEN}",
        },
        "metadata": {"type": "string", "contentMediaType": "application/json", "description": "A JSON object."},
        "package_name": {
            "type": "string",
            "maxLength": 500,
            "description": f"The default is that of the artifact.{SEEN}",
        },
        "version_suffix": {
            "type": "string",
            "minLength": 1,
            "maxLength": 100,
            "description": "If no version is sent and the app has that of the artifact already, the build's version is "
            f"that one, a hyphen, and this text, such as the first digits of a commit.{SEEN}",
        },
        "file": BINARY,
    },
    "required": ["file"],
}

PART: Part = {"required": True, "content": {"application/octet-stream": {"schema": BINARY}}}

IMPORT: Part = {
    "required": True,
    "content": {
        "multipart/form-data": {
            "schema": {
                "type": "object",
                "description": "A zip archive of the folder as file, or the files of the folder as files.",
                "properties": {
                    "file": BINARY,
                    "files": {
                        "type": "array",
                        "items": BINARY,
                        "description": "Each with its path in the folder as the name of the file.",
                    },
                },
            }
        },
        "application/zip": {"schema": BINARY},
    },
}


_UPLOAD = "CreateBuild"
_FILES = {"ImportTests": IMPORT, "PutUploadPart": PART}
_STATUSES = {
    code_pb2.NOT_FOUND: "404",
    code_pb2.ALREADY_EXISTS: "409",
    code_pb2.FAILED_PRECONDITION: "409",
    code_pb2.ABORTED: "409",
}
_WITH_WARNING = frozenset(("GetApp", "UpdateApp", "ListApps"))


def operation_object(operation: Operation, schemas: Schemas) -> dict[str, Any]:
    """The Operation Object of OpenAPI."""
    comment = schemas.comment(operation.descriptor.full_name)
    fields = RequestFields.of(operation.input, operation.path_fields)
    described: dict[str, Any] = {
        "operationId": operation.name,
        "tags": [operation.descriptor.containing_service.name],
        "summary": comment.partition(". ")[0].rstrip(".:"),
        "description": f"{comment} Requires the scope {operation.rpc.required_scope}.",
        "parameters": _parameters(operation, fields, schemas),
        "responses": {**_responses(operation, schemas), **_errors(operation)},
    }
    if operation.name in _FILES:
        described["requestBody"] = _FILES[operation.name]
    if operation.takes_body:
        described["requestBody"] = _body(operation, fields, schemas)
    return described


def _parameters(operation: Operation, fields: RequestFields, schemas: Schemas) -> list[dict[str, Any]]:
    parameters = [_parameter("path", field.name, field, schemas) for field in fields.path]
    if not operation.takes_body:
        parameters += [_parameter("query", field.name, field, schemas) for field in fields.content]
    parameters += [
        _parameter("header", header.field.contract.header, header.field, schemas) for header in fields.headers
    ]
    shared = ["RequestId", "RequestTimeout", "Prefer", *_conditions(operation)]
    if operation.rpc.takes_idempotency_key:
        shared.append("IdempotencyKey")
    return parameters + [{"$ref": f"#/components/parameters/{name}"} for name in shared]


# openapi-python-client names the values of a parameter after the operation and the parameter: those of `result` would
# have the name of the response.
_TITLES = {"result": {"title": "Outcome"}}


def _parameter(place: str, name: str, field: Field, schemas: Schemas) -> dict[str, Any]:
    return {
        "name": name,
        "in": place,
        "required": place == "path" or field.required,
        "description": schemas.comment(field.descriptor.full_name),
        "schema": schemas.parameter(field) | _TITLES.get(name, {}),
    }


def _body(operation: Operation, fields: RequestFields, schemas: Schemas) -> dict[str, Any]:
    content: dict[str, Any] = {"application/json": {"schema": schemas.body(operation.input, fields.content)}}
    if operation.name == _UPLOAD:  # first, because openapi-generator makes a method of the first type only
        content = {"multipart/form-data": {"schema": UPLOAD}, **content}
    return {"required": any(field.required for field in fields.content), "content": content}


def _conditions(operation: Operation) -> list[str]:
    """The parameters of conditional requests and ranges."""
    if operation.can_expect_revisions:
        return ["IfMatch"]
    tagged = ["IfNoneMatch"] if operation.is_tagged and operation.verb == "GET" else []
    return [*tagged, "Range", "IfRange"] if operation.is_download else tagged


def _responses(operation: Operation, schemas: Schemas) -> dict[str, Any]:
    success = _success(operation, schemas)
    responses = {str(operation.status): success}
    if operation.is_download:
        headers = {**success["headers"], **components.headers("Content-Range")}
        responses["206"] = {**success, "description": "The part that was asked for.", "headers": headers}
    if operation.is_tagged and operation.verb == "GET":
        responses["304"] = components.NOT_MODIFIED
    return responses


def _success(operation: Operation, schemas: Schemas) -> dict[str, Any]:
    names = ["X-Ignored-Fields", "X-Public-Url", *components.RATE_LIMIT]
    names += ["Idempotent-Replayed"] if operation.rpc.takes_idempotency_key else []
    names += ["Location"] if operation.location else []
    names += ["ETag"] if operation.is_tagged else []
    names += ["Accept-Ranges"] if operation.is_download else []
    names += ["Warning"] if operation.name in _WITH_WARNING else []
    response: dict[str, Any] = {"description": "Success.", "headers": components.headers(*names)}
    content = _content(operation, schemas)
    return {**response, "content": content} if content else response


def _content(operation: Operation, schemas: Schemas) -> dict[str, Any]:
    output = operation.output
    if output.full_name == EMPTY:
        return {}
    if output.full_name == HTTP_BODY:
        if operation.template.endswith(".html"):
            return {"text/html": {"schema": {"type": "string", "contentMediaType": "text/html"}}}
        if operation.template.endswith(".webp"):
            return {"image/webp": {"schema": {**BINARY, "contentMediaType": "image/webp"}}}
        if operation.is_download:
            return {"application/octet-stream": {"schema": BINARY}}
        return {"application/xml": {"schema": {"type": "string", "contentMediaType": "application/xml"}}}
    if operation.streams:
        for event in output.oneofs[0].fields:
            if event.message_type is not None:
                schemas.response(event.message_type)
        return {"text/event-stream": {"schema": {"type": "string", "contentMediaType": "text/event-stream"}}}
    return {"application/json": {"schema": schemas.response(output)}}


def _errors(operation: Operation) -> dict[str, Any]:
    """The errors that follow from the shape of the request, and those that the method declares."""
    statuses = {*components.ALWAYS, *(_STATUSES[code] for code in operation.errors)}
    if operation.path_fields or operation.takes_body:
        statuses |= components.WITH_PATH
    if operation.takes_body or operation.name in _FILES:
        statuses |= components.WITH_BODY
    if operation.verb != "GET":
        statuses.add("412")
    if operation.is_download:
        statuses.add("416")
    return components.error_references(*sorted(statuses))
