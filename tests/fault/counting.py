"""Records what a fault test tried, what survived and what was lost, for the table in docs/faults.md."""

import json
import os
from pathlib import Path

FILE = os.environ.get("MOBILETEST_FAULT_RECORD", "")


def record(fault: str, what: str, *, tried: int, survived: int, **figures: object) -> None:
    """Print the counts of a test, and add them to the file of the run, if one is wanted."""
    counts = {"fault": fault, "what": what, "tried": tried, "survived": survived, "lost": tried - survived, **figures}
    print(json.dumps(counts))
    if FILE:
        with Path(FILE).open("a") as file:
            file.write(json.dumps(counts) + "\n")
