"""Metrics: the catalogue that declares each of them once (tables/, catalog.py), and the trackers that log
them."""
