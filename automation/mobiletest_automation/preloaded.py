"""Imported by the fork server alone: what most attempts of a command line do without is loaded there once for all."""

import xml.sax.saxutils  # noqa: F401 - by the first page source of a simulated device
from contextlib import suppress

from PIL import Image, WebPImagePlugin  # noqa: F401 - by the first picture that is kept; without it Pillow loads all formats

import mobiletest_automation.scripting.instance  # noqa: F401 - by the first script
from mobiletest_automation.scripting.guest import load_guest
from mobiletest_automation.sentences.grammar import parse_sentence  # noqa: F401 - makes the shapes
from mobiletest_automation.sentences.shape import Shape

Image.preinit()  # PNG and the other usual formats
Shape.compile_all()

with suppress(Exception):  # an attempt that needs the engine says what is wrong; the others do not need it
    load_guest()
