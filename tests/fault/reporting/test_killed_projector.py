"""F09: a fold that is killed between any two commands to MongoDB, and delivered again, counts everything once."""

import asyncio
import json
import os
import sys
from collections import Counter
from pathlib import Path

from tests.fault.counting import record

SEED = os.environ.get("SEED", "20261121")
ROOT = Path(__file__).parents[3]


async def test_a_fold_killed_at_any_command_counts_exactly_once(mongo_uri: str, mongo_database: str) -> None:
    argv = [sys.executable, "-m", "tests.fault.reporting.killed_projector", mongo_uri, mongo_database, SEED]
    env = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'gen'}"}
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*argv, cwd=ROOT, env=env, stdout=pipe, stderr=pipe)
    out, err = await process.communicate()
    assert process.returncode == 0, err.decode()[-4000:]
    lines = [json.loads(line) for line in out.decode().splitlines() if line.startswith("{")]
    repeated = [line for line in lines if "repeated" in line]
    wrong = [text for line in repeated for text in line["differences"]]
    at = Counter(f"{line['moment']} {line['command']}" for line in lines if "killed" in line)
    record(
        "F09",
        "folds killed with SIGKILL before and after each command to MongoDB, then delivered again",
        tried=lines[-1]["kills"],
        survived=sum(not line["differences"] for line in repeated),
        at=dict(at),
        differences=len(wrong),
        seed=SEED,
    )
    assert at["before commitTransaction"]
    assert at["after commitTransaction"]
    assert at["before update"]
    assert not wrong, f"SEED={SEED}\n" + "\n".join(wrong[:20])
