"""The documentation: links lead somewhere, named files and make targets exist, decision records are indexed."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
READMES = [*sorted(ROOT.glob("*.md")), ROOT / "deploy" / "k8s" / "README.md", ROOT / "examples" / "ci" / "README.md"]
PAGES = [*READMES, *sorted((ROOT / "docs").rglob("*.md"))]
RECORDS = ROOT / "docs" / "decisions"


def relative_links(page: Path) -> Iterator[str]:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        if "://" not in target:
            yield target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files(page: Path) -> None:
    assert [target for target in relative_links(page) if not (page.parent / target).exists()] == []


def anchors(page: Path) -> set[str]:
    """Of the headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_headings(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:]*)#([^)]+)\)", page.read_text())
    assert [link for link in links if link[1] not in anchors(page.parent / link[0] if link[0] else page)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_named_files_exist(page: Path) -> None:
    paths = re.findall(
        r"`((?:(?:mobiletest_)?automation|benchmarks|cli|deploy|docs|examples|protos|services|tests)/[\w./-]+)`",
        page.read_text(),
    )
    assert [path for path in paths if not any((root / path).exists() for root in (ROOT, ROOT / "automation"))] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_named_tests_exist(page: Path) -> None:
    names = re.findall(r"(tests/[\w/]+\.py)::(\w+)", page.read_text())
    assert [name for path, name in names if f"def {name}(" not in (ROOT / path).read_text()] == []


def test_every_decision_record_is_in_the_index_with_a_status() -> None:
    records = sorted(path.name for path in RECORDS.glob("*.md") if path.name != "README.md")
    assert records == sorted(set(relative_links(RECORDS / "README.md")) - {".."})
    for name in records:
        assert re.search(r"^Status: \w+, \d{4}-\d\d-\d\d$", (RECORDS / name).read_text(), re.M), name


def test_make_targets_in_the_documentation_exist() -> None:
    makefiles = [ROOT / "Makefile", *(ROOT / "deploy").rglob("*.mk")]
    targets = {name for path in makefiles for name in re.findall(r"^([a-z-]+):", path.read_text(), re.M)}
    named = {name for page in PAGES for name in re.findall(r"`make ([a-z-]+)`", page.read_text())}
    assert named - targets == set()
