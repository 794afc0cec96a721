"""How quick the pages are, measured in this machine's own Chromium: `python -m benchmarks browser`."""

from benchmarks.browser.watching import measure_watching
from benchmarks.store import OURS, Record, Store
from benchmarks.throughput import Options

__all__ = ["CASES", "measure_browser"]

CASES = (measure_watching,)
"""Each gives figures: `case`, `value`, `unit`, and the `most` (or `least`) that it should be."""


def measure_browser(options: Options) -> None:
    store = Store(options.results, "browser")
    for number in range(options.repeats):
        for measure in CASES:
            for figure in measure(options):
                record: Record = {"tool": OURS, "round": number, **figure}
                store.add(record)
