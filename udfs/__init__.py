"""Definitions: pure functions on arrays and text, one idea per module."""
