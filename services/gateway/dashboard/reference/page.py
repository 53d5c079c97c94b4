"""The page of the API documentation, which everyone may read."""

from collections.abc import Callable, Mapping
from typing import Any

import orjson
from aiohttp import hdrs, web

from services.gateway.dashboard.pages import render
from services.gateway.dashboard.reference.operations import DocumentReader
from services.gateway.dashboard.reference.prose import mark_names
from services.gateway.dashboard.reference.transcript import KEY, URL
from services.gateway.http.fixed_documents import FixedDocument
from services.gateway.openapi.examples import load_examples

PATH = "/docs"


class ReferencePage:
    """Renders the page when it is first asked for, which takes a tenth of a second, and keeps it."""

    def __init__(self, document: Callable[[], bytes], document_path: str) -> None:
        """`document()` is the OpenAPI document as it is served at `document_path`."""
        self._document = document
        self._document_path = document_path
        self.show = FixedDocument(self._render).show

    def _render(self, request: web.Request) -> tuple[bytes, Mapping[str, str]]:
        response = render(request, "reference.html", {**self._values(), "csrf": "", "path": PATH})
        kept = {name: text for name, text in response.headers.items() if name != hdrs.CONTENT_LENGTH}
        return (response.text or "").encode(), {**kept, hdrs.CACHE_CONTROL: "no-cache"}

    def _values(self) -> Mapping[str, Any]:
        document = orjson.loads(self._document())
        reader = DocumentReader(document, load_examples())
        return {
            "info": document["info"],
            "about": mark_names(document["info"]["description"]),
            "document_path": self._document_path,
            "groups": reader.groups(),
            "shared_parameters": reader.shared_parameters(),
            "response_headers": reader.response_headers(),
            "errors": reader.errors(),
            "error_fields": reader.error_fields(),
            "url_variable": URL,
            "key_variable": KEY,
        }
