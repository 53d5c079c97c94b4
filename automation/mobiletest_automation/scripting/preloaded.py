"""Imported by the fork server alone: the engine is loaded there once, instead of in each attempt."""

from contextlib import suppress

from mobiletest_automation.scripting.guest import load_guest

with suppress(Exception):  # an attempt that needs the engine says what is wrong; the others do not need it
    load_guest()
