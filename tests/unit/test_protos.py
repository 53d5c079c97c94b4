"""The protos compile for others: with nothing but their folder, into packages with a name in each language."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import google.api
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from protovalidate._gen.buf.validate import validate_pb

from services.gateway.openapi.document import descriptors
from tests.documents import ROOT, block

PROTOS = ROOT / "protos"
VENDORED = PROTOS / "vendor"
FILES = {file.name: file for file in FileDescriptorSet.FromString(descriptors()).file}
OURS = {name: file for name, file in FILES.items() if name.startswith("mobiletest/")}


def test_the_folder_of_the_protos_alone_compiles_without_warnings(tmp_path: Path) -> None:
    """With the command of the page."""
    shutil.copytree(PROTOS, tmp_path / "protos")
    script = f'protoc() {{ {sys.executable} -m grpc_tools.protoc "$@"; }}\n{block("docs/grpc-callers.md", "protoc -I")}'
    done = subprocess.run(["bash", "-euc", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    modules = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*_pb2.py")}
    assert modules == {name.replace(".proto", "_pb2.py") for name in (*OURS, "buf/validate/validate.proto")}


def test_only_what_is_imported_is_vendored() -> None:
    vendored = {str(path.relative_to(VENDORED)) for path in VENDORED.rglob("*.proto")}
    assert vendored == {name for name in FILES if name not in OURS and not name.startswith("google/protobuf/")}


def test_vendored_protos_are_those_of_the_installed_packages() -> None:
    """Their options for languages may differ: protovalidate's package has its modules from another generator."""
    installed = Path(next(iter(google.api.__path__))).parents[1]
    for path in VENDORED.glob("google/**/*.proto"):
        assert path.read_text() == (installed / path.relative_to(VENDORED)).read_text(), path
    vendored, used = FileDescriptorProto(), FileDescriptorProto.FromString(validate_pb.desc().proto.to_binary())
    vendored.CopyFrom(FILES["buf/validate/validate.proto"])
    for file in (vendored, used):
        file.ClearField("options")
        file.ClearField("source_code_info")
    assert vendored == used


def test_every_proto_names_its_packages() -> None:
    for name, file in OURS.items():
        match = re.fullmatch(r"mobiletest\.(\w+)\.(v\d+)", file.package)
        assert match, name
        part, version = match.groups()
        options = file.options
        assert options.go_package == f"mobiletest/{part}/{version};{part}{version}", name
        assert (options.java_package, options.java_multiple_files) == (file.package, True), name
        assert options.csharp_namespace == f"Mobiletest.{part.capitalize()}.{version.upper()}", name
