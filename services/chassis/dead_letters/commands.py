"""The operators' commands: `list` shows dead letters, `replay` publishes them anew. docs/operating-reporting.md."""

import argparse
import asyncio
import json
import sys
from collections import Counter
from collections.abc import Callable, Sequence

from aiokafka.errors import KafkaError

from services.chassis import logs
from services.chassis.dead_letters.letters import DeadLetter
from services.chassis.dead_letters.replay import (
    Replay,
    ReplayedOffsets,
    ReplayFailed,
    ReplayResult,
    Selection,
    find_topics,
    open_reader,
    read_letters,
)
from services.chassis.dead_letters.settings import Settings
from services.chassis.producer import Producer
from services.chassis.settings import load

SHOWN_CHARACTERS = 200

Say = Callable[[str], None]


def main(arguments: Sequence[str]) -> int:
    """Run a command; the exit code: 0, 1 when the broker or a topic is not there, 2 for wrong arguments or settings."""
    asked = parser().parse_args(arguments)
    settings = load(Settings)
    logs.configure(settings, sys.stderr)
    command = listed if asked.command == "list" else replayed
    try:
        asyncio.run(command(settings, asked, print))
    except (KafkaError, OSError, TimeoutError, LookupError, ReplayFailed) as error:
        sys.stderr.write(f"{settings.kafka_bootstrap}: {str(error) or repr(error)}\n")
        return 1
    return 0


def parser() -> argparse.ArgumentParser:
    """What may be asked."""
    top = argparse.ArgumentParser(prog="python -m services.chassis.dead_letters", description=__doc__)
    commands = top.add_subparsers(dest="command", required=True)
    show = commands.add_parser("list", help="show the letters, and how many there are of each topic and reason")
    show.add_argument("--summary", action="store_true", help="only how many there are")
    replay = commands.add_parser("replay", help="publish letters anew, those that were not yet")
    replay.add_argument("--again", action="store_true", help="those that were replayed before, too")
    replay.add_argument("--dry-run", action="store_true", help="only say what would be replayed")
    for each in (show, replay):
        each.add_argument("topics", nargs="*", metavar="TOPIC", help="with or without .dlq; all, when none is named")
        each.add_argument("--reason", action="append", default=[], help="only of this reason; may be repeated")
        each.add_argument("--limit", type=_positive, help="at most so many of each topic, the oldest first")
        each.add_argument("--json", action="store_true", help="one JSON object per line")
    return top


async def listed(settings: Settings, asked: argparse.Namespace, say: Say) -> None:
    """Show each letter, then the counts by topic and reason."""
    order = Selection(asked.reason, asked.limit)
    async with open_reader(settings.kafka_bootstrap) as consumer, ReplayedOffsets(settings.kafka_bootstrap) as replayed:
        for topic in await find_topics(consumer, asked.topics):
            counts: Counter[tuple[str, bool]] = Counter()
            async for letter in read_letters(settings.kafka_bootstrap, consumer, topic):
                if counts.total() == order.most:
                    break
                if order.wants(letter):
                    done = await replayed.holds(letter)
                    counts[letter.reason, done] += 1
                    if not asked.summary:
                        say(_letter_json(letter, done) if asked.json else _letter_line(letter, done))
            _say_counts(topic, counts, say, as_json=asked.json)


async def replayed(settings: Settings, asked: argparse.Namespace, say: Say) -> None:
    """Publish the letters anew, topic by topic, and say what became of them."""
    order = Selection(asked.reason, asked.limit, asked.again, asked.dry_run)
    bootstrap = settings.kafka_bootstrap
    async with (
        open_reader(bootstrap) as consumer,
        Producer(bootstrap, {}, idempotence=settings.kafka_idempotence) as producer,
        ReplayedOffsets(bootstrap) as replayed,
    ):
        for topic in await find_topics(consumer, asked.topics):
            tally = await Replay(consumer, producer, replayed).run(topic, order)
            say(_tally_json(tally, order) if asked.json else _tally_line(tally, order))


def _letter_json(letter: DeadLetter, done: bool) -> str:
    key = letter.record.key
    return json.dumps(
        {
            "topic": letter.topic,
            "partition": letter.partition,
            "offset": letter.offset,
            "origin": letter.origin,
            "reason": letter.reason,
            "message": letter.message,
            "first_seen": letter.first_seen,
            "group": letter.group,
            "type": letter.type,
            "key": None if key is None else key.decode(errors="backslashreplace"),
            "bytes": len(letter.record.value or b""),
            "cut": letter.cut,
            "replayed": done,
        }
    )


def _letter_line(letter: DeadLetter, done: bool) -> str:
    state = "replayed" if done else "cut" if letter.cut else "waits"
    key = (letter.record.key or b"").decode(errors="backslashreplace")
    what = [
        letter.place,
        f"from {letter.origin}",
        letter.reason,
        letter.first_seen,
        letter.type or "-",
        key or "-",
        state,
    ]
    return "  ".join(_plain(each) for each in what) + f"\n    {_plain(letter.message)}"


def _say_counts(topic: str, counts: Counter[tuple[str, bool]], say: Say, *, as_json: bool) -> None:
    by_reason = Counter[str]()
    for (reason, _), number in counts.items():
        by_reason[reason] += number
    done = sum(number for (_, replayed), number in counts.items() if replayed)
    if as_json:
        say(json.dumps({"topic": topic, "count": counts.total(), "replayed": done, "reasons": dict(by_reason)}))
        return
    say(f"{topic}: {counts.total()}{_reasons(by_reason)}, {done} of them replayed")


def _tally_json(tally: ReplayResult, order: Selection) -> str:
    counts = {"replayed": tally.replayed, "replayed_before": tally.before, "cut": tally.cut}
    return json.dumps({"topic": tally.topic, **counts, "reasons": dict(tally.reasons), "dry_run": order.dry})


def _tally_line(tally: ReplayResult, order: Selection) -> str:
    done = "would be replayed" if order.dry else "replayed"
    text = f"{tally.topic}: {tally.replayed} {done}{_reasons(tally.reasons)}, {tally.before} were before"
    return text + (f", {tally.cut} were cut and cannot be" if tally.cut else "")


def _reasons(counts: Counter[str]) -> str:
    named = ", ".join(f"{_plain(reason)} {number}" for reason, number in counts.most_common())
    return f" ({named})" if named else ""


def _plain(text: str) -> str:
    """On one line, nothing that a terminal would obey: letters hold what anybody sent."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text[:SHOWN_CHARACTERS])


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError("needs a whole number, 1 or more")
    return int(text)
