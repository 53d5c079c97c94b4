"""The operations of an OpenAPI document, each with all that its entry on the page shows."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from markupsafe import Markup

from services.gateway.dashboard.reference.prose import OperationText, mark_names, split_description
from services.gateway.dashboard.reference.schema_fields import SchemaField, SchemaReader
from services.gateway.dashboard.reference.transcript import curl_command, response_text
from services.gateway.openapi.examples import Example

Part = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Body:
    """The body of a request or response: its media type, what it is, and its fields."""

    media_type: str
    shape: str
    description: Markup
    fields: tuple[SchemaField, ...]


@dataclass(frozen=True, slots=True)
class Success:
    """A response that is no error, with the names of its headers."""

    status: str
    description: Markup
    headers: tuple[str, ...]
    bodies: tuple[Body, ...]


@dataclass(frozen=True, slots=True)
class OperationEntry:
    """An operation.

    `parameters` are those of its own, by their place; `shared` names the headers that many operations take. `curl` and
    `response` are its example, "" without one.
    """

    anchor: str
    method: str
    path: str
    summary: Markup
    text: OperationText
    public: bool
    parameters: Mapping[str, list[SchemaField]]
    shared: tuple[str, ...]
    request: tuple[Body, ...]
    successes: tuple[Success, ...]
    errors: tuple[str, ...]
    curl: str
    response: str


@dataclass(frozen=True, slots=True)
class Group:
    """The operations of a tag."""

    anchor: str
    title: str
    description: Markup
    operations: tuple[OperationEntry, ...]


class DocumentReader:
    """Reads an OpenAPI document, and the examples by operationId."""

    def __init__(self, document: Part, examples: Mapping[str, Example]) -> None:
        self._document = document
        self._components = document["components"]
        self._examples = examples

    def groups(self) -> list[Group]:
        """The tags that have operations, in their order."""
        entries = [(operation["tags"][0], self._entry(*found)) for *found, operation in self._operations()]
        return [
            Group(_anchor(tag["name"]), _title(tag["name"]), mark_names(tag["description"]), members)
            for tag in self._document["tags"]
            if (members := tuple(entry for name, entry in entries if name == tag["name"]))
        ]

    def shared_parameters(self) -> list[SchemaField]:
        """The headers that many operations take."""
        return [self._parameter(part) for part in self._components["parameters"].values()]

    def response_headers(self) -> list[SchemaField]:
        """The headers of responses."""
        return [
            self._reader().field(name, part["schema"], required=False, description=part["description"])
            for name, part in self._components["headers"].items()
        ]

    def errors(self) -> dict[str, Markup]:
        """What each error status means."""
        found = self._components["responses"]
        return {name.removeprefix("Error"): mark_names(part["description"]) for name, part in found.items()}

    def error_fields(self) -> tuple[SchemaField, ...]:
        """The body of errors."""
        return self._reader().body({"$ref": "#/components/schemas/Error"})

    def _operations(self) -> Iterator[tuple[str, str, Part]]:
        for path, item in self._document["paths"].items():
            for verb, operation in item.items():
                yield verb.upper(), path, operation

    def _entry(self, method: str, path: str) -> OperationEntry:
        operation = self._document["paths"][path][method.lower()]
        example, public = self._examples.get(operation["operationId"]), operation.get("security") == []
        errors = tuple(sorted(status for status, part in operation["responses"].items() if "$ref" in part))
        return OperationEntry(
            anchor=_anchor(operation["operationId"]),
            method=method,
            path=path,
            summary=mark_names(operation["summary"].rstrip(".")),
            text=_text(operation, errors),
            public=public,
            parameters=self._own_parameters(operation),
            shared=tuple(self._shared(operation)),
            request=self._bodies(operation.get("requestBody", {})),
            successes=tuple(self._successes(operation)),
            errors=errors,
            curl=curl_command(example, public=public) if example else "",
            response=response_text(example["response"]) if example else "",
        )

    def _own_parameters(self, operation: Part) -> dict[str, list[SchemaField]]:
        found: dict[str, list[SchemaField]] = {}
        for part in operation.get("parameters", ()):
            if "$ref" not in part:
                found.setdefault(part["in"], []).append(self._parameter(part))
        return found

    def _shared(self, operation: Part) -> Iterator[str]:
        for part in operation.get("parameters", ()):
            if "$ref" in part:
                yield self._components["parameters"][_last(part["$ref"])]["name"]

    def _parameter(self, part: Part) -> SchemaField:
        required = bool(part.get("required"))
        return self._reader().field(part["name"], part["schema"], required=required, description=part["description"])

    def _successes(self, operation: Part) -> Iterator[Success]:
        for status, part in operation["responses"].items():
            if "$ref" not in part:
                headers = tuple(part.get("headers", ()))
                yield Success(status, mark_names(part["description"]), headers, self._bodies(part))

    def _bodies(self, part: Part) -> tuple[Body, ...]:
        return tuple(
            self._body(media_type, content["schema"]) for media_type, content in part.get("content", {}).items()
        )

    def _body(self, media_type: str, schema: Part) -> Body:
        reader = self._reader()
        shape = reader.shape(schema)
        described = schema if shape.properties is None else shape.properties
        return Body(media_type, shape.text, mark_names(described.get("description", "")), reader.body(schema))

    def _reader(self) -> SchemaReader:
        return SchemaReader(self._components["schemas"])


def _text(operation: Part, errors: Sequence[str]) -> OperationText:
    """Without the errors of gRPC that REST cannot have."""
    text = split_description(operation.get("description", ""), operation["summary"])
    causes = tuple(cause for cause in text.causes if {str(status) for status in cause.statuses} <= {*errors})
    return replace(text, causes=causes)


def _anchor(name: str) -> str:
    """ "createApp" for "CreateApp": the id of an element, which links name."""
    return name[:1].lower() + name[1:]


def _title(name: str) -> str:
    """ "API keys" for "ApiKeys"."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).split()
    return " ".join([words[0].replace("Api", "API"), *(word.lower() for word in words[1:])])


def _last(reference: str) -> str:
    return reference.rpartition("/")[2]
