"""The blocks of the README and the pages: which ones a test runs, and what they print compared with what is shown."""

import asyncio
import json
import re
from asyncio.subprocess import PIPE
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
MARK = "----- end of block -----"
BLOCK = re.compile(r"^(?P<indent> *)```(?P<language>\w*)\n(?P<text>.*?)^ *```$", re.M | re.S)
VOLATILE = (
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "<id>"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z| UTC)"), "<time>"),
)

Block = tuple[str, str | None]

# Blocks that tests/e2e/test_documents.py does not run: page and beginning -> why, or what else reads or runs them.
ELSEWHERE = {
    ("README.md", "make run     # start everything"): "the gate's `make run` and `make test` themselves",
    ("README.md", "flowchart LR"): "a picture",
    ("docs/command-line.md", "package=$(python3"): "installs; tests/deploy/test_cli_distribution.py does it",
    ("docs/development.md", "PYTHONPATH=cli"): "tests/e2e/cli/test_local_terminal.py runs it",
    ("docs/command-line.md", "app: Shop"): "tests/unit/test_document_blocks.py reads it",
    ("docs/command-line.md", '{"mcpServers"'): "tests/unit/test_document_blocks.py reads it",
    ("docs/app-models.md", "app_model: 1"): "tests/unit/test_document_blocks.py reads it",
    ("docs/workspaces.md", '{"root"'): "tests/unit/test_document_blocks.py reads it",
    ("docs/human-in-the-loop.md", '{"question"'): "tests/unit/test_document_blocks.py reads it",
    ("docs/evidence.md", "run_config:"): "tests/unit/test_document_blocks.py reads it",
    ("docs/evidence.md", '{"role"'): "tests/unit/executor/test_tree_json.py reads it",
    ("docs/steps.md", '{"action"'): "tests/unit/test_document_blocks.py reads it",
    ("docs/commands.md", "# the app"): "tests/unit/automation/flows/test_steps_reference.py reads it",
    ("docs/steps.md", "- Launch the app"): "tests/unit/automation/flows/test_steps_reference.py reads it",
    ("docs/maestro.md", "- appId: com.example.shop"): "tests/unit/automation/flows/test_steps_reference.py reads it",
    ("docs/devices.md", "pools:"): "tests/unit/automation/devices/pools/test_config.py reads it",
    (
        "docs/devices.md",
        "apiVersion: networking",
    ): "for a cluster of the reader's own; tests/unit/test_document_blocks.py reads it",
    ("docs/grpc-callers.md", "version: v2"): "tests/api/test_protos.py uses it",
    ("docs/grpc-callers.md", "protoc -I protos"): "tests/unit/test_protos.py runs it",
    ("docs/webdriver.md", ".venv/bin/python -m deploy.devices"): "starts servers; tests/devices uses both",
    ("docs/webdriver.md", "python3 -m http.server"): "tests/devices/test_whole_stack.py runs it",
    ("docs/faults.md", "KILLS=50"): "takes hours",
    (
        "docs/operating-reporting.md",
        "python -m services.reporting verify",
    ): "tests/integration/reporting/test_rebuild.py",
    ("docs/operating-reporting.md", "kubectl exec -n mobiletest deploy/mobiletest-reporting"): "needs a cluster",
    ("docs/operating-reporting.md", "python -m services.chassis.dead_letters"): "tests/integration/chassis",
    ("docs/operating-reporting.md", "kubectl exec -n mobiletest deploy/mobiletest-catalog"): "needs a cluster",
    ("docs/security.md", "MOBILETEST_TLS_CERTIFICATE_FILE"): "variables of a deployment",
    ("docs/security.md", "deploy/kafka/acls.sh"): "needs a Kafka with users; tests/images/test_kafka_acls.py runs it",
    ("docs/security.md", "// mongosh"): "needs a MongoDB with users, and asks for passwords",
    ("docs/security.md", 'MOBILETEST_SECRET_KEYS="v1=$'): "a variable of a deployment",
    ("docs/security.md", 'MOBILETEST_SECRET_KEYS="v2='): "replaces the keys of all organisations",
}


def pages() -> list[str]:
    """The README and the pages of docs/, relative to the repository."""
    return ["README.md", *(str(path.relative_to(ROOT)) for path in sorted((ROOT / "docs").glob("*.md")))]


def block(page: str, beginning: str) -> str:
    """The only block of a page that begins with this text."""
    [content] = [text for _, text in all_blocks(page) if text.startswith(beginning)]
    return content


def all_blocks(page: str) -> list[tuple[str, str]]:
    """Language and text of each fenced block of a page."""
    matches = BLOCK.finditer((ROOT / page).read_text())
    return [(match["language"], re.sub(f"^{match['indent']}", "", match["text"], flags=re.M)) for match in matches]


def is_elsewhere(page: str, text: str) -> bool:
    """Whether a block is one of ELSEWHERE."""
    return any(page == named and text.startswith(beginning) for named, beginning in ELSEWHERE)


def runnable_blocks(page: str) -> list[Block]:
    """The shell blocks of a page that are run, with what they print."""
    return [(script, shown) for script, shown in blocks_of(page, "#") if not is_elsewhere(page, script)]


def blocks_of(document: str, heading: str) -> list[Block]:
    """(script, expected output) of each shell block after the heading; None where the document shows no output."""
    text = (ROOT / document).read_text()
    blocks: list[Block] = []
    for match in BLOCK.finditer(text[text.index(heading) :]):
        block = re.sub(f"^{match['indent']}", "", match["text"], flags=re.M)
        if match["language"] == "sh":
            blocks.append((block, None))
        elif not match["language"] and blocks and blocks[-1][1] is None:
            blocks[-1] = (blocks[-1][0], block)
    return blocks


async def check_blocks(
    blocks: list[Block],
    *,
    ready: Mapping[str, object],
    folder: Path,
    prelude: str = "",
    environ: Mapping[str, str] | None = None,
) -> None:
    """Run the blocks in one shell in `folder`, beside a ready.json with `ready`; AssertionError where one fails or
    prints another output. Ids and times may differ. `prelude` is run before, and prints nothing.
    """
    (folder / ".local").mkdir()
    (folder / ".local" / "ready.json").write_text(json.dumps(ready))
    script = f"set -euo pipefail\n{prelude}\n" + "".join(f"{block}\necho '{MARK}'\n" for block, _ in blocks)
    shell = await asyncio.create_subprocess_exec(
        "bash", "-c", script, cwd=folder, stdout=PIPE, stderr=PIPE, env=environ or None
    )
    output, errors = await shell.communicate()
    assert shell.returncode == 0, (output + errors).decode()[-3000:]
    for (block, expected), printed in zip(blocks, output.decode().split(MARK), strict=False):
        if expected is not None:
            assert _normalized(printed) == _normalized(expected), f"{block}--- printed:\n{printed}"


def _normalized(output: str) -> str:
    for pattern, placeholder in VOLATILE:
        output = pattern.sub(placeholder, output)
    return output.strip()
