"""An execution names 5 of its builds: pages do not say that these are all."""

from pathlib import Path
from typing import Any

import pytest
from jinja2 import Environment, FileSystemLoader

from services.gateway.dashboard import app_names
from services.gateway.dashboard.app_names import AppNames
from services.gateway.dashboard.moments import mark_moments

TEMPLATES = Path(app_names.__file__).parent / "templates"
TEMPLATE = """{% from "macros.html" import builds_of %}{% from "branch_macros.html" import branch_app %}
{{ builds_of(execution, names) }}|{{ builds_of(execution, names, all=true) }}|{{ branch_app(execution) }}"""


@pytest.mark.parametrize(
    ("number", "others", "end", "app"),
    [(1, "", "", "a"), (4, "and 3 more", "", "a"), (5, "and 4 or more", "others", "")],
)
def test_builds_beyond_those_that_are_named(number: int, others: str, end: str, app: str) -> None:
    builds = [{"app_id": "a", "app_name": "Shop", "build_id": f"{each}", "version": "1"} for each in range(number)]
    execution: Any = {"builds": builds, "completed_at": "2026-05-01T00:00:00Z"}
    environment = Environment(loader=FileSystemLoader(TEMPLATES), autoescape=True)
    environment.filters["moments"] = mark_moments
    text = environment.from_string(TEMPLATE).render(execution=execution, names=AppNames([], 0))
    first, named, link = text.split("|")
    assert (others in first, ("more" in first) == bool(others)) == (True, True)
    assert ("others" in named, named.count("/builds/")) == (bool(end), number)
    assert link.strip() == app
