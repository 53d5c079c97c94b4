"""CI attribution: which change, branch and run of a CI system an execution belongs to."""

from mobiletest_cli.ci.attribution import Attribution, headers
from mobiletest_cli.ci.detection import describe, detect, missing_branch

__all__ = ["Attribution", "describe", "detect", "headers", "missing_branch"]
