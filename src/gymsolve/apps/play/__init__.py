"""Trained policies at play: one environment, step by step."""
