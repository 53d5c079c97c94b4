"""Files become an archive while they arrive."""

import io
import zipfile
from collections.abc import AsyncIterator

from services.gateway.handlers.zip_stream import ZipStream


async def pieces(*contents: bytes) -> AsyncIterator[bytes]:
    for content in contents:
        yield content


async def test_files_are_packed_as_they_arrive() -> None:
    stream, archive = ZipStream(), b""
    for path, contents in {"a/b.yaml": [b"one", b"two"], "č.js": [], "../x": [b"kept as it is"]}.items():
        async for chunk in stream.add(path, pieces(*contents)):
            archive += chunk
    assert b"onetwo" in archive
    archive += stream.finish()
    with zipfile.ZipFile(io.BytesIO(archive)) as packed:
        assert packed.testzip() is None
        assert {info.orig_filename: packed.read(info) for info in packed.infolist()} == {
            "a/b.yaml": b"onetwo",
            "č.js": b"",
            "../x": b"kept as it is",
        }
