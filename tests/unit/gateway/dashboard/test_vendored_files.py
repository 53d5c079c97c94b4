"""The dashboard's files from npm packages are those of vendor.toml, with their licences."""

import hashlib
import io
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from deploy.vendored_files import FOLDER, TABLE, Package, UnexpectedContent, VendoredFile, read_table, write_files

PACKAGES = read_table(TABLE.read_text())
FILES = [file for package in PACKAGES for file in package.files]


def test_the_folder_holds_the_files_of_the_table_only() -> None:
    assert sorted(path.name for path in FOLDER.iterdir()) == sorted(file.target for file in FILES)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.target)
def test_every_file_has_its_hash(file: VendoredFile) -> None:
    assert hashlib.sha256((FOLDER / file.target).read_bytes()).hexdigest() == file.sha256


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_every_package_comes_with_its_licence(package: Package) -> None:
    names = [file.target for file in package.files if file.target.endswith(".LICENSE.txt")]
    phrases = {"0BSD": "Permission to use", "MIT": "Permission is", "Apache-2.0": "Apache License"}
    assert phrases[package.licence] in "".join((FOLDER / name).read_text() for name in names)


def package_of(**contents: bytes) -> Package:
    """A package whose files have these contents; sources and targets are the names."""
    files = (VendoredFile(name, name, hashlib.sha256(content).hexdigest()) for name, content in contents.items())
    return Package("sample", "1.2.3", "MIT", tuple(files))


def archive_of(**contents: bytes) -> Callable[[str, Path], Path]:
    """Stands for npm: every package has these files."""

    def fetch(specifier: str, folder: Path) -> Path:
        path = folder / f"{specifier}.tgz"
        with tarfile.open(path, "w:gz") as archive:
            for name, content in contents.items():
                member = tarfile.TarInfo(f"package/{name}")
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
        return path

    return fetch


def test_files_replace_what_was_in_the_folder(tmp_path: Path) -> None:
    (tmp_path / "old").write_bytes(b"old")
    sizes = write_files([package_of(new=b"12345")], tmp_path, archive_of(new=b"12345", other=b"not in the table"))
    assert sizes == {"new": 5}
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"new": b"12345"}


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        ({"new": b"changed"}, r"new of sample@1\.2\.3 has the SHA-256 \w{64}, but vendor\.toml says \w{64}: review"),
        ({}, r"sample@1\.2\.3 has no file new: correct vendor\.toml"),
    ],
    ids=["changed", "missing"],
)
def test_another_package_leaves_the_folder_as_it_was(tmp_path: Path, contents: dict[str, bytes], message: str) -> None:
    (tmp_path / "old").write_bytes(b"old")
    with pytest.raises(UnexpectedContent, match=message):
        write_files([package_of(new=b"12345")], tmp_path, archive_of(**contents))
    assert [path.name for path in tmp_path.iterdir()] == ["old"]
