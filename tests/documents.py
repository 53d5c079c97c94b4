"""Runs the shell blocks of a document and compares what they print with what the document shows."""

import asyncio
import json
import re
from asyncio.subprocess import PIPE
from pathlib import Path

ROOT = Path(__file__).parents[1]
MARK = "----- end of block -----"
BLOCK = re.compile(r"^(?P<indent> *)```(?P<language>\w*)\n(?P<text>.*?)^ *```$", re.M | re.S)
VOLATILE = (
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "<id>"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z| UTC)"), "<time>"),
)

Block = tuple[str, str | None]


def blocks_of(document: str, heading: str) -> list[Block]:
    """(script, expected output) of each shell block after the heading; None where the document shows no output."""
    text = (ROOT / document).read_text()
    found: list[Block] = []
    for match in BLOCK.finditer(text[text.index(heading) :]):
        block = re.sub(f"^{match['indent']}", "", match["text"], flags=re.M)
        if match["language"] == "sh":
            found.append((block, None))
        elif not match["language"] and found and found[-1][1] is None:
            found[-1] = (found[-1][0], block)
    return found


async def check_blocks(blocks: list[Block], *, url: str, api_key: str, folder: Path) -> None:
    """Run the blocks in one shell in `folder`, beside a ready.json; AssertionError where one fails or prints another
    output. Ids and times may differ.
    """
    ready = folder / ".local" / "ready.json"
    ready.parent.mkdir()
    ready.write_text(json.dumps({"url": url, "api_key": api_key}))
    script = "set -euo pipefail\n" + "".join(f"{block}\necho '{MARK}'\n" for block, _ in blocks)
    shell = await asyncio.create_subprocess_exec("bash", "-c", script, cwd=folder, stdout=PIPE, stderr=PIPE)
    output, errors = await shell.communicate()
    assert shell.returncode == 0, (output + errors).decode()[-3000:]
    for (block, expected), printed in zip(blocks, output.decode().split(MARK), strict=False):
        if expected is not None:
            assert _normalized(printed) == _normalized(expected), block


def _normalized(output: str) -> str:
    for pattern, placeholder in VOLATILE:
        output = pattern.sub(placeholder, output)
    return output.strip()
