"""Runs go to a temporary folder; processes that a test started in the background end with it."""

from tests.service.conftest import place

__all__ = ["place"]
