"""What to run: the app files, and the tests of a folder. Nothing here imports what connects to a server."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from mobiletest_cli.errors import INVALID_FILE, NOT_FOUND, CliError

if TYPE_CHECKING:
    from mobiletest_automation.app_files.reader import AppFile
    from mobiletest_automation.flows.environment import VariableValue
    from mobiletest_cli.api_types import ImportedTest, ImportTestsResult

_ENDINGS = {".apk": "Android", ".ipa": "iOS"}
_APP_ENDINGS = (*_ENDINGS, ".aab", ".apkm", ".apks", ".tar.gz", ".tgz", ".xapk", ".zip")


@dataclass(frozen=True)
class Selection:
    """What to run, as the command line and the project say it."""

    app_files: Sequence[Path] = ()
    apps: Sequence[str] = ()
    version: str | None = None
    platform: str | None = None
    paths: Sequence[Path] = ()
    workspace: str | None = None
    workflow: str | None = None
    tests: Sequence[str] = ()
    tags: Sequence[str] = ()
    excluded_tags: Sequence[str] = ()
    name: str | None = None
    env: Mapping[str, VariableValue] = field(default_factory=dict)
    # The variables of the environment that flows may read; those of `env` win.
    shell: Mapping[str, str] = field(default_factory=dict)
    retries: int | None = None
    shard: tuple[int, int] | None = None
    cancel_previous: bool = False
    revision: str | None = None


def is_app_file(path: Path) -> bool:
    """Whether the path is one of an app, not of flows, by its ending; a folder if it is an app that Xcode built."""
    if os.path.isdir(path):
        return path.suffix == ".app" and (path / "Info.plist").is_file()
    return path.name.lower().endswith(_APP_ENDINGS)


def read_file(file: Path) -> AppFile:
    """What the app file is, by its content, and by its ending if the content does not say.

    Raises:
        CliError: it cannot be read, or no device can install it.
    """
    from mobiletest_automation.app_files import archive_limits, reader

    _check_readable(file)
    try:
        app_file = reader.read_app_file(file) if reader.is_known_kind(file) else reader.AppFile()
    except reader.NotInstallable as problem:
        raise CliError(f"{file}: this is {problem}", INVALID_FILE) from None
    except archive_limits.HostileArchive as problem:
        raise CliError(f"{file}: not a plausible app file: {problem}", INVALID_FILE) from None
    except OSError as error:
        raise CliError(f"{file}: cannot be read: {error.strerror}", INVALID_FILE) from None
    except reader.UnreadableAppFile:
        app_file = reader.AppFile()  # the server says what it makes of it
    return replace(app_file, platform=app_file.platform or _ENDINGS.get(file.suffix.lower()))


def _check_readable(file: Path) -> None:
    if file.is_dir():
        hint = "Zip it first: ditto -c -k --keepParent App.app App.zip" if file.suffix == ".app" else None
        raise CliError(f"{file}: is a folder, not an app file", INVALID_FILE, hint)
    try:
        with file.open("rb") as content:
            empty = not content.read(1)
    except OSError as error:
        raise CliError(f"{file}: cannot be read: {error.strerror}", INVALID_FILE) from None
    if empty:
        raise CliError(f"{file}: is empty", INVALID_FILE)


def select(
    answer: ImportTestsResult,
    selected: frozenset[str],
    *,
    names: Sequence[str] = (),
    tags: Sequence[str] = (),
    excluded_tags: Sequence[str] = (),
) -> list[ImportedTest]:
    """The imported tests to start, in the order of the folder: of the selected flows (all if none is), names and tags.

    Raises:
        CliError: there is none.
    """
    every = [*answer["created"], *answer["changed"], *answer["unchanged"]]
    order = {path: position for position, path in enumerate(answer["flows_order"])}
    every.sort(key=lambda test: (order.get(test["path"], len(order)), test["path"]))
    chosen = [
        test
        for test in every
        if (not selected or test["path"] in selected)
        and (not names or test["name"] in names or test["path"] in names or test["test_id"] in names)
        and (not tags or set(tags) & set(test["tags"]))
        and not set(excluded_tags) & set(test["tags"])
    ]
    missing = selected - {test["path"] for test in every}
    if missing:
        hint = "config.yaml, tags or its content exclude it: mobiletest tests validate"
        raise CliError(f"{', '.join(sorted(missing))}: is not a flow of the folder", INVALID_FILE, hint)
    if not chosen:
        what = f"has a name or tag of: {', '.join([*names, *tags])}" if names or tags else "is in the folder"
        without = f" without the tags: {', '.join(excluded_tags)}" if excluded_tags else ""
        raise CliError(f"no flow {what}{without}", NOT_FOUND if names or tags or excluded_tags else INVALID_FILE)
    return chosen
