"""Forms are read alike wherever packets end, and forms that are not valid say why."""

import asyncio
from typing import Any

import pytest
from aiohttp import hdrs
from aiohttp.test_utils import make_mocked_request

from services.gateway.handlers.multipart_form import (
    MAX_LINE_BYTES,
    MAX_LINES,
    MAX_PARTS,
    PIECE_BYTES,
    MultipartForm,
    open_form,
)
from services.gateway.handlers.upload_reader import UploadReader
from services.gateway.http.json_responses import HttpError
from services.gateway.settings import Settings
from tests.fakes.gateway import TOKEN

FILE_SIZE = 64
SETTINGS = Settings(service_token=TOKEN, object_store="memory:///", max_upload_bytes=FILE_SIZE)  # type: ignore[arg-type]
BROKEN = "a boundary or the header of a part cannot be read, or has more than 128 lines or 8192 bytes in a line"
INCOMPLETE = "it ends before its final boundary"
UNREADABLE = "the header of a part cannot be read"
DISPOSITION = b'Content-Disposition: form-data; name="file"\r\n'
END = b"\r\n--b--\r\n"


class Body:
    """A body that arrives in packets of this size."""

    def __init__(self, content: bytes, packet: int) -> None:
        self._packets = [content[at : at + packet] for at in range(0, len(content), packet)]

    async def readany(self) -> bytes:
        return self._packets.pop(0) if self._packets else b""


Parts = list[tuple[str, str | None, bytes]]


async def parts_of(content: bytes, packet: int) -> Parts:
    reader = UploadReader(Body(content, packet), SETTINGS, more_bytes=1 << 20)  # type: ignore[arg-type]
    form, parts = MultipartForm(reader, b"b"), Parts()
    while (part := await form.next_part()) is not None:
        parts.append((part.name, part.filename, b"".join([chunk async for chunk in form.chunks()])))
    return parts


async def read(content: bytes) -> Parts:
    """The parts, which do not depend on the packets."""
    packets = (1, 2, 3, 5, 7, len(content))
    whole, *others = [await parts_of(content, packet) for packet in packets]
    assert all(other == whole for other in others)
    return whole


async def refusal(content: bytes) -> str:
    """The reason of a refusal, which does not depend on the packets."""
    messages = set[str]()
    for packet in (1, 2, 3, 5, 7, len(content)):
        with pytest.raises(HttpError) as error:
            await parts_of(content, packet)
        assert (error.value.status, error.value.code) == (400, "BODY_BROKEN")
        messages.add(str(error.value.message))
    [message] = messages
    prefix, _, reason = message.partition(": ")
    assert prefix == "The body is not valid multipart/form-data"
    return reason


def one_part(header: bytes, content: bytes = b"content") -> bytes:
    return b"--b\r\n" + header + b"\r\n" + content + END


@pytest.mark.parametrize(
    "content", [b"", b"content", b"\r\n", b"\r\r\n\r\n--", b"\r\n--\r\n--a", b"--b", b"\n--b\r\n", bytes(range(64))]
)
async def test_the_content_of_a_part_is_what_is_between_boundaries(content: bytes) -> None:
    assert await read(one_part(DISPOSITION, content)) == [("file", None, content)]


async def test_a_form_has_its_parts_in_order() -> None:
    version = b'--b\r\ncontent-disposition: form-data; name="version"; filename="\xc4\x8d\xff"\r\n\r\n1\r\n'
    assert await read(version + one_part(DISPOSITION)) == [("version", "č?", b"1"), ("file", None, b"content")]
    assert await read(b"--b--") == []


@pytest.mark.parametrize(
    "content",
    [
        one_part(DISPOSITION).removesuffix(b"\r\n"),
        b"\n" + one_part(DISPOSITION),
        b"\r\n" + one_part(DISPOSITION),
        one_part(DISPOSITION) + b"an epilogue\r\n--b\r\n",
        one_part(b'Content-Disposition: attachment; name="file"\r\n'),
        one_part(b"X.Foo: bar\r\n" + DISPOSITION),
        one_part(b"Content-Length: 1\r\n" + DISPOSITION),
    ],
    ids=["no last CRLF", "LF", "CRLF", "epilogue", "attachment", "header name", "length"],
)
async def test_unusual_forms_are_read(content: bytes) -> None:
    assert await read(content) == [("file", None, b"content")]


@pytest.mark.parametrize("header", [b"", b"Content-Type: text/plain\r\n"])
async def test_a_part_without_a_name_is_a_field_without_one(header: bytes) -> None:
    assert await read(one_part(header)) == [("", None, b"content")]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "value", [b"", b";", b"form data", b"form-data; name", b'form-data; name="a"; name="b"', b"form-data; name*=x"]
)
async def test_a_malformed_disposition_names_nothing_and_leaves_no_warning(value: bytes) -> None:
    assert await read(one_part(b"Content-Disposition: " + value + b"\r\n")) == [("", None, b"content")]


