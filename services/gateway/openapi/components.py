"""The parts of the document that are not in the protos: errors, headers, security, the gateway's own paths."""

from typing import Any

Part = dict[str, Any]

ABOUT = (
    "Runs automated tests against builds of mobile apps. Paths work with and without a trailing slash. Every GET also "
    "supports HEAD; for a method that a path does not support the status is 405, with those that it supports in Allow, "
    "and for an unknown one 501. JSON of 1 KiB and more is compressed with gzip if Accept-Encoding allows it."
)
SECURITY: Part = {
    "apiKey": {
        "type": "http",
        "scheme": "bearer",
        "bearerFormat": "mt_<12>_<38>",
        "description": "An API key. Its scopes (read, write, execute, admin) are its permissions.",
    }
}

ERRORS = {
    "400": "The body is not valid JSON; detail has the position. Or the request is not valid HTTP.",
    "401": "The API key is missing, unknown or expired.",
    "403": "The API key does not have the scope that the operation requires. Or a limit of the organisation is reached "
    "that waiting does not help with (code LIMIT_REACHED or MODEL_NOT_ALLOWED); detail names it and says what to do.",
    "404": "Nothing with this id exists in the organisation of the API key.",
    "408": "The body did not arrive in time, or arrives too slowly.",
    "409": (
        "code says why: the resource exists already, its state does not allow the operation, the Idempotency-Key was "
        "used for a different request, or another request changed the resource at the same time. Only for the last one "
        "there is a Retry-After: repeating helps."
    ),
    "412": "If-Match does not have the ETag of the resource: it has been changed. Read it again. Or (code "
    "PRECONDITION_UNSUPPORTED) the operation does not support If-Match.",
    "413": "The body is too large.",
    "414": "The URL is too long.",
    "415": "The type or the encoding of the body is not supported.",
    "416": "The range begins behind the end of the file; Content-Range has its size.",
    "422": "The request is not valid; detail lists every error.",
    "429": "A limit of the organisation is reached (code LIMIT_REACHED): requests, uploads, event streams or waiting "
    "runs; detail names it. Or too many of its requests are waiting (TOO_MANY_WAITING) or being received "
    "(TOO_MANY_BODIES). Retry after the seconds in Retry-After.",
    "431": "A header is too long, or there are too many.",
    "500": "An internal error. The log has it under the request id.",
    "501": "The body has a Transfer-Encoding besides chunked.",
    "503": (
        "A service that the operation needs is not available, or (IDEMPOTENCY_KEY_IN_FLIGHT) the first request with "
        "this Idempotency-Key is still in progress. Retry after the seconds in Retry-After."
    ),
    "504": "The operation took too long. Retry after the seconds in Retry-After.",
}
ALWAYS = frozenset(("400", "401", "403", "414", "422", "429", "431", "500", "503", "504"))
PUBLIC = ("400", "414", "422", "431", "500")
WITH_PATH = frozenset(("404",))
WITH_BODY = frozenset(("408", "409", "413", "415", "501"))

_CODE: Part = {"type": "string", "description": "The reason, for programs: VERSION_EXISTS."}
ERROR_BODY: Part = {
    "type": "object",
    "description": "An error: what is wrong and what to do about it, and a code for programs.",
    "properties": {
        "detail": {"type": "string", "description": "A sentence that says what is wrong and what to do."},
        "code": _CODE,
    },
    "required": ["detail", "code"],
}
FIELD_ERRORS: Part = {
    "type": "object",
    "description": "The errors of a request that is not valid.",
    "properties": {
        "detail": {
            "type": "array",
            "items": {"$ref": "#/components/schemas/ValidationError"},
            "description": "Every error.",
        },
        "code": _CODE,
    },
    "required": ["detail", "code"],
}
# Generators make classes of a choice between objects. Of one between a text and an array openapi-generator makes Java
# that does not compile, and oapi-codegen nothing.
INVALID_REQUEST: Part = {
    "description": "The request is not valid: every error that the gateway finds, or what a service says of it.",
    "anyOf": [{"$ref": "#/components/schemas/ValidationErrors"}, {"$ref": "#/components/schemas/Error"}],
}
AUTHENTICATION_ERROR: Part = {
    "type": "object",
    "description": "The API key is missing, unknown or expired.",
    "properties": {"detail": {"type": "string", "description": "What is wrong with the key."}},
    "required": ["detail"],
    "additionalProperties": False,
}
FIELD_ERROR: Part = {
    "type": "object",
    "description": "One error of a request.",
    "properties": {
        "loc": {
            "type": "array",
            "items": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            "description": 'Where: ["query", "page_size"], ["body", "test_ids", 2].',
        },
        "msg": {"type": "string", "description": "What is wrong."},
        "type": {"type": "string", "description": "The kind of error, as pydantic names it: missing, string_too_long."},
    },
    "required": ["loc", "msg", "type"],
}

