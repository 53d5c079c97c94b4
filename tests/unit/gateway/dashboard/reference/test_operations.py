"""The entries of the page: every operation of the document, with what its readers need."""

from services.gateway.contract.operations import all_operations
from services.gateway.dashboard.reference.operations import DocumentReader, OperationEntry
from services.gateway.openapi.examples import load_examples
from tests.openapi_document import DOCUMENT

GROUPS = DocumentReader(DOCUMENT, load_examples()).groups()
ENTRIES = {entry.anchor: entry for group in GROUPS for entry in group.operations}


def test_every_operation_has_an_entry_in_its_group() -> None:
    assert len(ENTRIES) == sum(len(item) for item in DOCUMENT["paths"].values())
    assert [group.title for group in GROUPS][:2] == ["Apps", "Builds"]
    assert "API keys" in [group.title for group in GROUPS]
    assert all(group.operations for group in GROUPS)


def test_scopes_are_those_of_the_protos() -> None:
    scopes = {op.name[:1].lower() + op.name[1:]: op.rpc.required_scope for op in all_operations()}
    assert {anchor: entry.text.scope for anchor, entry in ENTRIES.items() if not entry.public} == scopes
    assert {anchor for anchor, entry in ENTRIES.items() if entry.public} == {
        "healthz",
        "readyz",
        "openApi",
        "descriptors",
    }


def test_causes_are_errors_that_the_operation_lists() -> None:
    causes = {anchor: [cause.statuses for cause in entry.text.causes] for anchor, entry in ENTRIES.items()}
    assert causes["createBuild"] == [(404,), (409,), (403,)]
    assert causes["getCurrentApiKey"] == []  # its only one is for callers of gRPC


def names(entry: OperationEntry, place: str) -> list[str]:
    return [field.name for field in entry.parameters[place]]


def test_an_entry_has_its_parameters_bodies_and_errors() -> None:
    entry = ENTRIES["listApps"]
    assert (entry.method, entry.path, entry.summary) == ("GET", "/api/v1/apps", "Lists apps, newest first")
    assert names(entry, "query") == ["platform", "page", "page_size", "search", "package_name"]
    assert entry.parameters["query"][2].bounds == ("1 to 500", "default 50")
    assert "If-None-Match" in entry.shared
    assert {"401", "429"} <= set(entry.errors)
    (found,) = entry.successes[0].bodies
    assert (found.media_type, found.shape, found.fields[0].name) == ("application/json", "ListAppsResult", "total")
    upload = ENTRIES["createBuild"]
    assert [body.media_type for body in upload.request] == ["multipart/form-data", "application/json"]
    assert "-F version=" in upload.curl


def test_an_operation_that_was_not_recorded_yet_has_no_example() -> None:
    (first, *_) = DocumentReader(DOCUMENT, {}).groups()[0].operations
    assert (first.curl, first.response) == ("", "")
