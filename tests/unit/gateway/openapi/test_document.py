"""The OpenAPI document: valid, and the same as the routes and encoders."""

import asyncio
import json
import re
from functools import cache
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator  # type: ignore[import-untyped, unused-ignore]
from openapi_spec_validator import validate

from services.chassis.clock import SystemClock
from services.chassis.health import Health
from services.gateway.app import build_routes
from services.gateway.auth.key_cache import KeyCache
from services.gateway.decoding.core_schemas import SEEN
from services.gateway.encoders import encoder
from services.gateway.http.open_streams import OpenStreams
from services.gateway.openapi.paths import UPLOAD
from services.gateway.settings import Settings
from services.gateway.upstream.rpcs import Upstreams
from tests.examples import examples
from tests.fakes.gateway import TOKEN
from tests.openapi_document import DOCUMENT
from tests.unit.gateway.strategies import RESPONSES, response_messages

SCHEMAS = DOCUMENT["components"]["schemas"]


class NoChannel:
    """Channels that are never called."""

    def unary_unary(self, path: str, *_: Any, **__: Any) -> Any:
        return path

    unary_stream = stream_unary = unary_unary


def test_document_is_valid_openapi() -> None:
    validate(DOCUMENT)
    assert DOCUMENT["openapi"].startswith("3.1")
    assert DOCUMENT["info"]["version"] == "1.2.3"


async def test_document_has_exactly_the_routes() -> None:
    upstreams = Upstreams(dict.fromkeys(("catalog", "executor", "reporting"), NoChannel()))
    variables = Settings(service_token=TOKEN, object_store="memory:///")  # type: ignore[arg-type]
    routes, _ = build_routes(variables, upstreams, Health(), asyncio.Event(), OpenStreams(KeyCache(), SystemClock()))
    served = {(route.method, route.path) for route in routes}
    written = {(verb.upper(), path) for path, item in DOCUMENT["paths"].items() for verb in item}
    assert served == written


def test_reads_that_can_conflict_list_409() -> None:
    gets = {path: item["get"]["responses"] for path, item in DOCUMENT["paths"].items() if "get" in item}
    assert {path for path, responses in gets.items() if "409" in responses} == {
        "/api/v1/apps/builds/{version_id}/download",
        "/api/v1/executions/{execution_id}/gate",
    }


def test_operations_list_the_404_that_their_comments_promise() -> None:
    operations = [operation for item in DOCUMENT["paths"].values() for operation in item.values()]
    promised = [each for each in operations if "NOT_FOUND" in each.get("description", "")]
    assert promised
    assert [each["operationId"] for each in promised if "404" not in each["responses"]] == []


def parameters(path: str, verb: str = "get") -> dict[str, Any]:
    items = DOCUMENT["paths"][path][verb]["parameters"]
    return {item["name"]: item for item in items if "name" in item}


@pytest.mark.parametrize(
    ("path", "name", "low", "high", "default"),
    [
        ("/api/v1/apps", "page_size", 1, 500, 50),
        ("/api/v1/apps", "page", 1, 2**31 - 1, 1),
        ("/api/v1/apps/builds/{version_id}/runs", "page_size", 1, 100, 20),
        ("/api/v1/apps/{app_id}/workspace", "trend_days", 7, 60, 14),
        ("/api/v1/apps/{app_id}/test_matrix", "page_size", 2, 50, 10),
    ],
)
def test_parameters_have_their_bounds_and_defaults(path: str, name: str, low: int, high: int, default: int) -> None:
    schema = parameters(path)[name]["schema"]
    assert (schema["minimum"], schema["maximum"], schema["default"]) == (low, high, default)


def test_attribution_headers_are_parameters_of_the_start() -> None:
    headers = parameters("/api/v1/execution/api/execute_workflow_id_async", "post")
    assert set(headers) == {
        "X-Service-Client",
        "X-CI-System",
        "X-CI-Commit-SHA",
        "X-CI-Branch",
        "X-CI-PR-Number",
        "X-CI-Run-URL",
        "X-CI-Run-ID",
        "X-CI-Repository",
        "X-CI-Base-Branch",
    }
    assert headers["X-CI-PR-Number"]["schema"]["type"] == "integer"


