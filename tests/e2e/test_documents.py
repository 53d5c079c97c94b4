"""The shell blocks of the README and the tour, run against the stack: each prints what the document shows."""

from pathlib import Path

import pytest

from tests.documents import blocks_of, check_blocks
from tests.e2e.conftest import fresh_key
from tests.shared_infrastructure import SharedStack


@pytest.mark.parametrize(("name", "heading"), [("README.md", "## Five calls"), ("docs/tour.md", "# A tour")])
async def test_every_block_prints_what_the_document_shows(
    name: str, heading: str, stack: SharedStack, tmp_path: Path
) -> None:
    blocks = blocks_of(name, heading)
    assert len(blocks) >= 5
    key = await fresh_key(stack, "bootstrap")
    await check_blocks(blocks, url=stack.url, api_key=key, folder=tmp_path)
