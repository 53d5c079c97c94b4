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
IMPORT_EACH = """
import importlib, os, sys
import services.chassis.grpc_channel, services.chassis.health, services.chassis.lifecycle, services.chassis.settings
for module in sys.argv[1:]:
    if os.fork() == 0:  # with what all of them need
        importlib.import_module(module)
        print(module, *sys.modules, flush=True)
        os._exit(0)
    os.wait()
import rich  # what was hidden from others can be imported
print("rich", rich.__name__)
"""


@pytest.fixture(scope="module")
def imported() -> dict[str, set[str]]:
    """All modules that are imported with each."""
    command = [sys.executable, "-c", IMPORT_EACH, *UNUSED]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return {module: set(loaded) for module, *loaded in map(str.split, lines)}


@pytest.mark.parametrize("module", UNUSED)
def test_a_service_starts_without_what_few_calls_need(imported: dict[str, set[str]], module: str) -> None:
    """Each of these libraries takes 1 to 13 MiB in every replica (docs/performance.md)."""
    assert module in imported[module]
    assert imported[module] & set(UNUSED[module]) == set()


def test_libraries_find_again_what_was_hidden_from_others(imported: dict[str, set[str]]) -> None:
    assert imported["rich"] == {"rich"}
