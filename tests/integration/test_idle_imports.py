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
    "services.executor.worker_app": ("wasmtime", "mobiletest_automation.attempt", *FOR_FEW_CALLS),
}
IMPORT_EACH = """
import importlib, os, pathlib, sys
import services.chassis.consumer, services.chassis.grpc_channel, services.chassis.health, services.chassis.lifecycle

def start_importing(module):
    if os.fork() == 0:
        importlib.import_module(module)
        (folder / module).write_text(" ".join(sys.modules))
        os._exit(0)

folder, (gateway, *others) = pathlib.Path(sys.argv[1]), sys.argv[2:]
start_importing(gateway)  # with what all of them need; the others also need the driver of the database
import services.chassis.grpc_server, services.chassis.mongo, services.chassis.outbox_relay
for module in others:
    start_importing(module)
import rich  # what was hidden from others can be imported
(folder / "rich").write_text(rich.__name__)
for _ in sys.argv[2:]:
    os.wait()
"""


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """All modules that are imported with each."""
    folder = tmp_path_factory.mktemp("imported")
    subprocess.run([sys.executable, "-c", IMPORT_EACH, str(folder), *UNUSED], check=True)
    return {file.name: set(file.read_text().split()) for file in folder.iterdir()}


@pytest.mark.parametrize("module", UNUSED)
def test_a_service_starts_without_what_few_calls_need(imported: dict[str, set[str]], module: str) -> None:
    """Each of these libraries takes 1 to 13 MiB in every replica (docs/performance.md)."""
    assert module in imported[module]
    assert imported[module] & set(UNUSED[module]) == set()


def test_libraries_find_again_what_was_hidden_from_others(imported: dict[str, set[str]]) -> None:
    assert imported["rich"] == {"rich"}
