"""Prints the part of requirements.lock that the servers need (and the dependency groups that are named).

    python deploy/images/server_lock.py [GROUP ...] >server.lock
    pip install --require-hashes --no-deps --requirement server.lock

The lock pins every group for every platform. A dry run of pip, with the versions of the lock as constraints, determines
which distributions the servers need; their entries are printed with their hashes. Standard library only, because this
runs before anything is installed.
"""

import json
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path.cwd()
Lock = dict[str, str]


class NotLocked(Exception):
    """A required distribution is not in the lock, which is older than pyproject.toml: run `make lock`."""


def direct_requirements(pyproject: str, groups: Iterable[str]) -> list[str]:
    """The requirements of the project, then those of the groups."""
    document = tomllib.loads(pyproject)
    chosen = [document["project"]["dependencies"], *(document["dependency-groups"][group] for group in groups)]
    return [requirement for requirements in chosen for requirement in requirements]


def entries(lock: str) -> Lock:
    """Name -> entry: the line with the version and the lines with its hashes."""
    blocks = re.findall(r"^\S.*\n(?:[ \t]+.*\n?)*", lock, flags=re.MULTILINE | re.ASCII)
    return {normal(re.split(r"[=\[ ]", entry, maxsplit=1)[0]): entry for entry in blocks if not entry.startswith("#")}


def constraints(lock: Lock) -> Iterator[str]:
    """The lock without hashes, which pip does not accept in constraints."""
    for entry in lock.values():
        yield entry.splitlines()[0].removesuffix("\\").strip()


def needed(plan: str) -> list[str]:
    """The sorted names in the report of a dry run."""
    return sorted(normal(item["metadata"]["name"]) for item in json.loads(plan)["install"])


def normal(name: str) -> str:
    """The name normalised as in PEP 503."""
    return re.sub(r"[-_.]+", "-", name).lower()


def part_of(lock: Lock, names: Iterable[str]) -> str:
    """The entries of these distributions.

    Raises:
        NotLocked: one is missing.
    """
    missing = [name for name in names if name not in lock]
    if missing:
        raise NotLocked(f"not in requirements.lock: {', '.join(missing)}")
    return "".join(lock[name] for name in names)


def dry_run(requirements: Iterable[str], constrained: Iterable[str]) -> str:
    """pip's report on what it would install, from wheels, into an empty environment on this platform."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "wanted").write_text("\n".join(requirements))
        (folder / "constraints").write_text("\n".join(constrained))
        arguments = ["--dry-run", "--quiet", "--ignore-installed", "--only-binary=:all:", "--report=report"]
        files = ["--requirement=wanted", "--constraint=constraints"]
        subprocess.run([sys.executable, "-m", "pip", "install", *arguments, *files], cwd=folder, check=True)  # noqa: S603
        return (folder / "report").read_text()


def main(groups: list[str]) -> None:
    """Print the entries."""
    lock = entries((ROOT / "requirements.lock").read_text())
    wanted = direct_requirements((ROOT / "pyproject.toml").read_text(), groups)
    print(part_of(lock, needed(dry_run(wanted, constraints(lock)))), end="")


if __name__ == "__main__":
    main(sys.argv[1:])
