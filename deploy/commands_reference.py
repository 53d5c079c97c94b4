"""The table in docs/maestro.md, made from the declarations of the commands: `make commands` writes it."""

from pathlib import Path

from mobiletest_automation.flows.parser import COMMANDS

PAGE = Path(__file__).parents[1] / "docs" / "maestro.md"
HEADER = "| Command | Simulated device | Chromium | Different from Maestro |"


def with_table(page: str) -> str:
    """The page with the table as the declarations have it."""
    rows = (f"| `{spec.name}` | {spec.simulated} | {spec.chromium} | {spec.difference} |" for spec in COMMANDS.values())
    begin = page.index(HEADER)
    table = "\n".join((HEADER, "| --- | --- | --- | --- |", *rows)).replace("  |", " |")
    return page[:begin] + table + page[page.index("\n\n", begin) :]


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text()))
