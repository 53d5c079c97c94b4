"""The OpenAPI document, built once for all tests in a process."""

from services.gateway.contract.operations import all_operations
from services.gateway.openapi.document import build_document

DOCUMENT = build_document(all_operations(), "1.2.3")
