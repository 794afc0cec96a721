"""Requests for runs, and queues of them at a place: seeds of one command, trials of a remedy."""
