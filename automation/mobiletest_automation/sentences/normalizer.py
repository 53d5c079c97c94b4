"""Normalizes a sentence for the rules: masks quoted texts, expands contractions, removes filler words."""

import re
import unicodedata
from dataclasses import dataclass

LENGTH_LIMIT = 500
QUOTE_LIMIT = 20

# Each quoted text is replaced by one private-use character, so that no rule reads inside quotes.
_MARK = 0xE100

# Matches one quoted text in a normalized sentence.
QUOTED = f"[{chr(_MARK)}-{chr(_MARK + QUOTE_LIMIT)}]"

# Words that begin an instruction or a check.
VERBS = (
    r"(?:tap|click|press|touch|hit|push|double|long|hold|type|enter|input|write|fill|insert|put|set|clear|erase|delete|empty"
    r"|swipe|scroll|flick|pull|drag|wait|see|check|uncheck|tick|untick|verify|assert|ensure|confirm|validate|make|expect"
    r"|open|launch|start|restart|relaunch|stop|close|kill|quit|go|navigate|return|select|choose|pick|toggle|turn|switch"
    r"|enable|disable|hide|dismiss|take|capture|focus|visit|follow|search|submit|log|sign|add|remove|find|look|read|use"
    r"|try|move|copy|paste|save|send|accept|allow|deny|cancel|continue|proceed|repeat|should|can|must|do|does|will)"
    r"(?:e?s)?\b"
)

_PRIVATE = re.compile("[\ue000-\uf8ff]")
_PAIRS = re.compile(
    r"""
      "(?P<straight>[^"]*)"
    | [“„](?P<curly>[^”“]*)[”“]
    | «(?P<angle>[^»]*)»
    | `(?P<tick>[^`]*)`
    | (?<![\w'’])['‘](?P<single>[^\s'‘’]|\S.*?\S)['’](?=$|[\s.,;:!?)])
    """,
    re.VERBOSE,
)
_CONTRACTIONS = (
    (re.compile(r"\bcan['’]?t\b|\bcannot\b", re.IGNORECASE), "can not"),
    (re.compile(r"\bwon['’]t\b", re.IGNORECASE), "will not"),
    (
        re.compile(r"\b(do|does|did|is|are|was|should|has|have|must|would|could)n['’]t\b", re.IGNORECASE),
        r"\1 not",
    ),
    (re.compile(r"\b(it|that|there)['’]s\b", re.IGNORECASE), r"\1 is"),
    (re.compile(r"\blet['’]s\b", re.IGNORECASE), "let us"),
)
_LEADING = re.compile(
    rf"""
      (?:given|when|then|and|but)(?:\s*,\s*|\s+)
    | (?:so|next|now|first|firstly|second|secondly|third|thirdly|finally|lastly|afterwards?|after\s+that|step\s+\d+)
         (?:\s*[,:]\s*|\s+(?={VERBS}|I\b|you\b|we\b))
    | \d{{1,3}}[.)]\s+
    | [-*•]\s+
    | (?:please|kindly)\s*,?\s+(?={VERBS})
    | (?:let\s+us|try\s+to)\s+(?={VERBS})
    | (?:can|could|would|will)\s+you\s+(?:please\s+|kindly\s+)?(?={VERBS})
    | (?:you|we|I|(?:the\s+)?user)\s+
         (?:(?:then|now|also|needs?\s+to|want\s+to|have\s+to|has\s+to|must|should)\s+)?(?={VERBS})
    """,
    re.IGNORECASE | re.VERBOSE,
)
_TRAILING = re.compile(r"[\s.!;]+$|\s*,?\s*please$", re.IGNORECASE)
_ASKED = re.compile(r"(?:can|could|would|will)\s+you\b.*\?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class NormalizedSentence:
    """`quotes` are the texts that the private-use characters in `text` stand for."""

    text: str
    quotes: tuple[str, ...]

    def restored(self, phrase: str) -> str:
        """The phrase with its quoted texts back in double quotes."""
        return re.sub(QUOTED, lambda mark: f'"{self.quotes[ord(mark[0]) - _MARK]}"', phrase)

    def quote(self, mark: str) -> str:
        """The quoted text that this private-use character stands for."""
        return self.quotes[ord(mark) - _MARK]


def normalize(sentence: str) -> NormalizedSentence | None:
    """None if the sentence is empty, too long or contains private-use characters."""
    plain = unicodedata.normalize("NFC", sentence).strip()
    if not plain or len(plain) > LENGTH_LIMIT or _PRIVATE.search(plain):
        return None
    quotes: list[str] = []

    def mask(match: re.Match[str]) -> str:
        quotes.append(next(group for group in match.groups() if group is not None))
        return chr(_MARK + min(len(quotes), QUOTE_LIMIT) - 1)

    text = _PAIRS.sub(mask, plain)
    if len(quotes) > QUOTE_LIMIT:
        return None
    for pattern, written_out in _CONTRACTIONS:
        text = pattern.sub(written_out, text)
    return NormalizedSentence(_strip_filler(" ".join(text.split())), tuple(quotes))


def _strip_filler(text: str) -> str:
    """Without an introduction ("Then please ...", "I ...") and the full stop."""
    text = text.rstrip("? ") if _ASKED.fullmatch(text) else text
    while True:
        begun = _LEADING.match(text)
        shorter = _TRAILING.sub("", text[begun.end() :] if begun else text)
        if shorter == text or not shorter:
            return text
        text = shorter
