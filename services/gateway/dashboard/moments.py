"""Moments in sentences of reports, such as "failed since 2026-11-29 13:36 UTC": pages show them in local time."""

import re

from markupsafe import Markup, escape

_MOMENT = re.compile(r"(\d{4}-\d{2}-\d{2}) (\d{2}:\d{2}) UTC", re.ASCII)


def mark_moments(sentence: str) -> Markup:
    """The sentence, escaped, with each moment as a <time>, which time.js shows in the zone of the reader."""
    marked = _MOMENT.sub(r'<time datetime="\1T\2:00Z">\1 \2 UTC</time>', str(escape(sentence)))
    return Markup(marked)  # noqa: S704 (escaped above; the moments are digits)
