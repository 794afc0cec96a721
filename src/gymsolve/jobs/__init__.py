"""Runs that are started as processes of their own: seeds of one command, trials of a remedy."""
