"""The types of the command line are those of the API that it uses."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_types_are_those_of_the_document(tmp_path: Path) -> None:
    """After a change of the protos, or of the types that the command line uses: make cli-types."""
    document, types = tmp_path / "cli-openapi.json", tmp_path / "api_types.py"
    with document.open("wb") as output:
        subprocess.run([sys.executable, "-m", "deploy.cli_types"], stdout=output, check=True, cwd=ROOT)
    recipe = (ROOT / "Makefile").read_text().split("cli-types:", 1)[1].split("datamodel-codegen", 1)[1]
    options = recipe.split("$(BIN)", 1)[0].replace("\\\n", " ").split()
    places = {"build/cli-openapi.json": str(document), "cli/mobiletest_cli/api_types.py": str(types)}
    program = Path(sys.executable).with_name("datamodel-codegen")
    subprocess.run([program, *(places.get(option, option) for option in options)], check=True)
    subprocess.run([Path(sys.executable).with_name("ruff"), "format", "-q", types], check=True, cwd=ROOT)
    assert (ROOT / "cli/mobiletest_cli/api_types.py").read_text() == types.read_text()
