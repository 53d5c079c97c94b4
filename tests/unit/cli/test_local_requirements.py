"""The extra `local` of the command line is what the automation needs."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_the_extra_names_what_the_automation_needs() -> None:
    automation = tomllib.loads((ROOT / "automation/pyproject.toml").read_text())["project"]
    cli = tomllib.loads((ROOT / "cli/pyproject.toml").read_text())["project"]
    assert cli["optional-dependencies"]["local"] == automation["dependencies"]
