"""What all tests share. One thread per process: workers do not fight over cores, sums have one order."""

import os

from chromium import browser

__all__ = ["browser"]

os.environ.setdefault("OMP_NUM_THREADS", "1")
