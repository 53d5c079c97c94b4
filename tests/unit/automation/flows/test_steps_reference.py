"""The pages about steps describe the commands and fields of the parser."""

import re
from pathlib import Path

from deploy.commands_reference import PAGE, with_table
from mobiletest_automation.flows.configuration import CONFIGURATION_KEYS
from mobiletest_automation.flows.loader import parse_flow
from mobiletest_automation.flows.parser import COMMANDS
from mobiletest_automation.flows.selectors import CRITERIA
from mobiletest_automation.flows.steps import BlockCommand, Step

DOCS = Path(__file__).parents[4] / "docs"
TEXT = "".join((DOCS / f"{page}.md").read_text() for page in ("steps", "commands", "variables", "maestro"))
EXAMPLES: list[str] = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)


def names(steps: tuple[Step, ...]) -> set[str]:
    own = {step.name for step in steps}
    held = [step.command.commands for step in steps if isinstance(step.command, BlockCommand)]
    return own.union(*map(names, held))


def test_every_documented_example_is_accepted() -> None:
    flows = [parse_flow(example) for example in EXAMPLES]
    shown = set[str]().union(*(names((*flow.on_start, *flow.steps, *flow.on_complete)) for flow in flows))
    assert shown - {"sentence"} == set(COMMANDS)
    assert (len(flows[-1].env), len(flows[-1].on_complete)) == (2, 1)


def test_every_field_is_documented() -> None:
    arguments = (
        "permissions arguments clearState clearKeychain stopApp repeat delay retryTapIfNoChange waitToSettleTimeoutMs "
        "direction speed visibilityPercentage centerElement timeout maxRetries times while when env optional label"
    )
    said = {*CRITERIA, *CONFIGURATION_KEYS, *arguments.split()}
    assert {word for word in said if not re.search(rf"\b{word}\b", TEXT)} == set()


def test_the_table_of_commands_is_current() -> None:
    """`make commands` writes it."""
    page = PAGE.read_text()
    assert page == with_table(page)
