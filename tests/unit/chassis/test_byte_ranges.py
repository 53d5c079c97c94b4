"""Parts of files, as clients ask for them."""

import pytest
from mobiletest.types.v1.byte_range_pb2 import ByteRange

from services.chassis.byte_ranges import FilePart, find_part
from services.chassis.errors import InvalidArgument


@pytest.mark.parametrize(
    ("asked", "start", "end"),
    [
        (ByteRange(first=0, last=0), 0, 1),
        (ByteRange(first=2, last=5), 2, 6),
        (ByteRange(first=2, last=10**18), 2, 10),
        (ByteRange(first=9), 9, 10),
        (ByteRange(suffix_length=3), 7, 10),
        (ByteRange(suffix_length=99), 0, 10),
        (ByteRange(first=2, last=5, if_range='"tag"'), 2, 6),
    ],
)
def test_part_that_was_asked_for(asked: ByteRange, start: int, end: int) -> None:
    part = find_part(asked, size=10, etag="tag")
    assert part == FilePart(start, end, 10)
    assert dict(part.headers("tag")) == {
        "http-content-length": str(end - start),
        "http-content-range": f"bytes {start}-{end - 1}/10",
        "http-etag": '"tag"',
    }


@pytest.mark.parametrize("if_range", ['"other"', 'W/"tag"', "tag", "Sun, 22 Nov 2026 10:00:00 GMT"])
def test_whole_file_when_the_client_has_another_one(if_range: str) -> None:
    part = find_part(ByteRange(first=2, if_range=if_range), size=10, etag="tag")
    assert dict(part.headers("tag")) == {"http-content-length": "10", "http-etag": '"tag"'}


@pytest.mark.parametrize("asked", [ByteRange(first=10), ByteRange(first=5, last=4), ByteRange(suffix_length=0)])
def test_range_without_a_byte_of_the_file_is_refused_with_the_size(asked: ByteRange) -> None:
    with pytest.raises(InvalidArgument) as caught:
        find_part(asked, size=10, etag="tag")
    assert (caught.value.reason, caught.value.metadata) == ("RANGE_NOT_SATISFIABLE", {"size": "10"})
    with pytest.raises(InvalidArgument):
        find_part(ByteRange(first=0), size=0, etag="tag")
