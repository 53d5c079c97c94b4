"""The OpenAPI 3.1 document as a whole."""

from collections.abc import Iterable
from typing import Any

import orjson

from services.gateway.contract.operations import Operation, all_services
from services.gateway.openapi import components
from services.gateway.openapi.comments import load_comments
from services.gateway.openapi.paths import operation_object
from services.gateway.openapi.schemas import Schemas


def document_json(operations: Iterable[Operation], version: str) -> bytes:
    """OpenAPI 3.1 as JSON text."""
    return orjson.dumps(build_document(operations, version), option=orjson.OPT_INDENT_2)


def build_document(operations: Iterable[Operation], version: str) -> dict[str, Any]:
    """OpenAPI 3.1 as an object."""
    schemas = Schemas(load_comments())
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        paths.setdefault(operation.template, {})[operation.verb.lower()] = operation_object(operation, schemas)
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
        "paths": {**paths, **components.service_paths()},
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
        },
        "responses": components.error_responses(),
        "parameters": components.PARAMETERS,
        "headers": components.HEADERS,
        "securitySchemes": components.SECURITY,
    }
