"""Prints the OpenAPI document: python -m services.gateway.openapi."""

import sys

from services.chassis.version import VERSION
from services.gateway.contract.operations import all_operations
from services.gateway.openapi.document import document_json

if __name__ == "__main__":
    sys.stdout.buffer.write(document_json(all_operations(), VERSION))
