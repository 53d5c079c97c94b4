"""Where the drivers, the protos and the environment may be known. What services may import: .importlinter."""

import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SERVICES = ROOT / "services"
AUTOMATION = ROOT / "automation/mobiletest_automation"
RULES = [
    ("mobiletest_cli", ""),
    ("motor", r"chassis/mongo\.py"),
    ("pymongo", r"chassis/.*|\w+/storage(/.*|\.py)?|reporting/rebuild/store\.py"),
    ("aiokafka", r"chassis/.*"),
    ("obstore", r"chassis/.*"),
    ("wasmtime", r"automation/scripting/(guest|instance|engine)\.py"),
    (
        "aiohttp",
        r"chassis/.*|gateway/.*|automation/(devices/webdriver/hub_connection|llm/chat_client|http_body|scripting/http_client)\.py|executor/.*file_server\.py",
    ),
    ("mobiletest.catalog", r"(catalog|gateway|executor|reporting)/.*"),
    ("mobiletest.executor", r"(executor|gateway|reporting)/.*"),
    ("mobiletest.reporting", r"(reporting|gateway)/.*"),
]


# Many times as fast as the parser, and ruff's formatter leaves no other ways to write an import.
IMPORT = re.compile(r"^ *(?:from (\S+) import |import ([^#\n]+))", re.MULTILINE)


def modules() -> Iterator[tuple[str, Path]]:
    for path in sorted(SERVICES.rglob("*.py")):
        yield str(path.relative_to(SERVICES)), path
    for path in sorted(AUTOMATION.rglob("*.py")):
        yield f"automation/{path.relative_to(AUTOMATION)}", path


@cache
def imported(path: Path) -> tuple[str, ...]:
    """The full names of the modules that a module imports; those of relative imports begin with their dots."""
    return tuple(
        name.split()[0]
        for source, names in IMPORT.findall(path.read_text())
        for name in ([source] if source else names.split(","))
    )


@pytest.mark.parametrize(("package", "places"), RULES, ids=[package for package, _ in RULES])
def test_a_package_is_known_only_in_its_places(package: str, places: str) -> None:
    outside = [
        name
        for name, path in modules()
        if any(f"{module}.".startswith(f"{package}.") for module in imported(path)) and not re.fullmatch(places, name)
    ]
    assert outside == []


def test_a_model_knows_the_standard_library_and_models_only() -> None:
    strange = [
        (name, module)
        for name, path in modules()
        if re.match(r"\w+/model(/|\.py)", name)
        for module in imported(path)
        if module.split(".")[0] not in sys.stdlib_module_names
        and not re.match(r"services\.\w+\.model|mobiletest_automation\.(model|flows)", module)
    ]
    assert strange == []


def test_flows_and_app_files_need_little() -> None:
    """The command line reads them without the extra `local`."""
    allowed = {*sys.stdlib_module_names, "yaml", "re2"}
    strange = [
        (name, module)
        for name, path in modules()
        if name.startswith(("automation/flows/", "automation/app_files/"))
        for module in imported(path)
        if not module.startswith(("mobiletest_automation.flows", "mobiletest_automation.app_files"))
        and module.split(".")[0] not in allowed
    ]
    assert strange == []


def test_modules_are_imported_by_their_full_names() -> None:
    """The rules above know modules by these names."""
    assert [name for name, path in modules() if any(module.startswith(".") for module in imported(path))] == []


def test_the_environment_is_read_in_settings_only() -> None:
    """And where children are started without them."""
    readers = {name for name, path in modules() if re.search(r"os\.(environ|getenv)", path.read_text())}
    assert {name for name in readers if not name.endswith("settings.py")} == {"chassis/process_isolation.py"}
