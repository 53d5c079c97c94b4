"""The git checkout around a folder: the commit that is checked out, and which branch or pull request it is of.

Git answers if it is there. Without it the files of the repository are read, which say less about merges.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from mobiletest_cli.ci.attribution import branch_name, change_number, head_branch, repository_name

# For all questions to git together.
SECONDS = 10.0
MOST_REFS = 20_000
MOST_BYTES = 16 * 2**20
_REMOTES = "refs/remotes/"
_PLACES = [f"refs/{name}" for name in ("heads", "remotes", "pull", "pull-requests", "merge-requests", "changes")]
_FORMAT = "%(objectname)%00%(refname)%00%(symref)%00%(HEAD)"
_FETCHED = re.compile(r"([0-9a-f]{40,64})\t[^\t]*\t(?:branch )?'([^']+)' of (\S+)", re.ASCII)
_MERGING = ("MERGE_HEAD", "SQUASH_MSG", "CHERRY_PICK_HEAD")
_SHA = re.compile(r"[0-9a-f]{7,64}")
_SECTION = re.compile(r'\s*\[\s*(\w+)(?:\s+"(.*)")?\s*\]', re.ASCII)


@dataclass(frozen=True)
class Checkout:
    """`head` is the commit, `current` the local branch. `refs` has commits by full names, `remotes` addresses by names.

    `default_refs` has what refs/remotes/<remote>/HEAD means, `fetched` what the last fetch brought: commit, ref,
    address. `is_merging`: files of another commit were merged, and not committed.
    """

    root: Path
    head: str
    current: str | None = None
    parents: tuple[str, ...] = ()
    refs: Mapping[str, str] = field(default_factory=dict)
    remotes: Mapping[str, str] = field(default_factory=dict)
    default_refs: Mapping[str, str] = field(default_factory=dict)
    fetched: tuple[tuple[str, str, str], ...] = ()
    is_merging: bool = False
    git: Git | None = field(default=None, compare=False)

    @cached_property
    def repository(self) -> str | None:
        """The address of the remote that was cloned: the only one, or origin."""
        remote = "origin" if len(self.remotes) != 1 else next(iter(self.remotes))
        return self.remotes.get(remote)

    @cached_property
    def default_branch(self) -> str | None:
        """The default branch of the remote that was cloned, as a clone notes it."""
        refs = [ref for ref in self.default_refs.values() if ref.startswith(_REMOTES)]
        branches = {self._remote_branch(ref)[1] for ref in refs}
        return branches.pop() if len(branches) == 1 else None

    @cached_property
    def number(self) -> int | None:
        """The pull request whose ref is checked out."""
        refs = [*self._refs_here(), *(ref for sha, ref, _ in self.fetched if sha == self.head)]
        numbers = {number for ref in refs if (number := change_number(ref)) is not None}
        return numbers.pop() if len(numbers) == 1 else None

    def includes(self, commit: str) -> bool:
        """Whether the commit is checked out, or merged into what is."""
        return commit in (self.head, *self.parents) or (
            _SHA.fullmatch(commit) is not None and self._is_ancestor(commit, self.head)
        )

    def extends(self, branch: str | None, commit: str) -> bool:
        """Whether the job made one commit on the local branch, such as that of a version; not by merging another.

        Neither with a commit of the merge, nor by moving the branch to the other's commit.
        """
        merges = any(change_number(ref) is not None for _, ref, _ in self.fetched)
        others = (ref for ref in self._refs_here() if not ref.startswith("refs/heads/"))
        moved = any(self._remote_branch(ref)[1] != branch for ref in others) or any(
            sha == self.head and branch_name(ref) != branch for sha, ref, _ in self.fetched
        )
        return branch is not None and self.current == branch and self.parents == (commit,) and not (merges or moved)

    def has(self, commit: str) -> bool:
        """Whether the commit is one of this repository."""
        known = self.git.ask("cat-file", "-e", f"{commit}^{{commit}}") if self.git and _SHA.fullmatch(commit) else None
        return commit == self.head or known is not None

    def branch(self, target: str | None) -> str | None:
        """The branch that is checked out, "owner:branch" if it is of a fork of the repository `target`.

        A local branch counts if its remote branch has the commit: CI systems merge into local branches. None if the
        commit is of no branch that is known, or several begin with it.
        """
        remote_refs = self._remote_refs() if self.current else ()
        same_name = {ref: sha for ref, sha in remote_refs if self._remote_branch(ref)[1] == self.current}
        holding = [ref for ref, sha in same_name.items() if sha == self.head or self._is_ancestor(self.head, sha)]
        names = {self._qualified(ref, target) for ref in holding}
        if not names:
            here = [ref for ref in self._refs_here() if ref.startswith(_REMOTES)]
            names = {self._qualified(ref, target) for ref in here} | set(self._fetched_branches(target))
        names.discard(None)
        if not names and not same_name:
            names = set(self._local_branches())
        return names.pop() if len(names) == 1 else None

    def _local_branches(self) -> Iterator[str | None]:
        """The local branch, where remote branches show that local ones have their names, or there are no remotes."""
        if self.current and (not self.remotes or any(self._remote_refs())):
            yield branch_name(f"refs/heads/{self.current}")
        elif not self.current and not self.remotes:
            yield from (branch_name(ref) for ref in self._refs_here() if ref.startswith("refs/heads/"))

    def _refs_here(self) -> Iterator[str]:
        return (ref for ref, sha in self.refs.items() if sha == self.head and ref not in self.default_refs)

    def _remote_refs(self) -> Iterator[tuple[str, str]]:
        return ((r, sha) for r, sha in self.refs.items() if r.startswith(_REMOTES) and r not in self.default_refs)

    def _remote_branch(self, ref: str) -> tuple[str, str | None]:
        """Remote and branch of a remote branch's ref; the branch is None if it is a pull request's."""
        name = ref.removeprefix(_REMOTES)
        known = sorted(self.remotes, key=len, reverse=True) or [name.partition("/")[0]]
        remote = next((each for each in known if name.startswith(f"{each}/")), None)
        if remote is None or change_number(ref) is not None:
            return "", None
        return remote, branch_name(f"refs/heads/{name[len(remote) + 1 :]}")

    def _qualified(self, ref: str, target: str | None) -> str | None:
        """The branch of a remote branch; None if which of several remotes is the repository's own is not known."""
        remote, branch = self._remote_branch(ref)
        address, own = self.remotes.get(remote), target or self.repository
        if branch is None or address is None or address == own:
            return branch
        if own is None:
            return None
        is_named = repository_name(address) and repository_name(own)
        return head_branch(branch, source=address, target=own) if is_named else self._of_local(remote, branch)

    def _of_local(self, remote: str, branch: str) -> str:
        """For repositories in folders, which have no names."""
        return branch if self.remotes[remote] == self.repository else f"{remote}:{branch}"

    def _fetched_branches(self, target: str | None) -> Iterator[str | None]:
        own = target or self.repository
        for sha, ref, address in self.fetched:
            if sha == self.head and (own is None or repository_name(address) or address == _as_fetched(own)):
                yield head_branch(branch_name(ref), source=address, target=own)

    def _is_ancestor(self, older: str, newer: str) -> bool:
        return self.git is not None and self.git.ask("merge-base", "--is-ancestor", older, newer) is not None


