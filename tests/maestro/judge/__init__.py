"""Flows on Maestro itself and here, on devices that record what they are told to do."""
