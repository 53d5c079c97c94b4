"""What the Dockerfile installs and copies."""

import re
from pathlib import Path

import pytest

from deploy.images.server_lock import NotLocked, constraints, direct_requirements, entries, needed, part_of

ROOT = Path(__file__).parents[2]
LOCK = """\
aiohttp==3.14.5 \\
    --hash=sha256:00 \\
    --hash=sha256:11
colorama==0.4.6 ; sys_platform == 'win32' \\
    --hash=sha256:22
Typing_Extensions==4.16.0 \\
    --hash=sha256:33
"""
PYPROJECT = """\
[project]
dependencies = ["aiohttp==3.14.5"]
[dependency-groups]
build = ["grpcio-tools==1.85.1"]
dev = ["pytest==9.2.0"]
"""


def test_entries_keep_their_hashes() -> None:
    assert part_of(entries(LOCK), ["typing-extensions"]) == "Typing_Extensions==4.16.0 \\\n    --hash=sha256:33\n"


def test_a_distribution_missing_in_the_lock_is_an_error() -> None:
    with pytest.raises(NotLocked, match="yarl"):
        part_of(entries(LOCK), ["aiohttp", "yarl"])


def test_constraints_have_the_versions_and_markers_but_no_hashes() -> None:
    assert list(constraints(entries(LOCK)))[:2] == ["aiohttp==3.14.5", "colorama==0.4.6 ; sys_platform == 'win32'"]


def test_groups_are_added_by_name() -> None:
    assert direct_requirements(PYPROJECT, []) == ["aiohttp==3.14.5"]
    assert direct_requirements(PYPROJECT, ["build"]) == ["aiohttp==3.14.5", "grpcio-tools==1.85.1"]


def test_names_are_normalised_as_in_pep_503() -> None:
    plan = '{"install": [{"metadata": {"name": "Typing_Extensions"}}, {"metadata": {"name": "aiohttp"}}]}'
    assert needed(plan) == ["aiohttp", "typing-extensions"]


def test_the_build_context_has_all_folders_that_the_dockerfile_copies() -> None:
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    kept = {
        line.removeprefix("!") for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")
    }
    assert {source for sources in copied for source in sources.split()} <= kept
