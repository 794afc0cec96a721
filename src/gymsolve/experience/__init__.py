"""Collecting experience and turning it into learning targets: NumPy only, no torch."""
