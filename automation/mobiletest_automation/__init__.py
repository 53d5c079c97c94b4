"""Runs automated tests of mobile apps on devices: the step language, devices, commands, sentences, models."""
