"""Evaluating policies, in the loop or beside it, and deciding what counts as solved."""
