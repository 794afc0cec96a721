"""The progress of a run while it trains: lines of text, and on a terminal a table drawn in place."""
