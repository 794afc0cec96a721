"""Everything that reads a run for somebody: tables, curves, pages, reports and comparisons."""