def test_requests_have_schemas_of_their_own() -> None:
    """So `readOnly` says nothing, and would make optional in clients what every response has."""
    assert "readOnly" not in json.dumps(DOCUMENT)
    assert {"id", "org_id", "name"} <= set(SCHEMAS["Workflow"]["required"])
    assert SCHEMAS["CreateWorkflowRequest"]["required"] == ["name"]


def test_texts_that_must_have_something_to_see_say_so() -> None:
    """Wherever a client sends a text of one line: the pattern alone allows U+200B."""
    sent = {name: schema["properties"] for name, schema in SCHEMAS.items() if re.search("Request$|Input$", name)}
    fields = [(f"{name}.{key}", field) for name, properties in sent.items() for key, field in properties.items()]
    described = {name for name, field in fields if SEEN.strip() in field.get("description", "")}
    one_line = {name for name, field in fields if r"[^\x00-\x1f\x7f-\x9f]*" in pattern_of(field)}
    assert {"CreateAppRequest.name", "CreateTestRequest.tags"} <= described == one_line
    for name in ("version", "package_name", "version_suffix"):
        assert SEEN in UPLOAD["properties"][name]["description"]


def pattern_of(field: dict[str, Any]) -> str:
    """The pattern of a text, or of the texts of a list."""
    return str(field.get("pattern") or field.get("items", {}).get("pattern"))


