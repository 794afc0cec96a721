"""Printing: JSON, tables, the plan before a run, alerts and the verdict after it."""
