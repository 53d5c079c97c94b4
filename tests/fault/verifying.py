"""What the operator's `verify` says after a fault."""

from deploy.local.stack import Stack
from tests.fault.reporting.test_rebuild import differences, run_command


async def verified(stack: Stack) -> int:
    """How many differences to the history of executor and catalog it finds; an AssertionError when there are any."""
    code, lines = await run_command(stack, "verify")
    assert (code, differences(lines)) == (0, []), lines[-1]
    return int(lines[-1]["result"]["differences"])
