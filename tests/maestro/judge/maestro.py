"""Runs flows in Maestro: its jars, and Judge.java, in one process."""

import json
import os
import subprocess
from collections.abc import Iterable
from pathlib import Path
from shutil import which

from tests.maestro.judge.flows import JudgedFlow, Outcome

ROOT = Path(__file__).parents[3]
JARS = ROOT / "build" / "tools" / "maestro"
PROGRAM = Path(__file__).with_name("Judge.java")
SECONDS = 420


def why_unavailable() -> str:
    """What is missing, "" if nothing is."""
    if which("javac") is None:
        return "Maestro needs a Java 17 with its compiler"
    return "" if (JARS / ".ready").exists() else "Maestro's jars are missing: make maestro"


def judge(flows: Iterable[JudgedFlow], folder: Path) -> dict[str, Outcome]:
    """The outcome of each flow by its id. Files that flows write are left in `folder`."""
    questions = "".join(json.dumps(_question(flow)) + "\n" for flow in flows)
    java = ("java", "-Xshare:auto", "-Dpolyglot.engine.WarnInterpreterOnly=false", "-cp", f"{JARS}/*", str(PROGRAM))
    clean = {name: value for name, value in os.environ.items() if not name.startswith("MAESTRO_")}
    ended = subprocess.run(
        java, input=questions.encode(), capture_output=True, cwd=folder, env=clean, timeout=SECONDS, check=False
    )
    if ended.returncode:
        raise AssertionError(ended.stderr.decode())
    answers = map(json.loads, ended.stdout.decode().strip().split("\n"))
    return {answer["id"]: Outcome(answer["verdict"], tuple(answer["actions"]), answer["message"]) for answer in answers}


def _question(flow: JudgedFlow) -> dict[str, object]:
    moves = {"pixels": flow.moves.pixels, "readings": flow.moves.readings} if flow.moves is not None else {}
    return {
        "id": flow.id,
        "flow": str(flow.folder.resolve() / flow.path),
        "screens": list(flow.screens),
        "env": dict(flow.env),
        "moves": moves,
    }
