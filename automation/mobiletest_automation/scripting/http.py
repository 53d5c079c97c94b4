"""What the http module of scripts sends and gets. Who sends it decides which hosts may be called."""

import posixpath
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING

from mobiletest_automation.flows.texts import cut
from mobiletest_automation.outside_texts import parse_json

if TYPE_CHECKING:
    from pydantic import TypeAdapter

# Of a body, or of the fields and files of a form.
REQUEST_BYTES = 2**20
FIELDS_LIMIT = 100
_NEED_A_BODY = ("POST", "PUT", "PATCH")
_TAKE_NO_BODY = ("GET", "HEAD")


@dataclass(frozen=True, slots=True, kw_only=True)
class FormField:
    """A field of a form: a text, or the `content` of a `file` that was sent along with the flow."""

    name: str
    value: str = ""
    file: str | None = None
    media_type: str | None = None
    content: bytes = b""

    @property
    def size(self) -> int:
        return len(self.name) + len(self.value) + len(self.content)


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRequest:
    """`headers` are as the script wrote them. A request has a `body`, a `form`, or neither."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str | None = None
    form: tuple[FormField, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpResponse:
    """Names of headers are in lower case; several values are joined with commas."""

    status: int
    body: str
    headers: Mapping[str, str]

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300


class HttpFailed(Exception):
    """There is no response; the message says why."""


# Raises HttpFailed.
SendHttp = Callable[[HttpRequest], Awaitable[HttpResponse]]

# Of a path from the folder of the flow; None for a file that was not sent along.
ReadFile = Callable[[str], Awaitable[bytes | None]]


def parse_request(text: str) -> HttpRequest:
    """The request that environment.js wrote.

    Raises:
        HttpFailed: the request cannot be sent.
    """
    from pydantic import ValidationError  # here, because it takes longer to import than most flows take

    try:
        request = _request_adapter().validate_python(parse_json(text))
    except ValidationError as error:
        place = ".".join(map(str, error.errors()[0]["loc"]))
        raise HttpFailed(f"{place or 'the request'} is not valid: headers and body are texts") from error
    method, has_body = request.method.upper(), request.body is not None or bool(request.form)
    if method in _NEED_A_BODY and not has_body:
        raise HttpFailed(f"{method} needs a body, which is a text: JSON.stringify makes one of an object, '' is empty")
    if method in _TAKE_NO_BODY and has_body:
        raise HttpFailed(f"{method} takes no body")
    return request


@cache
def _request_adapter() -> "TypeAdapter[HttpRequest]":
    from pydantic import TypeAdapter

    return TypeAdapter(HttpRequest)


async def load_files(request: HttpRequest, folder: str, read: ReadFile) -> HttpRequest:
    """The request with the content of its files, whose paths begin at the script's folder.

    Raises:
        HttpFailed: the request cannot be sent.
    """
    if len(request.form) > FIELDS_LIMIT:
        raise HttpFailed(f"multipartForm has at most {FIELDS_LIMIT} fields")
    fields: list[FormField] = []
    for each in request.form:
        fields.append(each if each.file is None else await _load(each, each.file, folder, read))
        if sum(field.size for field in fields) > REQUEST_BYTES:
            raise HttpFailed(f"the fields and files of multipartForm have at most {REQUEST_BYTES} bytes together")
    return replace(request, form=tuple(fields))


async def _load(field: FormField, file: str, folder: str, read: ReadFile) -> FormField:
    for path in dict.fromkeys((posixpath.normpath(posixpath.join(folder, file)), posixpath.normpath(file))):
        content = await read(path)
        if content is not None:
            return replace(field, file=posixpath.basename(path), content=content)
    raise HttpFailed(
        f"the file {cut(file, 200)} was not sent along: multipartForm sends files of the imported folder that a script "
        "names in quotes, or that addMedia and assertScreenshot use"
    )