class Git:
    """Asks git about one folder, within a limit of time.

    The questions run no program that the repository's configuration could name, so whose the repository is does not
    matter, and neither do variables that mean another repository.
    """

    def __init__(self, program: str, folder: Path) -> None:
        self._command = [
            program,
            "-C",
            str(folder),
            "--no-pager",
            "-c",
            "safe.directory=*",
            "-c",
            "core.fsmonitor=false",
        ]
        self._ends = time.monotonic() + SECONDS
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name == "GIT_EXEC_PATH"
        }
        quiet = dict.fromkeys(("GIT_NO_LAZY_FETCH", "GIT_NO_REPLACE_OBJECTS"), "1")
        self._environ = {**kept, **quiet, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}

    def ask(self, *arguments: str, text: str = "") -> str | None:
        """What git prints; None if it fails, does not know, or takes too long."""
        try:
            ended = subprocess.run(  # noqa: S603 - refs and commits are arguments, never options
                [*self._command, *arguments],
                input=text.encode(),
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                timeout=max(0.05, self._ends - time.monotonic()),
                env=self._environ,
                check=False,
            )
        except (OSError, ValueError, subprocess.SubprocessError):
            return None
        return None if ended.returncode else ended.stdout[:MOST_BYTES].decode("utf-8", "surrogateescape")


def read_checkout(folder: Path) -> Checkout | None:
    """The checkout around the folder; None if there is none, or it cannot be read. It raises nothing.

    The checkout of a submodule is that of the repository that has it.
    """
    try:
        root = _root(folder.absolute())
        if root is None:
            return None
        git_folder = _git_folder(root)
        program = shutil.which("git")
        return (_ask_git(Git(program, root), root, git_folder) if program else None) or _read_files(root, git_folder)
    except (OSError, ValueError, RecursionError):
        return None


