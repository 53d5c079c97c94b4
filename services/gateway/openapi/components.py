"""The parts of the document that no proto has: errors, headers, security, the gateway's own endpoints, uploads."""

from typing import Any

Part = dict[str, Any]

SECURITY: Part = {
    "apiKey": {
        "type": "http",
        "scheme": "bearer",
        "bearerFormat": "mt_<12>_<38>",
        "description": "An API key. Its scopes (read, write, execute, admin) say what it may do.",
    }
}

ERRORS = {
    "400": "The body is not JSON, or the request is not HTTP; the sentence says where.",
    "401": "The API key is missing, unknown or expired.",
    "403": "The API key lacks the scope that this needs.",
    "404": "There is no such thing in the organisation of the key.",
    "405": "The path does not have this method; Allow names those that it has.",
    "408": "The body did not arrive in time.",
    "409": "It exists already, or its state does not allow this.",
    "413": "The body is too large.",
    "415": "The body has a type or an encoding that is not read here.",
    "422": "The request breaks its contract; detail names every place.",
    "429": "Too many requests; try again after Retry-After.",
    "500": "An error of ours; the log has it under the request id.",
    "503": "A service that this needs is not available; try again after Retry-After.",
    "504": "It took too long; try again after Retry-After.",
}
ALWAYS = frozenset(("400", "401", "403", "422", "429", "500", "503", "504"))
WITH_PATH = frozenset(("404",))
WITH_BODY = frozenset(("408", "409", "413", "415"))

ERROR_BODY: Part = {
    "type": "object",
    "description": "What went wrong: a sentence that says what to do, and a reason for programs.",
    "properties": {
        "detail": {
            "anyOf": [{"type": "string"}, {"type": "array", "items": {"$ref": "#/components/schemas/ValidationError"}}]
        },
        "code": {"type": "string"},
    },
    "required": ["detail", "code"],
}
FIELD_ERROR: Part = {
    "type": "object",
    "description": "One error of a request.",
    "properties": {
        "loc": {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "integer"}]}},
        "msg": {"type": "string"},
        "type": {"type": "string"},
    },
    "required": ["loc", "msg", "type"],
}

HEADERS: Part = {
    "X-Request-ID": {"description": "The id of this request in the logs.", "schema": {"type": "string"}},
    "X-Ignored-Fields": {
        "description": "Fields, parameters and headers of the request that are unknown and were ignored.",
        "schema": {"type": "string"},
    },
    "Idempotent-Replayed": {
        "description": "true: this is the answer of an earlier request with the same Idempotency-Key.",
        "schema": {"type": "string"},
    },
    "Location": {"description": "The path of what was created.", "schema": {"type": "string"}},
    "Warning": {"description": "Some fields are null because a service does not answer.", "schema": {"type": "string"}},
    "Retry-After": {"description": "Seconds after which to try again.", "schema": {"type": "integer", "minimum": 1}},
    "WWW-Authenticate": {"description": "Bearer", "schema": {"type": "string"}},
    "Allow": {"description": "The methods that this path has.", "schema": {"type": "string"}},
}
_ERROR_HEADERS = {
    "401": ("WWW-Authenticate",),
    "405": ("Allow",),
    "409": ("Retry-After",),
    "429": ("Retry-After",),
    "503": ("Retry-After",),
    "504": ("Retry-After",),
}

PARAMETERS: Part = {
    "IdempotencyKey": {
        "name": "Idempotency-Key",
        "in": "header",
        "description": "Within 24 hours the same key and body give the first answer again; another body is a 409.",
        "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
    },
    "RequestId": {
        "name": "X-Request-ID",
        "in": "header",
        "description": "An id for the logs; one is made when it is absent or not of this form.",
        "schema": {"type": "string", "pattern": "^[A-Za-z0-9._-]{1,128}$"},
    },
    "RequestTimeout": {
        "name": "X-Request-Timeout",
        "in": "header",
        "description": "Seconds after which the client gives up; capped.",
        "schema": {"type": "number", "exclusiveMinimum": 0},
    },
    "Prefer": {
        "name": "Prefer",
        "in": "header",
        "description": "handling=strict: unknown fields are refused instead of ignored.",
        "schema": {"type": "string", "examples": ["handling=strict"]},
    },
}

UPLOAD: Part = {
    "type": "object",
    "description": (
        "The artifact with what is to be known about it. Send the other fields before the file, which then flows "
        "through; or all of them after it. A field after the file when others came before it is refused."
    ),
    "properties": {
        "version": {"type": "string", "minLength": 1, "maxLength": 200, "description": "Absent: the artifact's own."},
        "metadata": {"type": "string", "contentMediaType": "application/json", "description": "A JSON object."},
        "package_name": {"type": "string", "maxLength": 500, "description": "Absent: the artifact's own."},
        "file": {"type": "string", "contentMediaType": "application/octet-stream"},
    },
    "required": ["file"],
}


def headers(*names: str) -> Part:
    """References to response headers; X-Request-ID is always among them."""
    return {name: {"$ref": f"#/components/headers/{name}"} for name in ("X-Request-ID", *names)}


def error_responses() -> Part:
    """The components for all error answers."""
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    return {
        f"Error{status}": {
            "description": text,
            "headers": headers(*_ERROR_HEADERS.get(status, ())),
            "content": content,
        }
        for status, text in ERRORS.items()
    }


def error_references(*statuses: str) -> Part:
    """References to error answers."""
    return {status: {"$ref": f"#/components/responses/Error{status}"} for status in statuses}


def service_paths() -> Part:
    """The gateway's own endpoints."""
    return {
        "/healthz": {"get": _open("Healthz", "Whether the process is alive.", "503")},
        "/readyz": {"get": _open("Readyz", "Whether the process may get traffic.", "503")},
        "/api/v1/openapi.json": {"get": _open("OpenApi", "This document.")},
    }


def _open(name: str, summary: str, *failing: str) -> Part:
    content = {"application/json": {"schema": {"type": "object"}}}
    answers = {code: {"description": summary, "headers": headers(), "content": content} for code in ("200", *failing)}
    return {"operationId": name, "summary": summary, "tags": ["Service"], "security": [], "responses": answers}
