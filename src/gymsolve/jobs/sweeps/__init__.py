"""Sweeps: a search for settings whose trials are ordinary runs, and a test of what it found."""
