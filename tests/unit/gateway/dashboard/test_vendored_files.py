"""The dashboard's files from npm packages are those of vendor.toml, with their licences."""

import hashlib

import pytest

from deploy.vendored_files import FOLDER, TABLE, Package, VendoredFile, read_table

PACKAGES = read_table(TABLE.read_text())
FILES = [file for package in PACKAGES for file in package.files]


def test_the_folder_holds_the_files_of_the_table_only() -> None:
    assert sorted(path.name for path in FOLDER.iterdir()) == sorted(file.target for file in FILES)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.target)
def test_every_file_has_its_hash(file: VendoredFile) -> None:
    assert hashlib.sha256((FOLDER / file.target).read_bytes()).hexdigest() == file.sha256


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_every_package_comes_with_its_licence(package: Package) -> None:
    assert package.licence in {"0BSD", "MIT", "Apache-2.0"}
    texts = [(FOLDER / file.target).read_text() for file in package.files if file.target.endswith(".LICENSE.txt")]
    assert len(texts) == 1
    assert "Permission" in texts[0]
