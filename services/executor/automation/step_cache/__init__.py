"""Resolved steps that are kept between runs."""
