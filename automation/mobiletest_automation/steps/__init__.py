"""Runs a list of steps: sentences, goals, replay of cached steps, human help."""
