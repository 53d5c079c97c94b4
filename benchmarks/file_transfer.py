"""Sends and receives large bodies over blocking sockets, which costs little next to the server."""

import hashlib
import json
import os
import socket
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

BLOCK_BYTES = 1024 * 1024
_BOUNDARY = "mobiletest-benchmark"


class Content:
    """So many bytes that no other content has and that do not compress: random blocks, the first one used once."""

    def __init__(self, size: int) -> None:
        self.name = uuid4().hex
        self.size = size
        self._first = os.urandom(BLOCK_BYTES)
        self._others = os.urandom(8 * BLOCK_BYTES)

    def blocks(self) -> Iterator[memoryview]:
        yield memoryview(self._first)
        left = self.size - BLOCK_BYTES
        while left > 0:
            yield memoryview(self._others)[:left]
            left -= len(self._others)

    def sha256(self) -> str:
        digest = hashlib.sha256()
        for block in self.blocks():
            digest.update(block)
        return digest.hexdigest()


def put(url: str, content: Content) -> Any:
    """Send the content as it is; the JSON of the answer."""
    return _send("PUT", url, "", content, b"", b"")


def post_form(url: str, api_key: str, fields: Mapping[str, str], content: Content) -> Any:
    """Send the content as the last field of a form, named file; the JSON of the answer."""
    part = f"--{_BOUNDARY}\r\nContent-Disposition: form-data; name="
    before = "".join(f'{part}"{name}"\r\n\r\n{value}\r\n' for name, value in fields.items())
    before += f'{part}"file"; filename="app.bin"\r\nContent-Type: application/octet-stream\r\n\r\n'
    headers = f"Authorization: Bearer {api_key}\r\nContent-Type: multipart/form-data; boundary={_BOUNDARY}\r\n"
    return _send("POST", url, headers, content, before.encode(), f"\r\n--{_BOUNDARY}--\r\n".encode())


def _send(method: str, url: str, headers: str, content: Content, before: bytes, after: bytes) -> Any:
    length = len(before) + content.size + len(after)
    with _open(method, url, f"{headers}Content-Length: {length}\r\n") as connection:
        connection.sendall(before)
        for block in content.blocks():
            connection.sendall(block)
        connection.sendall(after)
        answer = b"".join(iter(lambda: connection.recv(BLOCK_BYTES), b""))
    return json.loads(_body(answer))


def get(url: str, api_key: str = "", *, size: int, hashed: bool = False) -> str:
    """Receive a body; its SHA-256 if `hashed`.

    Raises:
        ConnectionError: unless it has `size` bytes.
    """
    digest, buffer = hashlib.sha256(), memoryview(bytearray(BLOCK_BYTES))
    with _open("GET", url, f"Authorization: Bearer {api_key}\r\n") as connection:
        answer = connection.recv(BLOCK_BYTES)
        while b"\r\n\r\n" not in answer:
            answer += connection.recv(BLOCK_BYTES)
        body = _body(answer)
        received = len(body)
        digest.update(body)
        while count := connection.recv_into(buffer):
            received += count
            if hashed:
                digest.update(buffer[:count])
    if received != size:
        raise ConnectionError(f"{received} of {size} bytes arrived")
    return digest.hexdigest()


def _open(method: str, url: str, headers: str) -> socket.socket:
    parts = urlsplit(url)
    connection = socket.create_connection((parts.hostname, parts.port or 80))
    head = f"{method} {parts.path} HTTP/1.1\r\nHost: {parts.netloc}\r\nConnection: close\r\n{headers}\r\n"
    connection.sendall(head.encode())
    return connection


def _body(answer: bytes) -> bytes:
    """ConnectionError for any status but 2xx."""
    head, _, body = answer.partition(b"\r\n\r\n")
    if head[9:10] != b"2":
        raise ConnectionError(answer.decode(errors="replace"))
    return body
