"""The forms of uploads, and a catalog that takes them."""

from typing import Any

import aiohttp
from mobiletest.catalog.v1 import builds_pb2

from tests.fakes.gateway import FakeBackends

MEBIBYTE = 1024 * 1024


def keep_upload(backends: FakeBackends) -> None:
    backends.on("UploadBuild", lambda messages: builds_pb2.Build(id="b1", version=messages[-1].metadata.version))


def form(*fields: tuple[str, Any], file: bytes = b"content", file_at: int | None = None) -> aiohttp.FormData:
    data = aiohttp.FormData(quote_fields=False)
    position = len(fields) if file_at is None else file_at
    for index in range(len(fields) + 1):
        if index == position:
            data.add_field("file", file, filename="../dir/shop.apk", content_type="application/octet-stream")
        if index < len(fields):
            data.add_field(*fields[index])
    return data
