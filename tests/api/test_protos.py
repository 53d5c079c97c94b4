"""Go code that is generated of a copy of protos/ alone, as docs/grpc-callers.md says, has all services."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorSet

from services.gateway.openapi.document import descriptors
from tests.conftest import skip_or_fail
from tests.documents import ROOT, block

PROGRAM = Path(__file__).with_name("clients") / "grpc"
TOOLS = ROOT / "build" / "tools"
PLUGINS = TOOLS / "clients"


def generate_by_buf(folder: Path) -> tuple[str, str]:
    """As the page's template says; the names of module and packages."""
    (folder / "buf.gen.yaml").write_text(block("docs/grpc-callers.md", "version: v2"))
    run(folder, TOOLS / "node_modules" / ".bin" / "buf", "generate")
    return "example.com/ci", "example.com/ci/mobiletest"


def generate_by_protoc(folder: Path) -> tuple[str, str]:
    """With the packages that the protos name."""
    files = [path.relative_to(folder / "protos") for path in folder.glob("protos/mobiletest/**/*.proto")]
    outputs = [f"--{plugin}_out=module=mobiletest:." for plugin in ("go", "go-grpc")]
    run(folder, sys.executable, "-m", "grpc_tools.protoc", "-Iprotos", "-Iprotos/vendor", *outputs, *files)
    return "mobiletest", "mobiletest"


def run(folder: Path, *command: str | Path) -> str:
    """What a program prints; CalledProcessError if it fails, with its errors in the report of the test."""
    path = f"{PLUGINS}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        command, cwd=folder, env=os.environ | {"PATH": path}, stdout=subprocess.PIPE, text=True, check=True
    ).stdout


@pytest.mark.timeout(600)
@pytest.mark.parametrize("generate", [generate_by_buf, generate_by_protoc])
def test_go_code_of_a_copy_of_the_protos_has_all_services(
    generate: Callable[[Path], tuple[str, str]], tmp_path: Path
) -> None:
    if not (PLUGINS / ".ready").exists():
        skip_or_fail("the generators are not installed: make api")
    shutil.copytree(ROOT / "protos", tmp_path / "protos")
    module, packages = generate(tmp_path)
    for file in PROGRAM.iterdir():
        text = file.read_text().replace("module mobiletest", f"module {module}")
        (tmp_path / file.name).write_text(text.replace('"mobiletest/', f'"{packages}/'))
    run(tmp_path, "go", "build", "-o", "example", ".")
    services = {
        f"{file.package}.{service.name}"
        for file in FileDescriptorSet.FromString(descriptors()).file
        for service in file.service
    }
    assert set(run(tmp_path, tmp_path / "example").split()) == services
