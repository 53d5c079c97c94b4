"""The dashboard's files from npm packages: `make vendor` writes them, a unit test compares them with their table."""

import hashlib
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

DASHBOARD = Path(__file__).parents[1] / "services" / "gateway" / "dashboard"
TABLE = DASHBOARD / "vendor.toml"
FOLDER = DASHBOARD / "static" / "vendor"


class UnexpectedContent(Exception):
    """A package does not hold the file that the table describes."""


@dataclass(frozen=True, slots=True)
class VendoredFile:
    """A file of an npm package: its path there, its name here, and the SHA-256 of its content in hexadecimal."""

    source: str
    target: str
    sha256: str

    def verify(self, content: bytes, package: str) -> None:
        """Compare the content with the hash.

        Raises:
            UnexpectedContent: the hash differs.
        """
        digest = hashlib.sha256(content).hexdigest()
        if digest != self.sha256:
            raise UnexpectedContent(
                f"{self.source} of {package} has the SHA-256 {digest}, but vendor.toml says {self.sha256}: "
                "review the file before you change vendor.toml"
            )


@dataclass(frozen=True, slots=True)
class Package:
    """An npm package in one version, with its SPDX licence identifier."""

    name: str
    version: str
    licence: str
    files: tuple[VendoredFile, ...]

    @property
    def specifier(self) -> str:
        """As npm names it: htmx.org@4.0.1."""
        return f"{self.name}@{self.version}"


def read_table(text: str) -> list[Package]:
    """The packages of vendor.toml."""
    return [
        Package(
            name=entry["name"],
            version=entry["version"],
            licence=entry["licence"],
            files=tuple(VendoredFile(**file) for file in entry["file"]),
        )
        for entry in tomllib.loads(text)["package"]
    ]


def fetch_package(specifier: str, folder: Path) -> Path:
    """Fetch the archive of a package into an empty folder by npm; return its path."""
    subprocess.run(["npm", "pack", "--silent", specifier], cwd=folder, check=True, stdout=subprocess.DEVNULL)  # noqa: S603, S607
    return next(folder.glob("*.tgz"))


def read_files(package: Package, archive: Path) -> Iterator[tuple[str, bytes]]:
    """Target name and content of each file of the package.

    Raises:
        UnexpectedContent: one is missing or differs.
    """
    with tarfile.open(archive) as members:
        for file in package.files:
            try:
                member = members.extractfile(f"package/{file.source}")
            except KeyError:
                member = None
            if member is None:
                raise UnexpectedContent(f"{package.specifier} has no file {file.source}: correct vendor.toml")
            content = member.read()
            file.verify(content, package.specifier)
            yield file.target, content


def write_files(
    packages: list[Package], folder: Path, fetch: Callable[[str, Path], Path] = fetch_package
) -> dict[str, int]:
    """Replace the content of the folder; sizes in bytes by file name. If a package differs, nothing changes."""
    contents: dict[str, bytes] = {}
    for package in packages:
        with tempfile.TemporaryDirectory() as scratch:
            contents.update(read_files(package, fetch(package.specifier, Path(scratch))))
    folder.mkdir(parents=True, exist_ok=True)
    for stale in folder.iterdir():
        stale.unlink()
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return {name: len(content) for name, content in contents.items()}


def main() -> None:
    """Fetch all packages of the table and write their files."""
    try:
        sizes = write_files(read_table(TABLE.read_text()), FOLDER)
    except UnexpectedContent as error:
        sys.exit(str(error))
    for name, size in sizes.items():
        print(f"{size:8} {name}")


if __name__ == "__main__":
    main()
