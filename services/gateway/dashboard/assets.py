"""The files that pages load: served from memory under names that change with their content."""

import re
from collections.abc import Mapping, Sequence
from hashlib import sha256
from mimetypes import guess_type
from pathlib import Path

from aiohttp import hdrs, web

from services.gateway.http.json_responses import HttpError
from services.gateway.http.representations import ETAG, FixedDocument

FOLDER = Path(__file__).parent / "static"
PREFIX = "/static"
_IMPORT = re.compile(rb'^(?:import|\}).* from "\./([a-z_]+)\.js";$', re.MULTILINE)
_FOREVER, _UNKEPT = "public, max-age=31536000, immutable", "no-store"


class Assets:
    """All files below a folder, as they are when the process starts."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self._files = {
            path.relative_to(folder).as_posix(): path.read_bytes()
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        }
        self._documents = {name: _document(name, content) for name, content in self._files.items()}
        self._imports = {
            name.removesuffix(".js"): {each.decode() for each in _IMPORT.findall(content)}
            for name, content in self._files.items()
            if name.endswith(".js")
        }
        self._version = sha256(b"".join(self._files.values())).hexdigest()[:12]

    def url(self, name: str) -> str:
        """Where a file is served.

        Raises:
            KeyError: there is none of this name.
        """
        _ = self._files[name]
        return f"{PREFIX}/{self._version}/{name}"

    def imports(self, scripts: Sequence[str]) -> Sequence[str]:
        """Where the modules are served that scripts ("matrix") import, directly or not.

        Raises:
            KeyError: there is none.
        """
        imported_scripts, waiting = set[str](), list(scripts)
        while waiting:
            imported = self._imports[waiting.pop()] - imported_scripts
            imported_scripts |= imported
            waiting += imported
        return [self.url(f"{name}.js") for name in sorted(imported_scripts - set(scripts))]

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """A file, which browsers keep for ever; pages of another version get it while replicas are replaced."""
        version, _, name = request.path.removeprefix(f"{PREFIX}/").partition("/")
        document = self._documents.get(name)
        if document is None:
            raise HttpError(404, "Not Found", "PATH_UNKNOWN")
        response = await document.show(request)
        response.headers[hdrs.CACHE_CONTROL] = _FOREVER if version == self._version else _UNKEPT
        del response.headers[ETAG]  # the name says which content it is
        return response


def _document(name: str, content: bytes) -> FixedDocument:
    headers: Mapping[str, str] = {hdrs.CONTENT_TYPE: guess_type(name)[0] or "application/octet-stream"}
    return FixedDocument(lambda _: (content, headers))
