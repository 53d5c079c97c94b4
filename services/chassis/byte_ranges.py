"""Parts of stored files: what a download was asked for, what it sends, and the metadata that says so."""

from dataclasses import dataclass

from mobiletest.types.v1.byte_range_pb2 import ByteRange

from services.chassis.errors import InvalidArgument

RANGE_NOT_SATISFIABLE = "RANGE_NOT_SATISFIABLE"


@dataclass(frozen=True, slots=True)
class FilePart:
    """The bytes from `start` up to, but not including, `end` of a file of `size` bytes.

    `is_range` says that they were asked for, even if they are all of them.
    """

    start: int
    end: int
    size: int
    is_range: bool = True

    def headers(self, etag: str) -> tuple[tuple[str, str], ...]:
        """The initial metadata of the download, from which the gateway makes HTTP headers; `etag` without quotes."""
        headers = (("http-content-length", str(self.end - self.start)), ("http-etag", f'"{etag}"'))
        if not self.is_range:
            return headers
        return (*headers, ("http-content-range", f"bytes {self.start}-{self.end - 1}/{self.size}"))


def find_part(asked: ByteRange | None, *, size: int, etag: str) -> FilePart:
    """The part of a file that was asked for, None: the whole.

    Raises:
        InvalidArgument: no byte of the file is in it.
    """
    if asked is None or (asked.HasField("if_range") and asked.if_range != f'"{etag}"'):
        return FilePart(0, size, size, is_range=False)
    start, end = _bounds(asked, size)
    if start >= end:
        message = f"The file has {size} bytes: the range contains none of them"
        raise InvalidArgument(message, reason=RANGE_NOT_SATISFIABLE, metadata={"size": str(size)})
    return FilePart(start, end, size)


def _bounds(asked: ByteRange, size: int) -> tuple[int, int]:
    if asked.HasField("suffix_length"):
        return max(0, size - asked.suffix_length), size
    return asked.first, min(asked.last + 1, size) if asked.HasField("last") else size
