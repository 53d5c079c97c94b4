"""Prints the OpenAPI document with only the schemas that the command line uses: python -m deploy.cli_types."""

import ast
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from services.chassis.version import VERSION
from services.gateway.contract.operations import all_operations
from services.gateway.openapi.document import document_json

_PACKAGE = Path(__file__).parents[1] / "cli" / "mobiletest_cli"
_REFERENCE = re.compile(r'"#/components/schemas/(\w+)"', re.ASCII)


def used_names() -> Iterator[str]:
    """The names that modules of the command line import from api_types, or take from it."""
    for module in _PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(module.read_text())):
            match node:
                case ast.ImportFrom(module="mobiletest_cli.api_types"):
                    yield from (alias.name for alias in node.names)
                case ast.Attribute(value=ast.Name(id="api_types")):
                    yield node.attr
                case ast.Constant(value=str(text)) if text.startswith("api_types."):
                    yield text.removeprefix("api_types.")


def with_schemas(document: dict[str, Any], names: Iterator[str]) -> dict[str, Any]:
    """The document without paths, with the named schemas and those that they refer to, in the order of the document."""
    schemas, used, pending = document["components"]["schemas"], set[str](), list(names)
    while pending:
        if (name := pending.pop()) not in used:
            used.add(name)
            pending.extend(_REFERENCE.findall(json.dumps(schemas[name])))
    kept = {name: schema for name, schema in schemas.items() if name in used}
    return {**document, "paths": {}, "components": {"schemas": kept}}


if __name__ == "__main__":
    openapi = json.loads(document_json(all_operations(), VERSION))
    json.dump(with_schemas(openapi, used_names()), sys.stdout)