HEADERS: Part = {
    "X-Request-ID": {"description": "The id of the request, also in the logs.", "schema": {"type": "string"}},
    "X-Public-Url": {
        "description": "The address of the dashboard, if the deployment names it: the page of an execution is at "
        "/executions/{id} below it.",
        "schema": {"type": "string"},
    },
    "X-Ignored-Fields": {
        "description": "Unknown fields, parameters and headers of the request, which were ignored. Where a request "
        "says what will run, an unknown field that would choose an app, a build, a test, a platform, a device or a "
        "commit is a 422 instead.",
        "schema": {"type": "string"},
    },
    "Idempotent-Replayed": {
        "description": "true when this is the response to an earlier request with the same Idempotency-Key.",
        "schema": {"type": "string"},
    },
    "Location": {"description": "The path of the resource that was created.", "schema": {"type": "string"}},
    "Warning": {
        "description": "Some fields are null because a service is not available.",
        "schema": {"type": "string"},
    },
    "Retry-After": {
        "description": "Seconds to wait before the next attempt.",
        "schema": {"type": "integer", "minimum": 1},
    },
    "RateLimit-Limit": {
        "description": "How many requests of the key or its organisation, whichever has fewer left, may come at once.",
        "schema": {"type": "integer", "minimum": 1},
    },
    "RateLimit-Remaining": {
        "description": "How many more requests may come at once now.",
        "schema": {"type": "integer", "minimum": 0},
    },
    "RateLimit-Reset": {
        "description": "Seconds without requests after which RateLimit-Remaining is RateLimit-Limit again.",
        "schema": {"type": "integer", "minimum": 0},
    },
    "WWW-Authenticate": {"description": "Bearer", "schema": {"type": "string"}},
    "ETag": {
        "description": "The entity tag of this representation, for If-None-Match, If-Match and If-Range.",
        "schema": {"type": "string", "examples": ['"7-1b2c3d4e"']},
    },
    "Accept-Ranges": {"description": "bytes", "schema": {"type": "string"}},
    "Content-Range": {
        "description": "Which bytes of how many these are: bytes 0-99/1000.",
        "schema": {"type": "string"},
    },
}
# The headers of every response to a request with a valid API key and valid headers.
RATE_LIMIT = ("RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset")
_ERROR_SCHEMAS = {"401": "AuthenticationError", "422": "InvalidRequestError"}
_ERROR_HEADERS = {
    "401": ("WWW-Authenticate",),
    "403": RATE_LIMIT,
    "404": RATE_LIMIT,
    "409": ("Retry-After", *RATE_LIMIT),
    "413": RATE_LIMIT,
    "415": RATE_LIMIT,
    "416": ("Content-Range", *RATE_LIMIT),
    "422": RATE_LIMIT,
    "429": ("Retry-After", *RATE_LIMIT),
    "500": RATE_LIMIT,
    "503": ("Retry-After", *RATE_LIMIT),
    "504": ("Retry-After", *RATE_LIMIT),
}

