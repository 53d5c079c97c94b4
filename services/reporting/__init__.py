"""Reporting: folds the events of executor and catalog into read models, so that every report is a lookup."""
