"""Quicker classes of well-known environments, equal to stock bit for bit."""
