"""Uploads an app file as a build, unless the server has it."""

from __future__ import annotations

import hashlib
import io
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from mobiletest_cli.api import LONG, Api, judging_a_file
from mobiletest_cli.errors import INVALID_FILE, CliError, RequestRefused, is_transient
from mobiletest_cli.output import Output, size

if TYPE_CHECKING:
    from mobiletest_automation.app_files.reader import AppFile
    from mobiletest_cli.api_types import App, Build, PartUpload

_CHUNK = 1 << 20
# Larger files are sent in parts, so that a broken connection costs one part.
LARGE_BYTES = 16 * 1024 * 1024


def sha256(file: Path) -> str:
    """The SHA-256 of a file in hexadecimal."""
    digest = hashlib.sha256()
    with file.open("rb") as content:
        while chunk := content.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


class BuildUpload:
    """Uploads files as builds of apps. `revision` distinguishes builds of one version: a commit, if one is known."""

    def __init__(self, api: Api, output: Output, revision: str | None = None) -> None:
        self._api = api
        self._output = output
        self._revision = revision

    def ensure(self, app: App, file: Path, read: AppFile, version: str | None = None) -> Build:
        """The build of the app with this content (and version, if one is given), uploaded if there is none.

        `read` is what `read_file` says of it. If the app has another build of the version that stands in the file, this
        one becomes "<version>-<revision>".

        Raises:
            CliError: no version is known, or the app has another build of it.
        """
        digest = sha256(file)
        for build in self._api.pages(f"apps/{app['id']}/builds", limit=1, sha256=digest, version=version):
            self._output.say(f"Build {build['version']} of {app['name']} is on the server.")
            return cast("Build", build)
        if version is None and read.version is None:
            raise CliError(f"{file}: contains no version", INVALID_FILE, "Give one: --build VERSION")
        try:
            return self._upload(app, file, version, digest)
        except RequestRefused as refused:
            if refused.code == "VERSION_EXISTS" and version is not None:
                refused.exit_code = INVALID_FILE
                refused.hint = "It has another content; give another --build"
            raise

    def _upload(self, app: App, file: Path, version: str | None, digest: str) -> Build:
        fields = {"version": version} if version else {"version_suffix": (self._revision or digest)[:7]}
        if not self._output.live:
            self._output.say(f"Uploading {file.name} ({size(file.stat().st_size)}) ...")
        upload = self._start_parts(app, file, digest) if file.stat().st_size > LARGE_BYTES else None
        progress = self._output.progress_bar(f"Uploading {file.name}", file.stat().st_size)
        with file.open("rb") as content, progress as advance:
            if upload is not None:
                with self._telling_what_stays():
                    build = self._send_parts(upload, content, advance, {**fields, "file_name": file.name})
            else:
                build = self._send_form(
                    f"apps/{app['id']}/builds", fields, file.name, _CountingReader(content, advance)
                )
        self._output.say(
            f"Uploaded {file.name} ({size(file.stat().st_size)}) as build {build['version']} of {app['name']}."
        )
        return build

    def _send_form(self, path: str, fields: Mapping[str, str], name: str, content: _CountingReader) -> Build:
        parts = {"file": (name, cast("BinaryIO", content), "application/octet-stream")}
        key = {"Idempotency-Key": str(uuid.uuid4())}
        with judging_a_file():
            answer = self._api.call("POST", path, data=fields, files=parts, headers=key, timeout=LONG, slow=True)
            return cast("Build", self._api.document(answer))

    def _start_parts(self, app: App, file: Path, digest: str) -> PartUpload | None:
        """The upload of the file in parts, perhaps one that was broken off; None if the server has no such uploads."""
        body = {"sha256": digest, "size_bytes": file.stat().st_size}
        try:
            with judging_a_file():
                upload: PartUpload = self._api.document(self._api.call("POST", f"apps/{app['id']}/uploads", json=body))
        except RequestRefused as refused:
            if refused.code != "PATH_UNKNOWN":
                raise
            return None
        if stored := upload["part_count"] - len(upload["missing_parts"]):
            self._output.say(
                f"Resuming the upload of {file.name}: the server has {stored} of {upload['part_count']} parts."
            )
        return upload

    @contextmanager
    def _telling_what_stays(self) -> Iterator[None]:
        """Say that nothing is lost if the upload is broken off, but not if the server refuses it."""
        try:
            yield
        except (CliError, KeyboardInterrupt) as ended:
            if not isinstance(ended, RequestRefused) or is_transient(ended):
                self._output.say("The server keeps the uploaded parts for a day: repeat the command to resume.")
            raise

    def _send_parts(
        self, upload: PartUpload, content: BinaryIO, advance: Callable[[int], None], fields: Mapping[str, str]
    ) -> Build:
        stored = upload["size_bytes"] - sum(_part_size(upload, number) for number in upload["missing_parts"])
        for number in upload["missing_parts"]:
            advance(stored)
            content.seek((number - 1) * upload["part_bytes"])
            part = content.read(_part_size(upload, number))
            try:
                self._put_part(f"uploads/{upload['id']}/parts/{number}", part)
            except RequestRefused as refused:
                if refused.status != HTTPStatus.NOT_FOUND:
                    raise
                break  # another command has sent the same file meanwhile: it has a build
            stored += len(part)
        advance(stored)
        path = f"uploads/{upload['id']}/build"
        with judging_a_file():
            return cast("Build", self._api.document(self._api.call("POST", path, json=fields, timeout=LONG, slow=True)))

    def _put_part(self, path: str, content: bytes) -> None:
        digest = {"sha256": hashlib.sha256(content).hexdigest()}
        headers = {"Content-Type": "application/octet-stream"}
        self._api.call("PUT", path, params=digest, content=content, headers=headers, timeout=LONG, slow=True)


def _part_size(upload: PartUpload, number: int) -> int:
    return min(upload["part_bytes"], upload["size_bytes"] - (number - 1) * upload["part_bytes"])


class _CountingReader(io.BufferedIOBase):
    """A file that says how many of its bytes have been read."""

    def __init__(self, content: BinaryIO, advance: Callable[[int], None]) -> None:
        self._content = content
        self._advance = advance

    def read(self, count: int | None = -1, /) -> bytes:
        chunk = self._content.read(-1 if count is None else count)
        self._advance(self._content.tell())
        return chunk

    def fileno(self) -> int:
        return self._content.fileno()

    def seek(self, offset: int, whence: int = 0, /) -> int:
        return self._content.seek(offset, whence)

    def tell(self) -> int:
        return self._content.tell()
