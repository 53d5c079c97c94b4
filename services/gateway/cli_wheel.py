"""The wheel of the command line, of the same version as the server: clients install it from here.

`make proto` and the image build it into gen/wheels. Nobody has registered the name of the package with an index, so an
installation by name would run the code of whoever does.
"""

from hashlib import sha256
from pathlib import Path

from aiohttp import hdrs, web

from services.chassis.version import VERSION
from services.gateway.http.application import Route
from services.gateway.http.json_responses import HttpError
from services.gateway.http.representations import ETAG, FixedResponse

FOLDER = Path(__file__).parents[2] / "gen" / "wheels"
PATH = "/cli"
NAME = f"mobiletest_cli-{VERSION}-py3-none-any.whl"
_NEWEST, _KEPT = "no-cache", "public, max-age=300"


class CliWheel:
    """The wheel in a folder, as it is when the process starts."""

    def __init__(self, folder: Path = FOLDER) -> None:
        path = folder / NAME
        self._content = path.read_bytes() if path.is_file() else None
        self._digest = sha256(self._content or b"").hexdigest()

    @property
    def routes(self) -> list[Route]:
        """Public: the wheel holds no secret, and a client has no key before it is installed."""
        return [Route("GET", PATH, self.redirect), Route("GET", f"{PATH}/{{name}}", self.serve)]

    async def redirect(self, request: web.Request) -> web.StreamResponse:
        """Lead to the wheel, with its SHA-256 in the fragment, which pip compares with what it gets.

        The location is relative: a proxy may serve all of this below a path.
        """
        self._read()
        folder = "" if request.path.endswith("/") else f"{PATH[1:]}/"
        location = f"{folder}{NAME}#sha256={self._digest}"
        headers = {hdrs.LOCATION: location, hdrs.CACHE_CONTROL: _NEWEST}
        return web.Response(status=302, text=f"{location}\n", headers=headers)

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """The wheel.

        Raises:
            HttpError: this is the name of another version, or of something else.
        """
        content = self._read()
        if request.match_info["name"] != NAME:
            raise HttpError(404, f"this server has only {PATH}/{NAME}; {PATH}/ leads to it", "WHEEL_UNKNOWN")
        headers = {
            hdrs.CONTENT_TYPE: "application/octet-stream",
            hdrs.CONTENT_DISPOSITION: f'attachment; filename="{NAME}"',
            hdrs.CACHE_CONTROL: _KEPT,
            ETAG: f'"{self._digest}"',
        }
        return FixedResponse(body=content, headers=headers)

    def _read(self) -> bytes:
        if self._content is None:
            message = "this server was started without the wheel of the command line: build it with make proto"
            raise HttpError(404, message, "WHEEL_UNKNOWN")
        return self._content