def test_body_of_a_401_has_only_a_detail() -> None:
    responses = DOCUMENT["components"]["responses"]
    name = responses["Error401"]["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
    assert SCHEMAS[name]["required"] == ["detail"]
    assert SCHEMAS[name]["properties"].keys() == {"detail"}
    assert SCHEMAS[name]["additionalProperties"] is False
    assert responses["Error403"]["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/Error"}


def test_every_operation_has_a_summary_errors_and_security() -> None:
    for path, item in DOCUMENT["paths"].items():
        for verb, operation in item.items():
            assert operation["summary"], (path, verb)
            if operation.get("security") == []:
                continue
            assert {"401", "403", "422", "503"} <= operation["responses"].keys()
    assert DOCUMENT["security"] == [{"apiKey": []}]


def names_of_parameters(operation: Any) -> set[str]:
    shared = DOCUMENT["components"]["parameters"]
    resolved = (shared[one["$ref"].rpartition("/")[2]] if "$ref" in one else one for one in operation["parameters"])
    return {one["name"] for one in resolved}


@pytest.mark.parametrize(
    ("verb", "path", "parameters", "statuses", "headers"),
    [
        ("get", "/api/v1/apps/{app_id}", {"If-None-Match"}, {"304"}, {"ETag"}),
        ("get", "/api/v1/apps", {"If-None-Match"}, {"304"}, {"ETag"}),
        ("patch", "/api/v1/apps/{app_id}", {"If-Match"}, {"412"}, {"ETag"}),
        ("patch", "/api/v1/workflows/{workflow_id}", {"If-Match"}, {"412"}, {"ETag"}),
        ("delete", "/api/v1/tests/{test_id}", {"If-Match"}, {"412"}, set()),
        ("post", "/api/v1/apps", set(), {"412", "501"}, {"ETag"}),
        ("get", "/api/v1/executions/{execution_id}/events", set(), set(), set()),
        (
            "get",
            "/api/v1/apps/builds/{version_id}/download",
            {"If-None-Match", "Range", "If-Range"},
            {"206", "304", "416"},
            {"ETag", "Accept-Ranges"},
        ),
    ],
)
def test_conditions_and_ranges_are_described(
    verb: str, path: str, parameters: set[str], statuses: set[str], headers: set[str]
) -> None:
    operation = DOCUMENT["paths"][path][verb]
    conditions = {"If-Match", "If-None-Match", "Range", "If-Range"}
    assert names_of_parameters(operation) & conditions == parameters
    described = {"206", "304", "412", "416"} | ({"501"} if verb == "post" else set())
    assert set(operation["responses"]) & described == statuses
    assert {"414", "431"} <= set(operation["responses"])
    success = next(response for status, response in operation["responses"].items() if status.startswith("2"))
    assert set(success.get("headers", {})) & {"ETag", "Accept-Ranges"} == headers


def test_every_property_has_a_description() -> None:
    for name, schema in DOCUMENT["components"]["schemas"].items():
        for key, value in schema.get("properties", {}).items():
            assert value.get("description"), f"{name}.{key}"


@pytest.mark.parametrize(
    ("schema", "name", "longest"),
    [
        ("CreateAppRequest", "name", 200),
        ("UpdateTestRequest", "name", 200),
        ("CreateBuildRequest", "version", 200),
        ("QuarantineTestRequest", "reason", 1000),
    ],
)
def test_trimmed_texts_have_a_visible_character(schema: str, name: str, longest: int) -> None:
    described = SCHEMAS[schema]["properties"][name]
    assert (described["minLength"], described["maxLength"]) == (1, longest)
    validator = Draft202012Validator(described)
    assert validator.is_valid(" a b ")
    for wrong in ("", " ", "\u00a0", "a\x00", "x" * (longest + 1)):
        assert not validator.is_valid(wrong), wrong
    assert "White space at both ends is removed" in described["description"]


@pytest.mark.parametrize(
    ("schema", "name"), [("CreateBuildRequest", "artifact_url"), ("FlowFileInput", "path"), ("FlowFileInput", "text")]
)
def test_required_texts_are_not_empty(schema: str, name: str) -> None:
    assert SCHEMAS[schema]["properties"][name]["minLength"] == 1


def test_every_shared_component_is_used() -> None:
    used = set(re.findall(r'"#/components/(\w+/[^"]+)"', orjson.dumps(DOCUMENT).decode()))
    shared = {f"{kind}/{name}" for kind, parts in DOCUMENT["components"].items() for name in parts}
    events = {f"schemas/{name}" for name in ("ExecutionEnd", "Heartbeat", "StepsNotice")}
    assert shared - used - {"securitySchemes/apiKey"} <= events


def test_the_paths_of_the_gateway_list_what_a_bad_request_gets() -> None:
    for path in ("/healthz", "/readyz", "/api/v1/openapi.json", "/api/v1/descriptors.binpb"):
        assert {"200", "400", "414", "422", "431"} <= DOCUMENT["paths"][path]["get"]["responses"].keys()


@pytest.mark.parametrize(("name", "descriptor"), RESPONSES)
@settings(deadline=None, max_examples=examples(15))
@given(data=st.data())
def test_encoded_responses_match_their_schema(name: str, descriptor: Any, data: st.DataObject) -> None:
    answer = orjson.loads(orjson.dumps(encoder(descriptor)(data.draw(response_messages(descriptor)))))
    assert isinstance(answer, dict), name
    if descriptor.name in SCHEMAS:
        validator(descriptor.name).validate(answer)


@cache
def validator(schema: str) -> Draft202012Validator:
    return Draft202012Validator({"$ref": f"#/components/schemas/{schema}", "components": DOCUMENT["components"]})


@pytest.mark.parametrize("schema", [name for name in DOCUMENT["components"]["schemas"] if name.endswith("Request")])
def test_required_properties_exist(schema: str) -> None:
    described = SCHEMAS[schema]
    assert set(described.get("required", [])) <= set(described["properties"])


def test_parameter_with_choices_is_an_enum() -> None:
    schema = parameters("/api/v1/tests")["classification"]["schema"]
    assert schema == {
        "type": "string",
        "enum": ["insufficient_data", "broken", "flaky", "regressed", "recovered", "stable"],
    }
