"""The files of the project that an agent may name: those in the folder in which the server was started."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mobiletest_cli.errors import INVALID_FILE, CliError

if TYPE_CHECKING:
    from mobiletest_cli.workspace import Workspace

MOST_PROBLEMS = 50


class ProjectFiles:
    """The files below `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = Path(os.path.realpath(folder))

    @property
    def base_branch(self) -> str | None:
        """The branch with which the project's gate compares; None leaves it to the server.

        Raises:
            CliError: mobiletest.yaml cannot be used.
        """
        from mobiletest_cli.configuration import read_project

        return read_project(self._folder).base_branch

    def find(self, path: str) -> Path:
        """The file or folder that a path names, from the folder of the project.

        Raises:
            CliError: it is not in this folder.
        """
        file = Path(os.path.realpath(self._folder / path))
        if not file.is_relative_to(self._folder):
            raise CliError(f"{path}: is outside of the project", INVALID_FILE, f"Name a path in {self._folder}")
        return file

    def check(self, paths: Sequence[Path]) -> Workspace:
        """The files that are read with these flows.

        Raises:
            CliError: one is outside of the project, or unusable.
        """
        from mobiletest_cli.workspace import find_files

        workspace = find_files(paths)
        for file in workspace.paths.values():
            self.find(str(file))
        return workspace

    def validate(self, path: str) -> list[dict[str, Any]]:
        """The problems of a flow or a folder of flows."""
        return self._problems(self.check([self.find(path)]))

    def validate_text(self, text: str) -> list[dict[str, Any]]:
        """The problems of a flow that is not in a file, as if it were in flow.yaml."""
        from mobiletest_cli.workspace import find_files

        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "flow.yaml"
            file.write_text(text, "utf-8")
            return self._problems(find_files([file.parent]))

    def _problems(self, workspace: Workspace) -> list[dict[str, Any]]:
        from mobiletest_cli.validation import validate

        return [asdict(problem) for problem in validate(workspace)[:MOST_PROBLEMS]]
