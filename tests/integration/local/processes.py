"""Looking at processes from outside."""

import subprocess


def alive(*pids: int) -> set[int]:
    """Those that run; one that ended and was not waited for yet does not."""
    command = ["ps", "-o", "pid=,stat=", "-p", ",".join(map(str, pids))]
    listed = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    states = dict(line.split() for line in listed.splitlines())
    return {int(pid) for pid, state in states.items() if not state.startswith("Z")}


def children_of(pid: int) -> dict[str, int]:
    """The pids of the children of a process by the program or module that each runs."""
    listed = subprocess.run(["ps", "-eww", "-o", "pid=,ppid=,args="], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in listed.splitlines()]
    return {_program(row[2:]): int(row[0]) for row in rows if int(row[1]) == pid}


def _program(argv: list[str]) -> str:
    return argv[2] if argv[1:2] == ["-m"] else argv[0].rpartition("/")[2]
