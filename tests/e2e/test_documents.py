"""The shell blocks of the README and the tour, run against the stack: each prints what the document says."""

import asyncio
import json
import re
from asyncio.subprocess import PIPE
from pathlib import Path

import pytest

from tests.e2e.conftest import fresh_key
from tests.shared_infrastructure import SharedStack

ROOT = Path(__file__).parents[2]
MARK = "----- end of block -----"
BLOCK = re.compile(r"^(?P<indent> *)```(?P<language>\w*)\n(?P<text>.*?)^ *```$", re.M | re.S)
VOLATILE = (
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "<id>"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z| UTC)"), "<time>"),
)


def blocks(document: str) -> list[tuple[str, str | None]]:
    """(script, expected output) of each shell block; None where the document shows no output."""
    found: list[tuple[str, str | None]] = []
    for match in BLOCK.finditer(document):
        text = re.sub(f"^{match['indent']}", "", match["text"], flags=re.M)
        if match["language"] == "sh":
            found.append((text, None))
        elif not match["language"] and found and found[-1][1] is None:
            found[-1] = (found[-1][0], text)
    return found


def normalized(output: str) -> str:
    for pattern, placeholder in VOLATILE:
        output = pattern.sub(placeholder, output)
    return output.strip()


@pytest.mark.parametrize(("name", "heading"), [("README.md", "## Five calls"), ("docs/tour.md", "# A tour")])
async def test_every_block_prints_what_the_document_shows(
    name: str, heading: str, stack: SharedStack, tmp_path: Path
) -> None:
    document = (ROOT / name).read_text()
    found = blocks(document[document.index(heading) :])
    assert len(found) >= 5
    ready = tmp_path / ".local" / "ready.json"
    ready.parent.mkdir()
    ready.write_text(json.dumps({"url": stack.url, "api_key": await fresh_key(stack, "bootstrap")}))
    script = "set -euo pipefail\n" + "".join(f"{block}\necho '{MARK}'\n" for block, _ in found)
    shell = await asyncio.create_subprocess_exec("bash", "-c", script, cwd=tmp_path, stdout=PIPE, stderr=PIPE)
    output, errors = await shell.communicate()
    assert shell.returncode == 0, (output + errors).decode()[-3000:]
    outputs = output.decode().split(MARK)
    for (block, expected), output in zip(found, outputs, strict=False):
        if expected is not None:
            assert normalized(output) == normalized(expected), block
