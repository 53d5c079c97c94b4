"""A release has one version, wherever it stands."""

import re
import tomllib
from pathlib import Path

from mobiletest_cli import __version__
from services.chassis.version import VERSION

ROOT = Path(__file__).parents[2]
PLACES = {
    "Dockerfile": r"^ARG VERSION=(.+)$",
    "CHANGELOG.md": r"\A# [^#]+^## (\S+)",
    "deploy/k8s/overlays/prod/kustomization.yaml": r"^ +(?:newTag|app\.kubernetes\.io/version): (.+)$",
}


def test_every_place_names_the_same_version() -> None:
    versions = {path: set(re.findall(place, (ROOT / path).read_text(), re.MULTILINE)) for path, place in PLACES.items()}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert (project, __version__) == (VERSION, VERSION)
    assert versions == {path: {VERSION} for path in PLACES}
