"""The OpenAPI 3.1 document as a whole, with the comments of the protos as its descriptions."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from mobiletest.options.v1 import options_pb2

from services.gateway.contract.operations import Operation, all_services
from services.gateway.openapi import components
from services.gateway.openapi.examples import add_examples, load_examples
from services.gateway.openapi.paths import operation_object
from services.gateway.openapi.schemas import Schemas

# Field numbers in descriptor.proto, by which the paths of the source info name messages, fields and so on.
_PARTS: Mapping[str, Mapping[int, tuple[str, str]]] = {
    "file": {4: ("message_type", "message"), 5: ("enum_type", "enum"), 6: ("service", "service")},
    "message": {2: ("field", "leaf"), 3: ("nested_type", "message"), 4: ("enum_type", "enum")},
    "enum": {2: ("value", "leaf")},
    "service": {2: ("method", "leaf")},
    "leaf": {},
}


def document_json(operations: Iterable[Operation], version: str) -> bytes:
    """OpenAPI 3.1 as JSON text."""
    return orjson.dumps(build_document(operations, version), option=orjson.OPT_INDENT_2)


def build_document(operations: Iterable[Operation], version: str) -> dict[str, Any]:
    """OpenAPI 3.1 as an object."""
    schemas = Schemas(load_comments())
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        paths.setdefault(operation.template, {})[operation.verb.lower()] = operation_object(operation, schemas)
    paths |= components.service_paths()
    add_examples(paths, load_examples())
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "mobiletest",
            "version": version,
            "description": components.ABOUT,
        },
        "servers": [{"url": "/"}],
        "security": [{"apiKey": []}],
        "tags": [*_tags(schemas), {"name": "Service", "description": "The gateway itself."}],
        "paths": paths,
        "components": _components(schemas),
    }


def _tags(schemas: Schemas) -> list[dict[str, str]]:
    return [{"name": service.name, "description": schemas.comment(service.full_name)} for service in all_services()]


def _components(schemas: Schemas) -> dict[str, Any]:
    return {
        "schemas": {
            **schemas.components(),
            "Error": components.ERROR_BODY,
            "AuthenticationError": components.AUTHENTICATION_ERROR,
            "ValidationError": components.FIELD_ERROR,
            "ValidationErrors": components.FIELD_ERRORS,
            "InvalidRequestError": components.INVALID_REQUEST,
        },
        "responses": components.error_responses(),
        "parameters": components.PARAMETERS,
        "headers": components.HEADERS,
        "securitySchemes": components.SECURITY,
    }


def load_comments() -> dict[str, str]:
    """Comments by full name ("mobiletest.catalog.v1.App.name"), from the image that is generated with the modules."""
    files = FileDescriptorSet.FromString(descriptors())
    return {name: text for file in files.file for name, text in _of_file(file)}


def descriptors() -> bytes:
    """The FileDescriptorSet of all protos with their imports and comments."""
    return (Path(options_pb2.__file__).parents[2] / "descriptors.binpb").read_bytes()


def _of_file(file: FileDescriptorProto) -> Iterator[tuple[str, str]]:
    for location in file.source_code_info.location:
        text = " ".join(location.leading_comments.split())
        name = _full_name(file, location.path) if text else None
        if name is not None:
            yield name, text


def _full_name(file: FileDescriptorProto, path: Sequence[int]) -> str | None:
    """The full name of the element at a path; None for an element without a name (a syntax line, an option)."""
    place: Any = file
    names, kind = [file.package], "file"
    if not path or len(path) % 2:
        return None
    for number, index in zip(path[::2], path[1::2], strict=True):
        part = _PARTS[kind].get(number)
        if part is None:
            return None
        attribute, kind = part
        place = getattr(place, attribute)[index]
        names.append(place.name)
    return ".".join(names)
