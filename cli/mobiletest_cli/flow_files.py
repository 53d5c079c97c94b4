"""Tests of the server as flow files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from mobiletest_cli.errors import INVALID_FILE, CliError
from mobiletest_cli.file_replacement import replacing
from mobiletest_cli.folder_search import FLOW_FOLDER, find_repository, is_hidden
from mobiletest_cli.names import file_name, folded

if TYPE_CHECKING:
    from mobiletest_cli.api_types import Test

_HEADER = {"appId", "url", "name", "tags", "env", "onFlowStart", "onFlowComplete", "jsEngine", "properties"}


def write_flows(folder: Path, tests: Iterable[Test], *, force: bool = False) -> list[Path]:
    """Write a file for each test: at the path that it was imported from, or one made of its name.

    The files that were new or different.

    Raises:
        CliError: one differs and `force` is not set, or is behind a link that leads elsewhere (then nothing is
            written), or cannot be written.
    """
    contents = _contents(folder, tests)
    _check_links(folder, contents)
    changed = [path for path, text in contents.items() if not path.is_file() or path.read_bytes() != text]
    existing = [str(path) for path in changed if path.exists()]
    if existing and not force:
        more = f" and {len(existing) - 1} more" if len(existing) > 1 else ""
        raise CliError(f"{existing[0]}{more}: differs from the server", INVALID_FILE, "Overwrite with --force")
    twins: dict[str, Path] = {}
    for path in changed:
        twin = twins.setdefault(folded(path), path)
        if twin != path and path.exists() and path.samefile(twin):
            message = f"{path}: is the same file as {twin} on this system"
            raise CliError(message, INVALID_FILE, "Rename one of the flows, and push it")
        with replacing(path) as file:
            file.write(contents[path])
    return changed


def _check_links(folder: Path, paths: Iterable[Path]) -> None:
    """CliError: a link in the folder leads out of its git repository, or of the folder without one, or to what is
    hidden: links may come from a pull request, and what is written from the server.
    """
    root = Path(os.path.realpath(folder))
    limit = find_repository(root) or root
    for path in paths:
        target = Path(os.path.realpath(path))
        is_near = target.is_relative_to(limit) and not is_hidden(target.relative_to(limit).parts)
        if not (target.is_relative_to(root) or is_near):
            raise CliError(f"{path}: a link leads to {target}, which is not written", INVALID_FILE, "Remove the link")


def _contents(folder: Path, tests: Iterable[Test]) -> dict[Path, bytes]:
    contents: dict[Path, bytes] = {}
    for test in tests:
        path = folder / _relative(test)
        if path in contents:
            path = path.with_name(file_name(f"{path.stem}-{test['id'][:8]}{path.suffix}", path.name))
        contents[path] = flow_text(test).encode()
    return contents


def _relative(test: Test) -> PurePosixPath:
    """The path of the test's file, if every part of it is a plain name, so that it stays inside of the folder, is not
    hidden, and is the same on every system; otherwise one made of the test's name.
    """
    parts = (test.get("source_path") or "").split("/")
    if all(part == FLOW_FOLDER or file_name(part, "") == part != "" for part in parts):
        return PurePosixPath(*parts)
    name = re.sub(r"[^\w-]+", "-", test["name"].lower(), flags=re.UNICODE).strip("-") or test["id"]
    return PurePosixPath(file_name(f"{name}.yaml", "flow.yaml"))


def flow_text(test: Test) -> str:
    """The YAML of a flow: its header with the name and the tags of the test, and its steps."""
    import yaml

    steps: Sequence[Any] = test["steps"] or ()
    header: dict[str, Any] = {}
    if steps and isinstance(steps[0], dict) and set(steps[0]) <= _HEADER:
        header, steps = dict(steps[0]), steps[1:]
    header = {**header, "name": test["name"], **({"tags": test["tags"]} if test["tags"] else {})}
    options: dict[str, Any] = {"sort_keys": False, "allow_unicode": True, "width": 120}
    return f"{yaml.safe_dump(header, **options)}---\n{yaml.safe_dump(list(steps), **options)}"