def _root(folder: Path) -> Path | None:
    root: Path | None = None
    for each in (folder, *folder.parents):
        if (each / ".git").exists():
            root = each
            if "/.git/modules/" not in _git_folder(each).as_posix():
                return each
    return root


def _git_folder(root: Path) -> Path:
    """The folder of .git, or the one that a file .git names, as in worktrees and submodules."""
    path = root / ".git"
    return path if path.is_dir() else (root / path.read_text("utf-8").removeprefix("gitdir:").strip()).resolve()


def _ask_git(git: Git, root: Path, git_folder: Path) -> Checkout | None:
    commit = git.ask("cat-file", "--batch", text="HEAD\n")
    if not commit or " commit " not in commit.partition("\n")[0]:
        return None
    lines = commit.split("\n\n")[0].splitlines()
    listed = git.ask("for-each-ref", f"--count={MOST_REFS}", f"--format={_FORMAT}", *_PLACES)
    rows = [line.split("\0") for line in (listed or "").splitlines() if line.count("\0") == 3]
    addresses = git.ask("config", "--null", "--get-regexp", r"^remote\..*\.url$") or ""
    pairs = [entry.partition("\n") for entry in addresses.split("\0") if entry]
    return Checkout(
        root=root,
        head=lines[0].partition(" ")[0],
        current=next((ref.removeprefix("refs/heads/") for _, ref, _, is_current in rows if is_current == "*"), None),
        parents=tuple(line.removeprefix("parent ") for line in lines if line.startswith("parent ")),
        refs={ref: sha for sha, ref, _, _ in rows},
        remotes={name[len("remote.") : -len(".url")]: address for name, _, address in reversed(pairs)},
        default_refs={ref: target for _, ref, target, _ in rows if target},
        fetched=_read_fetched(git_folder),
        is_merging=any((git_folder / name).exists() for name in _MERGING),
        git=git,
    )


def _read_files(root: Path, git_folder: Path) -> Checkout | None:
    common = git_folder / "commondir"
    shared = (git_folder / common.read_text("utf-8").strip()).resolve() if common.is_file() else git_folder
    refs = dict(_packed_refs(shared / "packed-refs"))
    defaults: dict[str, str] = {}
    for ref, text in _loose_refs(shared):
        if text.startswith("ref: "):
            defaults[ref] = text.removeprefix("ref: ")
        else:
            refs[ref] = text
    head = (git_folder / "HEAD").read_text("utf-8").strip()
    current = head.removeprefix("ref: ") if head.startswith("ref: ") else None
    commit = refs.get(current) if current else head
    if not commit:
        return None
    return Checkout(
        root=root,
        head=commit,
        current=current.removeprefix("refs/heads/") if current else None,
        refs=refs,
        remotes=dict(_read_remotes(shared / "config")),
        default_refs=defaults,
        fetched=_read_fetched(git_folder),
        is_merging=any((git_folder / name).exists() for name in _MERGING),
    )


def _packed_refs(path: Path) -> Iterator[tuple[str, str]]:
    for line in _lines(path):
        sha, _, ref = line.partition(" ")
        if ref and sha[:1] not in "#^":
            yield ref, sha


def _loose_refs(shared: Path) -> Iterator[tuple[str, str]]:
    count = 0
    for folder, _, names in os.walk(shared / "refs"):
        for name in names:
            count += 1
            if count > MOST_REFS:
                return
            path = Path(folder, name)
            yield path.relative_to(shared).as_posix(), "".join(_lines(path)[:1]).strip()


def _read_remotes(config: Path) -> Iterator[tuple[str, str]]:
    remote: str | None = None
    for line in _lines(config):
        if section := _SECTION.match(line):
            remote = section[2] if section[1].lower() == "remote" else None
        name, is_value, value = line.partition("=")
        if remote and is_value and name.strip().lower() == "url":
            yield remote, value.strip().strip('"')


def _read_fetched(git_folder: Path) -> tuple[tuple[str, str, str], ...]:
    matches = (_FETCHED.fullmatch(line.rstrip()) for line in _lines(git_folder / "FETCH_HEAD"))
    return tuple((match[1], match[2], match[3]) for match in matches if match)


def _as_fetched(address: str | None) -> str:
    """The address as FETCH_HEAD has it."""
    return (address or "").rstrip("/").removesuffix(".git")


def _lines(path: Path) -> list[str]:
    """The lines of a file; none if it is absent or cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(MOST_BYTES).decode("utf-8", "surrogateescape").splitlines()
    except OSError:
        return []