PARAMETERS: Part = {
    "IdempotencyKey": {
        "name": "Idempotency-Key",
        "in": "header",
        "description": "The same key and body within 24 hours give the first response again. Another body is a 409; a "
        "repeat while the first request is in progress is a 503.",
        "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
    },
    "RequestId": {
        "name": "X-Request-ID",
        "in": "header",
        "description": "The id of the request in the logs: 1 to 128 letters, digits, dots, underscores and hyphens. "
        "Any other text is replaced by a new id.",
        "schema": {"type": "string", "examples": ["build-4711"]},
    },
    "RequestTimeout": {
        "name": "X-Request-Timeout",
        "in": "header",
        "description": "Seconds after which the client stops waiting, up to a limit of the server.",
        "schema": {"type": "number", "exclusiveMinimum": 0},
    },
    "IfNoneMatch": {
        "name": "If-None-Match",
        "in": "header",
        "description": "ETags of representations that the client has. The response is 304 if one of them is current.",
        "schema": {"type": "string"},
    },
    "IfMatch": {
        "name": "If-Match",
        "in": "header",
        "description": (
            "ETags that the resource may have, otherwise the response is 412 and nothing changes. Only the revision "
            "before the hyphen is compared: statistics and attachments of other services do not count."
        ),
        "schema": {"type": "string"},
    },
    "Range": {
        "name": "Range",
        "in": "header",
        "description": "The bytes to download: bytes=0-99, bytes=100- or bytes=-100. Several ranges are ignored.",
        "schema": {"type": "string"},
    },
    "IfRange": {
        "name": "If-Range",
        "in": "header",
        "description": "Range counts only if this is the ETag of the file; otherwise the whole file is sent.",
        "schema": {"type": "string"},
    },
    "Prefer": {
        "name": "Prefer",
        "in": "header",
        "description": "handling=strict makes unknown fields an error; otherwise they are ignored.",
        "schema": {"type": "string", "examples": ["handling=strict"]},
    },
}

HEALTH: Part = {
    "type": "object",
    "properties": {
        "status": {"type": "string", "enum": ["ok", "failing"]},
        "failing": {"type": "array", "items": {"type": "string"}, "description": "The names of the checks that fail."},
    },
    "required": ["status", "failing"],
}


def headers(*names: str) -> Part:
    """References to response headers; X-Request-ID is always among them."""
    return {name: {"$ref": f"#/components/headers/{name}"} for name in ("X-Request-ID", *names)}


NOT_MODIFIED: Part = {"description": "The client has the current representation.", "headers": headers("ETag")}


def error_responses() -> Part:
    """The responses of all errors."""
    return {
        f"Error{status}": {
            "description": text,
            "headers": headers(*_ERROR_HEADERS.get(status, ())),
            "content": {
                "application/json": {"schema": {"$ref": f"#/components/schemas/{_ERROR_SCHEMAS.get(status, 'Error')}"}}
            },
        }
        for status, text in ERRORS.items()
    }


def error_references(*statuses: str) -> Part:
    """References to the responses of errors."""
    return {status: {"$ref": f"#/components/responses/Error{status}"} for status in statuses}


def service_paths() -> Part:
    """The paths of the gateway itself."""
    document = _open("OpenApi", "This document.", {"type": "object"})
    descriptors = _open("Descriptors", "The descriptors of the protos with their imports, for gRPC clients.", {})
    descriptors["responses"]["200"]["content"] = {
        "application/octet-stream": {"schema": {"type": "string", "format": "binary"}}
    }
    for contract in (document, descriptors):
        contract["parameters"] = [{"$ref": "#/components/parameters/IfNoneMatch"}]
        contract["responses"] |= {"304": NOT_MODIFIED}
        contract["responses"]["200"]["headers"] = headers("ETag")
    return {
        "/healthz": {"get": _open("Healthz", "Whether the process is alive.", HEALTH, "503")},
        "/readyz": {"get": _open("Readyz", "Whether the process is ready for requests.", HEALTH, "503")},
        "/api/v1/openapi.json": {"get": document},
        "/api/v1/descriptors.binpb": {"get": descriptors},
    }


def _open(name: str, summary: str, schema: Part, *failing: str) -> Part:
    content = {"application/json": {"schema": schema}}
    responses = {code: {"description": summary, "headers": headers(), "content": content} for code in ("200", *failing)}
    return {
        "operationId": name,
        "summary": summary,
        "tags": ["Service"],
        "security": [],
        "responses": {**responses, **error_references(*PUBLIC)},
    }
