"""The recorded examples: one for each operation, each as the document says."""

import re
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped, unused-ignore]

from services.gateway.openapi.examples import FILE, load_examples
from tests.openapi_document import DOCUMENT

OPERATIONS = {
    operation["operationId"]: (verb.upper(), path, operation)
    for path, item in DOCUMENT["paths"].items()
    for verb, operation in item.items()
}
EXAMPLES = load_examples()


def test_every_operation_has_an_example() -> None:
    assert sorted(EXAMPLES) == sorted(OPERATIONS), "run `make examples`"


def check(schema: Any, value: Any) -> None:
    Draft202012Validator({**schema, "components": DOCUMENT["components"]}).validate(value)


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_example_is_what_the_document_describes(name: str) -> None:
    verb, path, operation = OPERATIONS[name]
    request, response = EXAMPLES[name]["request"], EXAMPLES[name]["response"]
    assert request["method"] == verb
    assert re.fullmatch(re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(path)), request["path"].partition("?")[0])
    described = operation["responses"][str(response["status"])]
    if "json" in request:
        check(operation["requestBody"]["content"]["application/json"]["schema"], request["json"])
    if "json" in response:
        check(described["content"]["application/json"]["schema"], response["json"])
    assert bool(response["media_type"]) == ("content" in described)


@pytest.mark.parametrize("name", OPERATIONS)
def test_parameters_of_an_example_are_described(name: str) -> None:
    operation, request = OPERATIONS[name][2], EXAMPLES[name]["request"]
    known = {(part["in"], part["name"]) for part in operation.get("parameters", ()) if "$ref" not in part}
    query = request["path"].partition("?")[2]
    used = {("query", part.partition("=")[0]) for part in query.split("&") if part}
    used |= {("header", name) for name in request["headers"] if name != "Content-Type"}
    assert used <= known


def test_the_document_has_the_examples() -> None:
    content = OPERATIONS["CreateApp"][2]["requestBody"]["content"]["application/json"]
    assert content["example"]["name"] == "Shop"
    health = OPERATIONS["Healthz"][2]["responses"]
    assert "example" in health["200"]["content"]["application/json"]
    assert "example" not in health["503"]["content"]["application/json"]
    report = OPERATIONS["GetJUnit"][2]["responses"]["200"]["content"]["application/xml"]
    assert report["example"].startswith("<testsuites")


def test_no_key_and_no_address_is_published() -> None:
    text = FILE.read_text()
    assert set(re.findall(r"mt_\w{12}_(.{38})", text)) == {"*" * 38}
    assert re.findall(r"127\.0\.0\.1|localhost", text) == []
