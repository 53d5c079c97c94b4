"""Sentences and what they do on the screen of corpus_screen.py, for the tests and the reported figures.

One row each: the sentence; the action; the id of the element or "-"; the value or None. A row without an action must be
refused, and then the third column is the reason.
"""

from tests.unit.executor.automation.sentences.corpus_actions import KEYS_AND_APP, MOVING, TAPS, TYPING, Row
from tests.unit.executor.automation.sentences.corpus_checks import GOALS, SEEING, STATES, WAITING

CORPUS: tuple[Row, ...] = (*TAPS, *TYPING, *KEYS_AND_APP, *MOVING, *WAITING, *SEEING, *STATES, *GOALS)
