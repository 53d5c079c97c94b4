"""What the processes import at their start: libraries that few of their calls need are loaded by those calls."""

import subprocess
import sys

import pytest

FOR_FEW_CALLS = ("cryptography", "dns", "lxml", "obstore", "protovalidate", "rich")
UNUSED = {
    "services.gateway.app": ("motor", "pymongo", "bson", "services.gateway.openapi.document", *FOR_FEW_CALLS),
    "services.catalog.app": ("aiohttp", *FOR_FEW_CALLS),
    "services.reporting.app": ("aiohttp", "re2", "yaml", *FOR_FEW_CALLS),
    "services.executor.app": ("aiohttp", "PIL", "wasmtime", "yaml", "services.executor.worker_app", *FOR_FEW_CALLS),
    "services.executor.worker_app": ("wasmtime", "services.executor.automation.attempt", *FOR_FEW_CALLS),
}


@pytest.mark.parametrize("module", UNUSED)
def test_a_service_starts_without_what_few_calls_need(module: str) -> None:
    """Each of these libraries takes 1 to 13 MiB in every replica (docs/performance.md)."""
    script = f"import sys, {module}; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout.split()
    assert set(UNUSED[module]) & set(loaded) == set()


def test_libraries_find_again_what_was_hidden_from_others() -> None:
    script = "import services, rich; print(rich.__name__)"
    found = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert found.stdout == "rich\n"
