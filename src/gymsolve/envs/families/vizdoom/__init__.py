"""Doom by ViZDoom: how a scenario is opened, what its players press, and what happens in it."""
