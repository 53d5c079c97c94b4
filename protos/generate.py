"""Compiles the protos: Python modules into gen/, and a descriptor image for buf into build/protos.binpb.

The image contains the comments. It is copied to gen/mobiletest/descriptors.binpb for the OpenAPI document.
The imported protos of protovalidate and googleapis come from the installed packages.
"""

import shutil
import sys
from pathlib import Path

import google.api
from google.protobuf import descriptor_pb2, duration_pb2, field_mask_pb2, timestamp_pb2
from grpc_tools import _proto, protoc
from protovalidate._gen.buf.validate import validate_pb

ROOT = Path(__file__).resolve().parent.parent
PROTOS, GENERATED, BUILD = ROOT / "protos", ROOT / "gen", ROOT / "build"
VALIDATE = "buf/validate/validate.proto"


def validate_descriptors() -> bytes:
    """A serialised FileDescriptorSet of validate.proto and its imports, from the protovalidate package."""
    files = descriptor_pb2.FileDescriptorSet()
    for module in (descriptor_pb2, duration_pb2, field_mask_pb2, timestamp_pb2):
        module.DESCRIPTOR.CopyToProto(files.file.add())
    files.file.add().ParseFromString(validate_pb.desc().proto.to_binary())
    return files.SerializeToString()


def compile_protos(*arguments: str) -> None:
    """Run protoc with the import paths; SystemExit with its exit code if it fails."""
    includes = [PROTOS, Path(next(iter(google.api.__path__))).parent.parent, Path(next(iter(_proto.__path__)))]
    code = protoc.main(["protoc", *(f"-I{path}" for path in includes), *arguments])
    if code:
        sys.exit(code)


def main(arguments: list[str]) -> None:
    """Replace all generated files; with --baseline also the image that buf breaking compares with."""
    for folder in (GENERATED, BUILD):
        folder.mkdir(exist_ok=True)
    for stale in ("mobiletest", "buf"):
        shutil.rmtree(GENERATED / stale, ignore_errors=True)
    validate = BUILD / "validate.binpb"
    validate.write_bytes(validate_descriptors())
    files = sorted(str(path.relative_to(PROTOS)) for path in PROTOS.rglob("*.proto"))
    known = f"--descriptor_set_in={validate}"
    image = f"--descriptor_set_out={BUILD / 'protos.binpb'}"
    compile_protos(known, f"--python_out={GENERATED}", f"--pyi_out={GENERATED}", VALIDATE)
    compile_protos(
        known, f"--python_out={GENERATED}", f"--pyi_out={GENERATED}", f"--grpc_python_out={GENERATED}", *files
    )
    compile_protos(known, image, "--include_imports", "--include_source_info", *files)
    shutil.copy(BUILD / "protos.binpb", GENERATED / "mobiletest" / "descriptors.binpb")
    if "--baseline" in arguments:
        compile_protos(known, f"--descriptor_set_out={PROTOS / 'baseline.binpb'}", "--include_imports", *files)


if __name__ == "__main__":
    main(sys.argv[1:])
