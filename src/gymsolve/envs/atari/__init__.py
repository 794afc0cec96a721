"""Atari games from the console's memory: objects, starts, lives and smaller sets of actions."""
