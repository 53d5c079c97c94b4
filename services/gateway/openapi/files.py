"""The bodies of requests and responses that are files."""

from services.gateway.decoding.core_schemas import SEEN
from services.gateway.openapi.components import Part

# A file. OpenAPI 3.1 needs no format, but generators of clients do: others take a file for text.
BINARY: Part = {"type": "string", "format": "binary", "contentMediaType": "application/octet-stream"}

UPLOAD: Part = {
    "type": "object",
    "description": "The artifact and its description. The fields may come before or after the file.",
    "properties": {
        "version": {
            "type": "string",
            "minLength": 1,
            "maxLength": 200,
            "description": f"The default is that of the artifact.{SEEN}",
        },
        "metadata": {"type": "string", "contentMediaType": "application/json", "description": "A JSON object."},
        "package_name": {
            "type": "string",
            "maxLength": 500,
            "description": f"The default is that of the artifact.{SEEN}",
        },
        "version_suffix": {
            "type": "string",
            "minLength": 1,
            "maxLength": 100,
            "description": "If no version is sent and the app has that of the artifact already, the build's version is "
            f"that one, a hyphen, and this text, such as the first digits of a commit.{SEEN}",
        },
        "file": BINARY,
    },
    "required": ["file"],
}

PART: Part = {"required": True, "content": {"application/octet-stream": {"schema": BINARY}}}

IMPORT: Part = {
    "required": True,
    "content": {
        "multipart/form-data": {
            "schema": {
                "type": "object",
                "description": "A zip archive of the folder as file, or the files of the folder as files.",
                "properties": {
                    "file": BINARY,
                    "files": {
                        "type": "array",
                        "items": BINARY,
                        "description": "Each with its path in the folder as the name of the file.",
                    },
                },
            }
        },
        "application/zip": {"schema": BINARY},
    },
}
