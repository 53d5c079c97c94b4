"""A class name means one thing within a service, and within what services share."""

import ast
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = [path for path in (*ROOT.glob("services/*"), *ROOT.glob("automation/*")) if (path / "__init__.py").exists()]


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_a_class_name_is_unique_within_its_package(package: Path) -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path in sorted(package.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert {name: where for name, where in places.items() if len(where) > 1} == {}
