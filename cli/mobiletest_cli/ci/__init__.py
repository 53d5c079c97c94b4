"""CI attribution: which change, branch and run of a CI system an execution belongs to."""

from mobiletest_cli.ci.attribution import Attribution
from mobiletest_cli.ci.detection import describe, detect, missing_branch
from mobiletest_cli.ci.headers import headers

__all__ = ["Attribution", "describe", "detect", "headers", "missing_branch"]
