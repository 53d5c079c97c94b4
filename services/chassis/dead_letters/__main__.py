"""`python -m services.chassis.dead_letters list|replay`: list dead letters, and publish them again to the topics that
they came from.
"""

import argparse
import asyncio
import json
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Literal

from aiokafka.errors import KafkaError

from services.chassis import logs
from services.chassis.dead_letters.letters import DeadLetter
from services.chassis.dead_letters.replay import (
    LetterFilter,
    ReplayedOffsets,
    ReplayFailed,
    ReplayResult,
    find_topics,
    read_letters,
    replay_topic,
)
from services.chassis.producer import Producer
from services.chassis.settings import KafkaSettings, load
from services.chassis.topics import open_reader

SHOWN_CHARACTERS = 200

Report = Callable[[str], None]


class Settings(KafkaSettings):
    """The variables that the commands read; every service has them."""

    log_level: Literal["debug", "info", "warning", "error"] = "warning"
    log_format: Literal["json", "console"] = "console"


def main(arguments: Sequence[str]) -> int:
    """Run a command; the exit code: 0, 1 when the broker or a topic is missing, 2 for wrong arguments or settings."""
    parsed = build_parser().parse_args(arguments)
    settings = load(Settings)
    logs.configure(settings, sys.stderr)
    command = list_letters if parsed.command == "list" else replay_letters
    try:
        asyncio.run(command(settings, parsed, print))
    except (KafkaError, OSError, TimeoutError, LookupError, ReplayFailed) as error:
        sys.stderr.write(f"{settings.kafka_bootstrap}: {str(error) or repr(error)}\n")
        return 1
    return 0


def build_parser() -> argparse.ArgumentParser:
    description = "List dead letters, and replay them: publish them again to the topics that they came from."
    top = argparse.ArgumentParser(prog="python -m services.chassis.dead_letters", description=description)
    commands = top.add_subparsers(dest="command", required=True)
    show = commands.add_parser("list", help="show the letters, and count them by topic and reason")
    show.add_argument("--summary", action="store_true", help="show only the counts")
    replay = commands.add_parser("replay", help="publish letters again that have not been replayed yet")
    replay.add_argument("--again", action="store_true", help="include letters that have been replayed")
    replay.add_argument("--dry-run", action="store_true", help="only count what would be replayed")
    for each in (show, replay):
        each.add_argument("topics", nargs="*", metavar="TOPIC", help="with or without .dlq; by default all topics")
        each.add_argument("--reason", action="append", default=[], help="only letters of this reason; may be repeated")
        each.add_argument("--limit", type=_positive, help="at most this many letters of each topic, the oldest first")
        each.add_argument("--json", action="store_true", help="one JSON object per line")
    return top


async def list_letters(settings: Settings, parsed: argparse.Namespace, report: Report) -> None:
    """Report each letter, then the counts of each topic."""
    selection, offsets = LetterFilter(parsed.reason, parsed.limit), ReplayedOffsets(settings.kafka)
    async with open_reader(settings.kafka) as consumer:
        for topic in await find_topics(consumer, parsed.topics):
            reasons, replayed = Counter[str](), 0
            async for letter in read_letters(settings.kafka, consumer, topic):
                if reasons.total() == selection.most:
                    break
                if selection.includes(letter):
                    done = await offsets.includes(letter)
                    reasons[letter.reason] += 1
                    replayed += done
                    if not parsed.summary:
                        report(_letter_json(letter, done) if parsed.json else _letter_line(letter, done))
            if parsed.json:
                counts = {"topic": topic, "count": reasons.total(), "replayed": replayed, "reasons": dict(reasons)}
                report(json.dumps(counts))
            else:
                report(f"{topic}: {reasons.total()}{_by_reason(reasons)}, {replayed} of them replayed")


async def replay_letters(settings: Settings, parsed: argparse.Namespace, report: Report) -> None:
    """Replay the letters topic by topic, and report the counts of each."""
    selection = LetterFilter(parsed.reason, parsed.limit, parsed.again)
    async with (
        open_reader(settings.kafka) as consumer,
        Producer(settings.kafka, {}, idempotence=settings.kafka_idempotence) as producer,
    ):
        for topic in await find_topics(consumer, parsed.topics):
            result = await replay_topic(consumer, producer, topic, selection, dry_run=parsed.dry_run)
            report(_result_json(result, parsed.dry_run) if parsed.json else _result_line(result, parsed.dry_run))


def _letter_json(letter: DeadLetter, replayed: bool) -> str:
    key, value = letter.record.key, letter.record.value
    names = ("topic", "partition", "offset", "origin", "reason", "message", "first_seen", "group", "type", "cut")
    shown = {name: getattr(letter, name) for name in names}
    shown |= {"key": None if key is None else key.decode(errors="backslashreplace"), "bytes": len(value or b"")}
    return json.dumps({**shown, "replayed": replayed})


def _letter_line(letter: DeadLetter, replayed: bool) -> str:
    state = "replayed" if replayed else "cut" if letter.cut else "not replayed"
    key = (letter.record.key or b"").decode(errors="backslashreplace")
    origin = f"from {letter.origin}"
    fields = [letter.place, origin, letter.reason, letter.first_seen, letter.type or "-", key or "-", state]
    return "  ".join(map(_printable, fields)) + f"\n    {_printable(letter.message)}"


def _result_json(result: ReplayResult, dry_run: bool) -> str:
    counts = {"replayed": result.replayed, "replayed_before": result.before, "cut": result.cut}
    return json.dumps({"topic": result.topic, **counts, "reasons": dict(result.reasons), "dry_run": dry_run})


def _result_line(result: ReplayResult, dry_run: bool) -> str:
    verb = "would be replayed" if dry_run else "replayed"
    text = f"{result.topic}: {result.replayed} {verb}{_by_reason(result.reasons)}, {result.before} replayed earlier"
    return text + (f", {result.cut} cannot be replayed because they were cut" if result.cut else "")


def _by_reason(counts: Counter[str]) -> str:
    named = ", ".join(f"{_printable(reason)} {number}" for reason, number in counts.most_common())
    return f" ({named})" if named else ""


def _printable(text: str) -> str:
    """On one line, without control characters for the terminal: letters may contain anything."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text[:SHOWN_CHARACTERS])


def _positive(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError("must be a whole number, 1 or more")
    return int(text)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
