"""The extra `local` of the command line is what the automation needs."""

import re
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

from mobiletest_cli.local_requirements import MODULES

ROOT = Path(__file__).parents[3]


def test_the_extra_names_what_the_automation_needs() -> None:
    automation = tomllib.loads((ROOT / "automation/pyproject.toml").read_text())["project"]
    cli = tomllib.loads((ROOT / "cli/pyproject.toml").read_text())["project"]
    assert cli["optional-dependencies"]["local"] == automation["dependencies"]


def test_the_command_looks_for_a_module_of_each_package() -> None:
    cli = tomllib.loads((ROOT / "cli/pyproject.toml").read_text())["project"]
    needed = {re.split("[^a-z0-9-]", requirement)[0] for requirement in cli["optional-dependencies"]["local"]}
    packages = packages_distributions()
    assert {packages[module][0].lower().replace("_", "-") for module in MODULES} == needed
