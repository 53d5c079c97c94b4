"""What is said of files that are no app files."""

from pathlib import Path

import pytest

from mobiletest_automation.app_files.file_kind import describe_file

KINDS: list[tuple[bytes, str]] = [
    (b"", "empty"),
    (b"\n<!DOCTYPE html>\n<title>Sign in</title>", "an HTML page"),
    (b"<!-- proxy -->\n<HTML>", "an HTML page"),
    ("<html>".encode("utf-16"), "an HTML page"),
    (b'\xef\xbb\xbf<?xml version="1.0"?><plist/>', "an XML document"),
    (b'{"message": "Not Found"}', "a JSON document"),
    (b"not found\n", "a text"),
    ("ü".encode() * 300 + b"\xc3", "a text"),
    (b"x" + "ü".encode() * 300, "a text"),
    ("Bericht über die App".encode("latin-1"), "not an archive"),
    (b"\x89PNG\r\n\x1a\n\x00", "a picture"),
    (b"\x7fELF\x02\x01", "a program or library of Linux or Android (ELF)"),
    (b"abc\x00def", "not an archive"),
    (b"\x80" * 600, "not an archive"),
]


@pytest.mark.parametrize(("content", "kind"), KINDS, ids=[f"{n} {kind}" for n, (_, kind) in enumerate(KINDS)])
def test_the_beginning_of_a_file_says_what_it_is(tmp_path: Path, content: bytes, kind: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    assert describe_file(path) == kind
