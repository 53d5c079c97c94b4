"""Compiles the protos: Python modules into gen/, and a descriptor image for buf into build/protos.binpb.

The image contains the comments. It is copied to gen/mobiletest/descriptors.binpb for the OpenAPI document.
"""

import shutil
import sys
from pathlib import Path

from grpc_tools import _proto, protoc

ROOT = Path(__file__).resolve().parent.parent
PROTOS, GENERATED, BUILD = ROOT / "protos", ROOT / "gen", ROOT / "build"
VALIDATE = "buf/validate/validate.proto"


def compile_protos(*arguments: str) -> None:
    """Run protoc with the import paths.

    Raises:
        SystemExit: with its exit code if it fails.
    """
    includes = [PROTOS, PROTOS / "vendor", Path(next(iter(_proto.__path__)))]
    code = protoc.main(["protoc", *(f"-I{path}" for path in includes), *arguments])
    if code:
        sys.exit(code)


def main(arguments: list[str]) -> None:
    """Replace all generated files; with --baseline also the image that buf breaking compares with."""
    for folder in (GENERATED, BUILD):
        folder.mkdir(exist_ok=True)
    for stale in ("mobiletest", "buf"):
        shutil.rmtree(GENERATED / stale, ignore_errors=True)
    files = sorted(str(path.relative_to(PROTOS)) for path in (PROTOS / "mobiletest").rglob("*.proto"))
    messages = (f"--python_out={GENERATED}", f"--pyi_out={GENERATED}")
    compile_protos(*messages, VALIDATE)
    compile_protos(*messages, f"--grpc_python_out={GENERATED}", *files)
    image = f"--descriptor_set_out={BUILD / 'protos.binpb'}"
    compile_protos(image, "--include_imports", "--include_source_info", *files)
    shutil.copy(BUILD / "protos.binpb", GENERATED / "mobiletest" / "descriptors.binpb")
    if "--baseline" in arguments:
        compile_protos(f"--descriptor_set_out={PROTOS / 'baseline.binpb'}", "--include_imports", *files)


if __name__ == "__main__":
    main(sys.argv[1:])
