"""One thread per process: two test workers do not fight over two cores, and sums have one order."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
