"""Says what a file is that is no app file, by its first bytes, for whoever sent the wrong one."""

import re
from collections.abc import Sequence
from pathlib import Path

# More than the beginnings below, and than the comment or the line breaks with which pages begin.
_START_BYTES = 512
_MAGIC: Sequence[tuple[bytes, str]] = (
    (b"\x89PNG\r\n\x1a\n", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
    (b"GIF8", "a picture"),
    (b"%PDF-", "a PDF document"),
    (b"\x7fELF", "a program or library of Linux or Android (ELF)"),
    (b"\xcf\xfa\xed\xfe", "a program or library of Apple (Mach-O)"),
    (b"\xca\xfe\xba\xbe", "a program of Apple (Mach-O) or a class of Java"),
    (b"dex\n", "code of Android (.dex)"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ\x00", "an xz archive"),
    (b"\x28\xb5\x2f\xfd", "a Zstandard archive"),
    (b"bplist00", "a binary property list"),
)
_MARKUP: Sequence[tuple[re.Pattern[str], str]] = (
    (re.compile(r"\s*(<!--.*?-->\s*)?<(!doctype\s+html|html|head|body)\b", re.I | re.S | re.A), "an HTML page"),
    (re.compile(r"\s*<(\?xml|[a-z])", re.I | re.A), "an XML document"),
    (re.compile(r"\s*[{\[]\s*[\"{}\[\]]", re.A), "a JSON document"),
)
# Controls that texts do not have: all but tab, line breaks, form feed and escape.
_NO_TEXT = re.compile("[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f\x7f]")


def describe_file(path: Path) -> str:
    """What the file at the path looks like: "empty", "an HTML page", "a text", "not an archive" if its beginning
    says nothing.

    Raises:
        OSError: the system cannot read the file.
    """
    with path.open("rb") as file:
        return _describe(file.read(_START_BYTES))


def _describe(start: bytes) -> str:
    if not start:
        return "empty"
    if named := next((name for magic, name in _MAGIC if start.startswith(magic)), None):
        return named
    text = _decode(start)
    if text is None or _NO_TEXT.search(text):
        return "not an archive"
    return next((name for pattern, name in _MARKUP if pattern.match(text)), "a text")


def _decode(start: bytes) -> str | None:
    """The text, whose last character may be cut; None if the bytes are not UTF-8, or UTF-16 with a mark."""
    encoding = "utf-16" if start[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    for cut in range(4):
        try:
            return start[: len(start) - cut].decode(encoding)
        except UnicodeDecodeError:
            continue
    return None
