"""What the command prints: results to stdout, progress and errors to stderr, one JSON document with --json.

Nothing else writes to these streams, because here texts are made harmless (`printable`), and a line is one line, so
that no name or message of others passes for a verdict.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any

import typer

from mobiletest_automation.flows.printable import guard_line_starts, one_line, printable
from mobiletest_cli.errors import INVALID_FILE, UNREACHABLE, USAGE, CliError, RequestRefused
from mobiletest_cli.printable import WorkflowCommand, printable_json

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

_STYLES = {
    "passed": "green",
    "failed": "red",
    "cancelled": "yellow",
    "no verdict": "yellow",
    "pass": "bold green",
    "block": "bold red",
    "running": "cyan",
}


@dataclass
class Output:
    """`as_json` prints documents instead of tables; `quiet` prints results and errors only."""

    as_json: bool = False
    quiet: bool = False

    @cached_property
    def _stdout(self) -> Console:
        return _console(sys.stdout)

    @cached_property
    def _stderr(self) -> Console:
        return _console(sys.stderr)

    @property
    def live(self) -> bool:
        """Whether progress may be drawn over itself."""
        return self.shows_progress and self._stderr.is_terminal and not os.environ.get("CI")

    @property
    def shows_progress(self) -> bool:
        return not self.quiet and not self.as_json

    def document(self, value: Any) -> None:
        """The one JSON document of a command."""
        sys.stdout.write(f"{printable_json(value)}\n")

    def say(self, text: str) -> None:
        """A line about progress."""
        if self.shows_progress:
            _print(self._stderr, text)

    def result(self, text: str = "") -> None:
        """A line of the result."""
        if not self.as_json:
            _print(self._stdout, text)

    def text(self, text: str) -> None:
        """What another program reads, as it is if it is ours; with --json too."""
        sys.stdout.write(printable(text))

    def warn(self, text: str) -> None:
        """What the user should know although the command goes on; with --json too, on stderr."""
        _print(self._stderr, f"warning: {text}", style="yellow")

    def error_line(self, text: str) -> None:
        """What went wrong although the command goes on to its end."""
        _print(self._stderr, f"error: {text}", style="red")

    def usage(self, text: str) -> None:
        """What is wrong with the arguments, or the help of a command that has none."""
        sys.stderr.write(printable(text))

    def annotate(self, command: WorkflowCommand) -> None:
        """A command for the CI system that reads the log; with --json on stderr, which it reads too."""
        (sys.stderr if self.as_json else sys.stdout).write(f"{command}\n")

    def ask(self, question: str, *, hidden: bool = False) -> str:
        """What the user types, perhaps without being shown."""
        answer: str = typer.prompt(printable(f"{one_line(question)}: "), prompt_suffix="", hide_input=hidden, err=True)
        return answer

    def prompt(self, text: str) -> None:
        """Text in front of what the user types, which somebody else reads."""
        sys.stderr.write(printable(f"{one_line(text)} "))
        sys.stderr.flush()

    def confirm(self, question: str) -> bool:
        """Whether the user says yes."""
        return typer.confirm(printable(f"{one_line(question)} [y/N]: "), prompt_suffix="", show_default=False, err=True)

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        """A table of texts; words of a status are colored."""
        from rich import box
        from rich.table import Table

        from mobiletest_cli.column_widths import column_widths

        if self.as_json:
            return
        drawn_rows = [[_text(cell, _STYLES.get(cell, "")) for cell in row] for row in rows]
        texts = [[column, *(row[index].plain for row in drawn_rows)] for index, column in enumerate(columns)]
        widths = column_widths(texts, self._stdout.width)
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, collapse_padding=widths is not None)
        for index, column in enumerate(columns):
            table.add_column(_text(column), overflow="fold", width=widths[index] if widths else None)
        for row in drawn_rows:
            table.add_row(*row)
        with self._stdout.capture() as drawn:
            self._stdout.print(table)
        sys.stdout.write(guard_line_starts(drawn.get()))

    @contextmanager
    def status(self, read: Callable[[], str]) -> Iterator[None]:
        """During the block, a line that is drawn over itself, with what `read` says at the moment."""
        with self._stderr.status(_Line(read)):
            yield

    @contextmanager
    def progress_bar(self, text: str, total: int) -> Iterator[Callable[[int], None]]:
        """A bar on a terminal; nothing elsewhere. It is given how much of the total is done."""
        if not self.live:
            yield lambda _: None
            return
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

        label = TextColumn("{task.description}", markup=False)
        with Progress(
            label, BarColumn(), DownloadColumn(), TransferSpeedColumn(), console=self._stderr, transient=True
        ) as bar:
            task = bar.add_task(printable(text), total=total)
            yield lambda position: bar.update(task, completed=position)

    def list(
        self, items: Sequence[Any], columns: Sequence[str], row: Callable[[Any], Sequence[str]], *, empty: str
    ) -> None:
        """A table of items, or their JSON; `empty` says what to do if there is none."""
        if self.as_json:
            self.document({"items": items})
        elif items:
            self.table(columns, [row(item) for item in items])
        else:
            self.say(empty)

    def report(
        self,
        answer: Any,
        columns: Sequence[str],
        rows: Sequence[Sequence[str]],
        *,
        empty: str = "There is nothing yet.",
    ) -> None:
        """A report as a table, or its JSON."""
        if self.as_json:
            self.document(answer)
        elif rows:
            self.table(columns, rows)
        else:
            self.say(empty)

    def item(self, value: Any, text: str) -> None:
        """One item: its JSON, or a line such as its id."""
        if self.as_json:
            self.document(value)
        else:
            self.result(text)

    def done(self, text: str, **values: Any) -> None:
        """What a command has done."""
        if self.as_json:
            self.document({**values, "message": text})
        else:
            self.say(text)

    def error(self, error: CliError) -> None:
        """Why the command failed: a document with --json, otherwise two lines on stderr."""
        if self.as_json:
            self.document({"error": error_document(error)})
            return
        self.error_line(error.message)
        for line in error.details:
            _print(self._stderr, line, style="red")
        if error.hint:
            _print(self._stderr, f"  {error.hint}")
        if isinstance(error, RequestRefused) and error.status >= 500 and error.request_id:
            _print(self._stderr, f"  request {error.request_id}")

    def traceback(self, error: Exception) -> None:
        """Where the command has its defect."""
        from traceback import format_exception

        sys.stderr.write(printable("".join(format_exception(error))))

    def flush(self) -> None:
        """Write what is buffered.

        Raises:
            OSError: it cannot be written.
        """
        sys.stdout.flush()

    def lose(self, error: OSError) -> int:
        """Stdout cannot be written: say so, unless it is a pipe that nobody reads any more; the exit code."""
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # otherwise Python fails with it at its end
        if isinstance(error, BrokenPipeError):
            return UNREACHABLE
        self.error_line(f"the output cannot be written: {error.strerror}")
        return INVALID_FILE


def error_document(error: CliError) -> dict[str, Any]:
    """The JSON of an error."""
    document: dict[str, Any] = {"message": error.text, "exit_code": error.exit_code, "hint": error.hint}
    if isinstance(error, RequestRefused):
        document |= {"status": error.status, "code": error.code, "request_id": error.request_id}
    return document


def write_completions(lines: str) -> None:
    """Give a shell the values of a Tab, in UTF-8 whatever the locale; `completion` leaves out what is not printable."""
    sys.stdout.buffer.write(lines.encode(errors="replace"))


class _Line:
    """A text that is made each time that it is drawn."""

    def __init__(self, read: Callable[[], str]) -> None:
        self._read = read

    def __rich__(self) -> Text:
        return _text(self._read())


def _print(console: Console, text: str, *, style: str | None = None) -> None:
    console.print(_text(text), style=style, soft_wrap=True)


def _text(text: str, style: str = "") -> Text:
    """The text in one line as rich prints it: without a meaning of brackets and colons."""
    from rich.text import Text

    return Text(printable(one_line(text)), style=style)


def _console(file: Any) -> Console:
    from rich.console import Console

    class Pipe(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # rich would end the process with 1, as if tests had failed

    columns = os.environ.get("COLUMNS", "")
    wide = None if file.isatty() else int(columns) if columns.isascii() and columns.isdecimal() else 160
    return Pipe(file=file, width=wide)


def duration(seconds: float | None) -> str:
    """ "350 ms", "4.2 s", "3 min 20 s", "2 h 5 min"; "-" for None."""
    if seconds is None:
        return "-"
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def local_time(text: str | None) -> str:
    """A time of the API in the zone of this machine, to the second; "-" for None."""
    if not text:
        return "-"
    moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    return moment.astimezone().strftime("%Y-%m-%d %H:%M:%S")


def utc_time(text: str, *, of_day: timedelta = timedelta(hours=23, minutes=59, seconds=59)) -> str:
    """The time that a user wrote, of this machine's zone unless it says another, as the API wants it.

    Of a day it is the time so long after its beginning, by default its last second.

    Raises:
        CliError: it is no time.
    """
    try:
        moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
        if len(text) <= len("2026-12-24"):
            moment = moment + of_day
        moment = moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise CliError(f'"{text}" is not a day or time', USAGE, "Such as 2026-12-24, or 2026-12-24T18:00") from None
    return moment.isoformat().replace("+00:00", "Z")


def ago(text: str | None) -> str:
    """ "5 minutes ago", for a time of the API; "never" for None."""
    if not text:
        return "never"
    moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    seconds = max(0, round((datetime.now(UTC) - moment).total_seconds()))
    for unit, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= length:
            count = seconds // length
            return f"{count} {unit}{'s' if count > 1 else ''} ago"
    return "just now"


def size(count: float) -> str:
    """ "812 B", "3.4 MB"; decimal units."""
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"


def percent(rate: float | None) -> str:
    """A rate from 0 to 1; "-" for None."""
    return "-" if rate is None else f"{rate * 100:.0f} %"


def plain(values: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    """The values of these names as texts; "-" for None."""
    return ["-" if values.get(name) is None else str(values[name]) for name in names]