async def test_a_form_has_a_limited_number_of_parts() -> None:
    field = b"--b\r\n\r\n\r\n"
    assert len(await read(field * (MAX_PARTS - 1) + one_part(DISPOSITION))) == MAX_PARTS
    for packet in (7, 1 << 20):
        with pytest.raises(HttpError, match=f"more than {MAX_PARTS} parts") as error:
            await parts_of(field * MAX_PARTS + one_part(DISPOSITION), packet)
        assert (error.value.status, error.value.code) == (413, "BODY_TOO_LARGE")


async def test_others_have_their_turn_while_a_packet_of_many_parts_is_read() -> None:
    reading = asyncio.create_task(
        parts_of(b"--b\r\nX: x\r\n\r\n\r\n" * (MAX_PARTS - 1) + one_part(DISPOSITION), 1 << 20)
    )
    turns = 0
    while not reading.done():
        turns += 1
        await asyncio.sleep(0)
    assert turns > 1 + MAX_PARTS * len(b"--b\r\nX: x\r\n\r\n\r\n") // PIECE_BYTES


async def test_a_file_may_have_what_begins_like_a_boundary_but_not_often() -> None:
    alike = b"\r\n--bx"
    assert await read(one_part(DISPOSITION, alike * 10)) == [("file", None, alike * 10)]
    with pytest.raises(HttpError, match=f"more than {MAX_PARTS} parts"):
        await parts_of(one_part(DISPOSITION, alike * (MAX_PARTS + 1)), 1 << 20)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"nothing like it", BROKEN),
        (b"\r\n", INCOMPLETE),
        (one_part(DISPOSITION).removesuffix(END), INCOMPLETE),
        (one_part(DISPOSITION).removesuffix(b"--\r\n"), INCOMPLETE),
        (b"--b\r\nContent-Dis", INCOMPLETE),
        (one_part(b"X: " + b"x" * MAX_LINE_BYTES + b"\r\n" + DISPOSITION), BROKEN),
        (one_part(b"X: x\r\n" * MAX_LINES + DISPOSITION), BROKEN),
        (one_part(b"nonsense\r\n"), BROKEN),
        (one_part(b'Content-Disposition: form-data; name="fi\rle"\r\n'), BROKEN),
        (one_part(b'Content-Disposition: form-data; name="fi\nle"\r\n'), UNREADABLE),
        (one_part(b'Content-Disposition: form-data; name="fi\x00le"\r\n'), UNREADABLE),
        (one_part(DISPOSITION + b"Content-Type: Multipart/mixed; boundary=c\r\n"), "a part has parts itself"),
    ],
)
async def test_a_form_that_is_not_valid_says_why(content: bytes, reason: str) -> None:
    assert await refusal(content) == reason


async def test_a_file_of_exactly_the_limit_is_read_and_a_larger_one_refused() -> None:
    assert await read(one_part(DISPOSITION, b"x" * FILE_SIZE)) == [("file", None, b"x" * FILE_SIZE)]
    with pytest.raises(HttpError, match=f"larger than {FILE_SIZE} bytes") as error:
        await parts_of(one_part(DISPOSITION, b"x" * (FILE_SIZE + 1)), 10)
    assert error.value.status == 413


async def test_what_surrounds_the_parts_is_limited() -> None:
    with pytest.raises(HttpError) as error:
        await parts_of(one_part(DISPOSITION) + b"x" * (2 << 20), 1 << 16)
    assert error.value.status == 413


async def form_of(content_type: str, content: bytes) -> MultipartForm:
    payload: Any = Body(content, len(content))
    return await open_form(
        make_mocked_request("POST", "/", {hdrs.CONTENT_TYPE: content_type}, payload=payload), SETTINGS
    )


@pytest.mark.parametrize("boundary", ["====abc==", "a/b", "a:b", "a b", "ab'c(d)e+f_g,h-i.j/k:l=m?n"])
@pytest.mark.parametrize("parameter", ["{}", '"{}"', "{}; charset=utf-8"])
async def test_the_boundary_is_the_whole_value(boundary: str, parameter: str) -> None:
    content = one_part(DISPOSITION).replace(b"--b", f"--{boundary}".encode())
    form = await form_of(f"multipart/form-data; Boundary={parameter.format(boundary)}", content)
    part = await form.next_file()
    assert part is not None
    assert (part.name, [chunk async for chunk in form.chunks()]) == ("file", [b"content"])


@pytest.mark.parametrize(
    ("parameter", "reason"),
    [("", "its Content-Type names no boundary"), (f"; boundary={'b' * 257}", "its boundary is longer than 256 bytes")],
)
async def test_a_form_without_a_boundary_that_can_be_read_says_so(parameter: str, reason: str) -> None:
    with pytest.raises(HttpError, match=f"valid multipart/form-data: {reason}"):
        await form_of(f"multipart/form-data{parameter}", b"x")
