"""The peer of `benchmarks.transfers`: one aiohttp process that copies bodies to files and files to bodies.

No forms, no checksums, no database, no authentication: the least that an upload and a download cost in aiohttp.
"""

import asyncio
import sys
from pathlib import Path

import uvloop
from aiohttp import hdrs, web

CHUNK_BYTES = 1024 * 1024


class Files:
    """PUT and GET of files in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def put(self, request: web.Request) -> web.StreamResponse:
        size = 0
        with (self._folder / request.match_info["name"]).open("wb") as file:
            async for chunk in request.content.iter_any():
                size += file.write(chunk)
        return web.json_response({"size": size})

    async def get(self, request: web.Request) -> web.StreamResponse:
        """Through Python like ours: FileResponse would use sendfile."""
        path = self._folder / request.match_info["name"]
        response = web.StreamResponse(headers={hdrs.CONTENT_LENGTH: str(path.stat().st_size)})
        await response.prepare(request)
        with path.open("rb") as file:
            while chunk := file.read(CHUNK_BYTES):
                await response.write(chunk)
        await response.write_eof()
        return response


async def main(folder: Path, port: int) -> None:
    files = Files(folder)
    app = web.Application()
    app.add_routes([web.put("/{name}", files.put), web.get("/{name}", files.get)])
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    await asyncio.Event().wait()


if __name__ == "__main__":
    uvloop.run(main(Path(sys.argv[1]), int(sys.argv[2])))
